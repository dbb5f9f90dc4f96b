"""The shipped lean and wide as a start for training on one's own flights, and whether that helped."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

import numpy as np
import torch
from safetensors.torch import load
from torch import Tensor

from pc2dae.edge.card import check_digest, parse_card
from pc2dae.model.batch import Batch
from pc2dae.model.pc2dae import PC2DAE, VARIANTS
from pc2dae.suite import Suite, parse_suite
from pc2dae.training.finetune import NetworkComparison
from pc2dae.training.fit import TrainingSettings
from pc2dae.windows.scaling import Scaler

# Share of the recorruption loss that a gain must exceed. Real noise is not Gaussian of known covariance, which brings
# gains of up to 2 % where the error against the truth grows by a point (`python benchmarks/finetune.py lean`).
WORTHWHILE = 0.03
TUNING = TrainingSettings(steps=200, learning_rate=1e-3, warmup=20, every=20, patience=5)


def shipped_network(name: str, suite: Suite) -> tuple[PC2DAE, Scaler] | None:
    """The shipped network `name` and its scaler; None if there is none for exactly these channels."""
    folder = files("pc2dae.weights")
    path = folder / f"{name}.safetensors"
    if name not in VARIANTS or not path.is_file():
        return None
    card = parse_card((folder / f"{name}.card.json").read_bytes(), where=f"{name}.card.json")
    trained = parse_suite(card["suite"], where="the card's suite")
    if _facts(suite) != _facts(trained):
        return None
    weights = path.read_bytes()
    check_digest(weights, card["sha256"]["weights"], where=f"{name}.safetensors")
    scaler = Scaler.from_dict(card["scaler"])
    network = PC2DAE(VARIANTS[name], trained, scaler)
    network.load_state_dict(load(weights))
    return network, scaler


def _facts(suite: Suite) -> list[tuple[object, ...]]:
    channels = [(f.name, c.name, c.units, c.lower_bound) for f in suite.family for c in f.channel]
    return [(suite.rate_hz,), *channels]


def keep_if_better(network: PC2DAE, shipped: dict[str, Tensor], judged: Sequence[Batch]) -> NetworkComparison:
    """Leave in `network` the mean of its weights and the `shipped` ones, or these alone if the gain is not clear.

    Two networks tuned in different directions lose less when averaged with where they came from.
    """
    tuned = {name: 0.5 * (value + shipped[name]) for name, value in network.state_dict().items()}
    before, after = (_losses(network, weights, judged) for weights in (shipped, tuned))
    error = float(np.std(before - after, ddof=1) / np.sqrt(len(before)))
    result = NetworkComparison(float(before.mean()), float(after.mean()), error, WORTHWHILE)
    network.load_state_dict(tuned if result.is_better else shipped)
    return result


@torch.no_grad()
def _losses(network: PC2DAE, weights: dict[str, Tensor], judged: Sequence[Batch]) -> np.ndarray:
    """Mean squared error in noise units of every held-out window that has a sample."""
    network.load_state_dict(weights)
    network.eval()
    losses = []
    for batch in judged:
        estimate, target = network.compare(batch)
        error = torch.where(batch.weight > 0, estimate - target, 0.0).square()
        count = batch.weight.sum(dim=(1, 2))
        losses.append((error.sum(dim=(1, 2)) / count.clamp_min(1))[count > 0].numpy())
    return np.concatenate(losses)
