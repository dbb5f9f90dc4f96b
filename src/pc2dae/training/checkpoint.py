"""A checkpoint is a folder: weights.safetensors, card.json, model.onnx. Never a pickle."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from pc2dae.arrays import Floats
from pc2dae.atomic import write_bytes
from pc2dae.edge.card import Card, check_digest, digest, parse_card, render_card
from pc2dae.edge.onnx_check import read_limited
from pc2dae.edge.runtime import WindowedDenoiser
from pc2dae.errors import ModelError, nearest
from pc2dae.suite import Suite, parse_suite
from pc2dae.training.networks import BUILDERS
from pc2dae.windows.scaling import Scaler

WEIGHTS, CARD, ONNX = "weights.safetensors", "card.json", "model.onnx"


def build_network(name: str, suite: Suite, scaler: Scaler) -> nn.Module:
    """A new network of the given kind for a suite."""
    if name not in BUILDERS:
        raise ModelError(f"unknown network '{name}'", hint=nearest(name, BUILDERS))
    network: nn.Module = import_module(BUILDERS[name]).build(name, suite, scaler)
    return network


def save_checkpoint(folder: Path, network: nn.Module, card: Card, *, onnx: bytes | None = None) -> Card:
    """Write the weights, the ONNX twin where there is one, and last the card that vouches for both; return it."""
    check_finite(network.state_dict(), where=folder.name)
    weights = save({name: value.contiguous() for name, value in network.state_dict().items()})
    write_bytes(folder / WEIGHTS, weights)
    digests = {WEIGHTS: digest(weights)}
    if onnx is not None:
        write_bytes(folder / ONNX, onnx)
        digests[ONNX] = digest(onnx)
    signed = render_card(card | {"sha256": digests})
    write_bytes(folder / CARD, signed)
    return parse_card(signed, where=CARD)


def ship(network: nn.Module, card: Card, onnx: bytes, folder: Path) -> None:
    """Write `<name>.onnx`, `<name>.safetensors` (to train on from) and `<name>.card.json` for the package."""
    weights = save({key: value.contiguous() for key, value in network.state_dict().items()})
    write_bytes(folder / f"{card['name']}.safetensors", weights)
    write_bytes(folder / f"{card['name']}.onnx", onnx)
    digests = {"onnx": digest(onnx), "weights": digest(weights)}
    write_bytes(folder / f"{card['name']}.card.json", render_card(card | {"sha256": digests}))


def load_checkpoint(folder: Path) -> tuple[nn.Module, Card]:
    """The network of a checkpoint, each file checked against the card before it is parsed."""
    card = parse_card(read_limited(folder / CARD), where=f"{folder.name}/{CARD}")
    data = read_limited(folder / WEIGHTS)
    check_digest(data, card["sha256"].get(WEIGHTS), where=f"{folder.name}/{WEIGHTS}")
    if card["network"] not in BUILDERS:
        raise ModelError(
            f"{folder.name} holds network '{card['network']}', which is not built here from its weights",
            hint=f"use its {ONNX}",
        )
    if card["network"].startswith(("lean", "wide")) and "begin" not in card.get("config", {"begin": ""}):
        raise ModelError(
            f"{folder.name} holds the network '{card['network']}' of version 0.1, which is another one now",
            hint=f"train it again, or use its {ONNX}",
        )
    network = build_network(card["network"], suite_of_card(card), Scaler.from_dict(card["scaler"]))
    try:
        weights = load(data)
        check_finite(weights, where=folder.name)
        network.load_state_dict(weights)
    except (SafetensorError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise ModelError(f"the weights in {folder.name} do not fit network '{card['network']}': {reason}") from None
    return network.eval(), card


def check_finite(weights: Mapping[str, Tensor], *, where: str) -> None:
    """Refuse weights that are NaN or infinite, as those of a training that diverged; `where` names the model."""
    for name, value in weights.items():
        if not torch.isfinite(value).all():
            raise ModelError(
                f"the weights of {where} are NaN or infinite ('{name}')",
                hint="its training diverged: check the data and train it again, with another --seed",
            )


def suite_of_card(card: Card) -> Suite:
    """The channels a model was trained for."""
    return parse_suite(card["suite"], where="the card's suite")


def torch_denoiser(
    network: nn.Module, suite: Suite, *, name: str, sha256: str = "", profile: str = "flight"
) -> WindowedDenoiser:
    """A network in torch as a denoiser: the same rule, the same numbers as its ONNX twin."""

    @torch.no_grad()
    def run(*arrays: Floats) -> tuple[Floats, ...]:
        torch.set_num_threads(1)
        return (network(*map(torch.from_numpy, arrays[: len(inputs)])).numpy(),)

    inputs: tuple[str, ...] = network.inputs  # type: ignore[assignment]
    return WindowedDenoiser(name, suite, run, sha256, profile, needs_noise="noise" in inputs)
