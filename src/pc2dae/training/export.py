"""The ONNX twin of a network: one file in physical units that proves itself against torch, or is not written."""

from __future__ import annotations

import copy
import io
import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import onnx
import onnx_ir
import torch
from torch import Tensor, nn

from pc2dae.arrays import Floats
from pc2dae.atomic import write_bytes
from pc2dae.denoiser import WINDOW, Network
from pc2dae.edge.card import Card, check_digest, digest, parse_card, render_card
from pc2dae.edge.onnx_check import read_limited, seal, verify_onnx
from pc2dae.edge.runtime import denoiser_of
from pc2dae.errors import ModelError
from pc2dae.suite import Suite, parse_suite
from pc2dae.training.checkpoint import CARD, ONNX, load_checkpoint
from pc2dae.training.networks import BUILDERS

TOLERANCE = 1e-4  # of the channel's scale, or of the value where that is larger
ROUNDING = 10.0  # times torch's own rounding error: a twin's was up to 3.7 times it in 240 probes of four trained leans

_AGAIN = "train it again with another --seed; if that fails too, report it with the versions in its card.json"


def export_checkpoint(folder: Path, out: Path) -> str:
    """Write the ONNX of a checkpoint and its card beside it; return one line on what it cost."""
    card = parse_card(read_limited(folder / CARD), where=f"{folder.name}/{CARD}")
    if card["network"] not in BUILDERS:
        return _copy_onnx(folder, card, out)
    network, card = load_checkpoint(folder)
    data = export_onnx(network, card)
    write_model(out, data, card)
    return (
        f"{len(data) / 1e3:.0f} kB, differs from torch by {_difference(network, data, card):.0e} of the scale at most"
    )


def _copy_onnx(folder: Path, card: Card, out: Path) -> str:
    """Write the ONNX that a tuned adaptive network was saved with, which was verified against torch then."""
    data = read_limited(folder / ONNX)
    check_digest(data, card["sha256"].get(ONNX), where=f"{folder.name}/{ONNX}")
    verify_onnx(data, where=f"{folder.name}/{ONNX}")
    write_model(out, data, card)
    return f"{len(data) / 1e3:.0f} kB, the ONNX of {folder.name}, verified"


def write_model(out: Path, data: bytes, card: Card) -> None:
    """The ONNX, and beside it the card with its digest."""
    write_bytes(out, data)
    write_bytes(out.with_suffix(".card.json"), render_card(card | {"sha256": {"onnx": digest(data)}}))


def export_onnx(network: nn.Module, card: Card) -> bytes:
    """The network as ONNX with its card inside, verified against torch over extreme scales and inputs."""
    suite = parse_suite(card["suite"], where="the card's suite")
    data = _finish(_trace(network, len(suite.names)), card, suite)
    difference = _difference(network, data, card)
    if not difference <= TOLERANCE:
        raise ModelError(
            f"the export differs from torch by {difference:.1e} of the scale, more than {TOLERANCE:.0e}",
            hint=_AGAIN,
        )
    return data


def _tensors(network: nn.Module, arrays: Sequence[Floats]) -> list[Tensor]:
    """The inputs that a network takes of values, valid, environment and noise."""
    return [torch.from_numpy(np.ascontiguousarray(a)) for a, _ in zip(arrays, network.inputs, strict=False)]  # type: ignore[arg-type]


def _difference(network: nn.Module, data: bytes, card: Card) -> float:
    return verify_twin(network, denoiser_of(data, name="the export").network, card)


def verify_twin(network: nn.Module, twin: Network, card: Card) -> float:
    """The largest difference of an ONNX twin from torch, relative to max(scale, value); a broken promise raises.

    Inputs span 1e-3 … 1e3 of the scale, other batch and window sizes, and hold values that are missing or not finite.
    The reference is torch in double precision. Features as large as the largest inputs can cancel to an estimate of the
    size of the scale; single precision then loses digits, in torch as in the twin. Where ten times what torch itself
    loses on an input is more than the tolerance, a difference counts relative to that.
    """
    scale, bound = (np.asarray(card["scaler"][key])[:, None] for key in ("scale", "bound"))
    exact = copy.deepcopy(network).double()
    rng, worst = np.random.default_rng(0), 0.0
    for power in range(-3, 4):
        for batch, length in ((1, WINDOW), (3, 61)):
            values = bound + scale * 10.0**power * rng.standard_normal((batch, len(scale), length))
            valid = (rng.random(values.shape) < 0.8).astype(np.float32)
            bad = rng.random(values.shape) < 0.02
            values[bad] = rng.choice([np.nan, np.inf, -np.inf, 3e38, -3e38], size=bad.sum())
            environment = rng.normal(20, 300, size=(batch, 3, length))
            noise = scale[:, 0] * 10.0 ** rng.uniform(-4, 0, size=(batch, len(scale)))
            inputs = tuple(a.astype(np.float32) for a in (values, valid, environment, noise))
            ours = twin(*inputs)[0].astype(np.float64)
            with torch.no_grad():
                theirs = network(*_tensors(network, inputs)).double().numpy()
                truth = exact(*(x.double() for x in _tensors(network, inputs))).numpy()
            if not (np.isfinite(ours).all() and (ours >= bound).all()):
                raise ModelError("the export gave a value that is not finite or lies below the bound", hint=_AGAIN)
            size = np.maximum(scale, np.abs(truth - bound))
            rounding = float(np.max(np.abs(theirs - truth) / size))
            difference = float(np.max(np.abs(ours - truth) / size))
            worst = max(worst, difference / max(1.0, ROUNDING * rounding / TOLERANCE))
    return worst


def _trace(network: nn.Module, channels: int) -> onnx.ModelProto:
    """The graph for any batch and length, optimised."""
    program = torch.onnx.ONNXProgram(onnx_ir.from_proto(_graph(network, channels)), None)
    with quiet():
        program.optimize()
    return bare(program)


def _graph(network: nn.Module, channels: int) -> onnx.ModelProto:
    """The graph before it is optimised, with every weight under its name."""
    window = [torch.rand(2, rows, WINDOW) for rows in (channels, channels, 3)]
    inputs: tuple[str, ...] = network.inputs  # type: ignore[assignment]
    example = (*window, torch.rand(2, channels))[: len(inputs)]
    batch, time = torch.export.Dim("batch", min=1, max=65_536), torch.export.Dim("time", min=1, max=65_536)
    with quiet():
        program = torch.onnx.export(
            network.eval(),
            example,
            input_names=list(inputs),
            output_names=["estimate"],
            dynamic_shapes=tuple({0: batch} | ({} if name == "noise" else {2: time}) for name in inputs),
            dynamo=True,
            external_data=False,
            optimize=False,
            verbose=False,
        )
    assert program is not None  # nosec B101  # for the type checker
    return program.model_proto


def bare(program: object) -> onnx.ModelProto:
    """The graph of an exported program without the paths and stack traces the exporter leaves in it."""
    model: onnx.ModelProto = program.model_proto  # type: ignore[attr-defined]
    model.doc_string = ""
    del model.metadata_props[:]
    del model.graph.metadata_props[:]
    model.graph.doc_string = ""
    for part in (
        *model.graph.node,
        *model.graph.value_info,
        *model.graph.input,
        *model.graph.output,
        *model.graph.initializer,
    ):
        part.doc_string = ""
        del part.metadata_props[:]
    del model.graph.value_info[:]
    return model


def _finish(model: onnx.ModelProto, card: Card, suite: Suite) -> bytes:
    """The graph with what DESIGN asks in its metadata, sealed."""
    units = json.dumps({channel.name: channel.units for channel in suite.channels})
    return sealed(model, card, {"suite": card["suite"], "units": units})


def sealed(model: onnx.ModelProto, card: Card, entries: dict[str, str]) -> bytes:
    """The graph with its card and `entries` inside, as bytes that prove themselves."""
    inside = render_card({key: value for key, value in card.items() if key != "sha256"})
    onnx.helper.set_model_props(model, entries | {"card": inside.decode(), "card_sha256": digest(inside)})
    model.producer_name, model.producer_version = "pc2dae", card["versions"]["pc2dae"]
    onnx.checker.check_model(model)
    return seal(model.SerializeToString(deterministic=True))


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the exporters' output."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
