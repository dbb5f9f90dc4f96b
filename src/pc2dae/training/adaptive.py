"""From a pretraining run of the adaptive network to the shipped files: weights, ONNX, card."""

from __future__ import annotations

import argparse
import logging
import platform
from collections.abc import Callable
from dataclasses import asdict, replace
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnxscript import opset18 as op
from safetensors.torch import load
from torch import Tensor, nn

from pc2dae.edge.adaptive import INPUTS, adaptive_of
from pc2dae.edge.card import Card, check_digest, digest, parse_card
from pc2dae.edge.lag import without_lag
from pc2dae.edge.onnx_check import verify_onnx
from pc2dae.errors import ModelError
from pc2dae.model.adaptive import VARIANTS, Adaptive, parameter_name
from pc2dae.response.kernels import LN10, Kernel, respond
from pc2dae.training.checkpoint import ship
from pc2dae.training.export import TOLERANCE, bare, quiet, sealed
from pc2dae.training.pretrain import LENGTH, ROWS, SETTINGS, pretrain

OUTPUTS = ("estimate", "unbounded", "sigma")
_TAUS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)  # of the table of resolutions [samples] …
_HEIGHTS = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)  # … heights of a plume in units of the reading's noise …
_DRAWS = 8  # … and draws of the noise


class Deployed(nn.Module):
    """The deployed network: accepts any float32; output is finite and at or above the bound."""

    def __init__(self, network: Adaptive) -> None:
        super().__init__()
        self.network = network

    def forward(
        self,
        values: Tensor,
        valid: Tensor,
        noise: Tensor,
        lag1: Tensor,
        bound: Tensor,
        group: Tensor,
        reading: Tensor,
        gain: Tensor,
        tau: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Estimate, estimate before the bound, one-sigma uncertainty, each (batch, channel, time)."""
        sigma = torch.where((noise > 1e-30) & (noise < 1e30), noise, torch.ones_like(noise))
        memory = torch.where(lag1.abs() <= 1, lag1, torch.zeros_like(lag1))
        grown = torch.where((gain > 1e-3) & (gain < 1e6), gain, torch.ones_like(gain))
        slope = torch.where((tau >= 0) & (tau < 1e6), tau, torch.zeros_like(tau))
        unbounded, spread = self.network(values, valid, sigma, memory, bound, group, reading, grown, slope)
        return torch.maximum(unbounded, bound), unbounded, spread


def reach_of(network: Adaptive) -> tuple[int, int]:
    """Number of samples before and after it on which an estimate depends, measured by perturbing one sample."""
    length, probe = 4001, Adaptive(network.config).double().eval()
    probe.load_state_dict(network.state_dict())
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(1, 2, length, generator=generator, dtype=torch.float64)
    ones, group = torch.ones_like(values), torch.arange(2.0)[None, :, None].expand_as(values)
    moved = values.clone()
    moved[0, :, length // 2] += 50.0
    with torch.no_grad():
        before, after = (probe(x, ones, ones, 0 * ones, 0 * ones, group, x, ones, 5 * ones)[0] for x in (values, moved))
    touched = torch.nonzero((before != after).any(1)[0]).flatten() - length // 2
    return int(touched.max()), -int(touched.min())  # estimates affected after the sample are those that look back on it


def resolution_of(network: Adaptive) -> dict[str, Any]:
    """Width at half maximum [samples] of the answer to a plume of one sample, by time constant and height.

    The answer is the difference of the estimates with and without the plume in the same noise, averaged over draws.
    """
    kernels = [Kernel(tau * LN10) for tau in _TAUS]
    rng, at, shape = np.random.default_rng(0), 512, (_DRAWS, len(kernels), 1024)
    noise = 10 * max(_HEIGHTS) + rng.standard_normal(shape)
    plume = np.zeros(shape[2])
    plume[at] = 1.0
    answers = np.stack([respond(plume, kernel) for kernel in kernels])
    widths = []
    for height in (0.0, *_HEIGHTS):
        parts = [_inputs(reading, kernels) for reading in noise + height * answers]
        with torch.no_grad():
            inputs = (torch.from_numpy(np.stack(column)) for column in zip(*parts, strict=True))
            estimate = network(*inputs)[0].double().numpy().mean(axis=0)
        if height == 0:
            without = estimate
        else:
            widths.append([_width(row) for row in estimate - without])
    table = np.transpose(widths)  # weak plumes and slow sensors cannot be resolved better: chance is removed
    table = np.maximum.accumulate(np.maximum.accumulate(table[:, ::-1], axis=1)[:, ::-1], axis=0)
    return {"tau": [1 + tau for tau in _TAUS], "snr": list(_HEIGHTS), "width": table.round(2).tolist()}


def _inputs(reading: np.ndarray, kernels: list[Kernel]) -> tuple[np.ndarray, ...]:
    """What the network sees of readings (channel, time) of unit noise."""
    new, zero = np.ones(reading.shape, bool), np.zeros(reading.shape)
    free = without_lag(reading, new, zero, kernels)
    group = np.broadcast_to(np.arange(len(reading))[:, None], reading.shape)
    arrays = (free.values, new, free.gain, free.lag1, zero, group, free.reading, free.gain, free.tau)
    return tuple(a.astype(np.float32) for a in arrays)


def _width(answer: np.ndarray) -> float:
    """Width at half maximum, with crossings interpolated."""
    top = int(np.argmax(answer))
    half = answer[top] / 2
    ends = []
    for side in (answer[top::-1], answer[top:]):
        under = int(np.argmax(side < half)) or len(side) - 1
        ends.append(under - (half - side[under]) / (side[under - 1] - side[under]))
    return float(sum(ends))


def _elu(x: Any, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    """max(x, exp(min(x, 0)) − 1)."""
    return op.Max(x, op.Sub(op.Exp(op.Clip(x, max=0.0)), 1.0))


def _asinh(x: Any) -> Any:
    """sign(x) log(|x| + √(x² + 1)), the sign as a product cut at ± 1."""
    size = op.Log(op.Add(op.Abs(x), op.Sqrt(op.Add(op.Mul(x, x), 1.0))))
    return op.Mul(size, op.Clip(op.Mul(x, 1e30), -1.0, 1.0))


# onnxruntime implements these two in scalar code; composed of vectorised operators they take less than half the time.
_FASTER: dict[Callable[..., Any], Callable[..., Any]] = {
    torch.ops.aten.elu.default: _elu,
    torch.ops.aten.asinh.default: _asinh,
}


def export_adaptive(network: Adaptive, card: Card) -> bytes:
    """The network as one ONNX for any number of channels and any length, verified against torch."""
    deployed = Deployed(network.eval())
    dim = torch.export.Dim.DYNAMIC
    example = _example(np.random.default_rng(0), 2, 3, 600)
    with quiet():
        program = torch.onnx.export(
            deployed,
            tuple(map(torch.from_numpy, example)),
            input_names=list(INPUTS),
            output_names=list(OUTPUTS),
            dynamic_shapes=tuple({0: dim, 1: dim, 2: dim} for _ in INPUTS),
            dynamo=True,
            custom_translation_table=_FASTER,
            external_data=False,
            verbose=False,
        )
    data = sealed(bare(program), card, {})
    _verify(deployed, data)
    return data


def with_weights(data: bytes, network: Adaptive, card: Card) -> bytes:
    """The ONNX in `data` with its weights replaced by those of `network`; the graph is exported only once."""
    model = onnx.load_from_string(data)
    del model.metadata_props[:]
    state = network.state_dict()
    for name, tensor in initializers(model).items():
        if name in state:
            tensor.raw_data = np.ascontiguousarray(state[name].numpy(), dtype="<f4").tobytes()
    changed = sealed(model, card, {})
    _verify(Deployed(network.eval()), changed)
    return changed


def initializers(model: onnx.ModelProto) -> dict[str, onnx.TensorProto]:
    """The constants of an ONNX of `Deployed`; weights are keyed by parameter name."""
    return {parameter_name(tensor.name.removeprefix("network.")): tensor for tensor in model.graph.initializer}


def _example(rng: np.random.Generator, batch: int, channels: int, length: int) -> tuple[np.ndarray, ...]:
    shape = (batch, channels, length)
    values = rng.normal(5, 3, shape)
    group = np.broadcast_to(np.arange(channels)[:, None], shape)
    tau = np.broadcast_to(rng.choice([0.0, 1.0, 8.0], channels)[:, None], shape)
    reading, zero = 5 + (values - 5) / (1 + tau), np.zeros(shape)
    arrays = (values, rng.random(shape) < 0.9, np.ones(shape), zero, zero, group, reading, 1 + tau, tau)
    return tuple(a.astype(np.float32) for a in arrays)


def _verify(deployed: Deployed, data: bytes) -> None:
    """Refuse an export that differs from torch, or whose output is not finite or lies below the bound."""
    twin = adaptive_of(data, verify_onnx(data, where="the export"), name="the export").network
    rng = np.random.default_rng(1)
    for batch, channels, length in ((1, 1, 300), (2, 15, 700), (1, 50, 64)):
        values, valid, noise, lag1, bound, group, reading, gain, tau = _example(rng, batch, channels, length)
        for scale in (1e-3, 1.0, 1e3):
            bad = rng.random(values.shape) < 0.01
            scaled = values * np.float32(scale)
            scaled[bad] = rng.choice(np.array([np.nan, np.inf, -np.inf, 3e38], np.float32), bad.sum())
            inputs = (
                scaled,
                valid,
                noise * np.float32(scale),
                lag1,
                bound,
                group,
                reading * np.float32(scale),
                gain,
                tau,
            )
            ours = twin(*inputs)
            with torch.no_grad():
                theirs = [x.numpy() for x in deployed(*map(torch.from_numpy, inputs))]
            if not (all(np.isfinite(x).all() for x in ours) and (ours[0] >= bound).all()):
                raise ModelError("the export returned a value that is not finite or below the bound")
            worst = max(float(np.max(np.abs(a - b))) for a, b in zip(ours, theirs, strict=True)) / scale
            if not worst <= 10 * TOLERANCE:  # in units of the noise, whose scale is a tenth of a channel's or less
                raise ModelError(f"the export differs from torch by {worst:.1e} of the noise")


def make_card(network: Adaptive, *, variant: str, seed: int, steps: int) -> Card:
    """The model card: what the model is and how it was trained."""
    look_back, look_ahead = reach_of(network)
    return {
        "name": variant,
        "network": variant,
        "config": asdict(network.config),
        "parameters": sum(p.numel() for p in network.parameters()),
        "look_back": look_back,
        "look_ahead": look_ahead,
        "made_from_before": network.config.reach - 1,
        "made_from_after": network.config.right - 1,
        "resolution": resolution_of(network),
        "trained_on": f"random simulated suites, {ROWS} channels × {LENGTH} samples a step",
        "command": f"python -m pc2dae.training.adaptive -o FOLDER --variant {variant} --steps {steps} --seed {seed}",
        "seed": seed,
        "steps": steps,
        "threads": SETTINGS.threads,
        "versions": {name: version(name) for name in ("pc2dae", "torch", "numpy")}
        | {"python": platform.python_version()},
    }


def pretrained(variant: str = "adaptive") -> tuple[Adaptive, Card, bytes]:
    """The shipped network, its card and its ONNX."""
    folder = files("pc2dae.weights")
    card = parse_card((folder / f"{variant}.card.json").read_bytes(), where=f"{variant}.card.json")
    weights, data = ((folder / f"{variant}.{kind}").read_bytes() for kind in ("safetensors", "onnx"))
    check_digest(weights, card["sha256"]["weights"], where=f"{variant}.safetensors")
    network = Adaptive(VARIANTS[variant])
    network.load_state_dict(load(weights))
    return network, card, data


def main() -> None:
    """Pretrain a variant, or use the shipped weights, and write the files to ship; an interrupted run resumes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--variant", choices=VARIANTS, default="adaptive")
    parser.add_argument("--steps", type=int, default=SETTINGS.steps)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=Path, help="weights (.safetensors) to start from")
    parser.add_argument("--rate", type=float, default=SETTINGS.learning_rate, help="peak learning rate")
    parser.add_argument("--shipped", action="store_true", help="do not train: export the shipped weights to a new ONNX")
    chosen = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    if chosen.shipped:
        network, card, _ = pretrained(chosen.variant)
        look = make_card(network, variant=chosen.variant, seed=card["seed"], steps=card["steps"])
        kept = {key: card[key] for key in ("command", "versions", "start_sha256") if key in card}
        card = look | kept
        ship(network, card, export_adaptive(network, card), chosen.out)
        return
    settings = replace(SETTINGS, steps=chosen.steps, seed=chosen.seed, learning_rate=chosen.rate)
    network = pretrain(chosen.out, variant=chosen.variant, settings=settings, start=chosen.start)
    card = make_card(network, variant=chosen.variant, seed=chosen.seed, steps=chosen.steps)
    if chosen.start is not None:
        card["command"] += f" --rate {chosen.rate:g} --start {chosen.start.name}"
        card["start_sha256"] = digest(chosen.start.read_bytes())
    ship(network, card, export_adaptive(network, card), chosen.out)


if __name__ == "__main__":
    main()
