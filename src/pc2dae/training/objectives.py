"""What a network is asked: which input it sees and which target it is held to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from pc2dae.errors import ModelError, nearest
from pc2dae.model import losses
from pc2dae.model.pc2dae import Variant
from pc2dae.noise import noise_level
from pc2dae.windows.corruption import blind_width, hide, inject
from pc2dae.windows.scaling import Scaler
from pc2dae.windows.slicing import Crops, Record


@dataclass(frozen=True)
class Batch:
    """Windows as a network is trained on them, physical units, each (batch, row, time)."""

    values: Tensor  # what it sees
    valid: Tensor  # where it sees something
    environment: Tensor
    target: Tensor
    weight: Tensor  # of each sample in the reconstruction
    observed: Tensor  # of each sample in the terms that need no target


Objective = Callable[[Crops, np.random.Generator], Batch]
Loss = Callable[[nn.Module, Batch, int], dict[str, Tensor]]  # network, batch, step → terms; their sum is minimised


def objective_of(name: str, scaler: Scaler, records: Sequence[Record]) -> Objective:
    """The objective of a name, fitted to the records where it depends on their noise."""
    if name == "paper":
        return _paper(scaler)
    if name == "truth":
        if any(record.target is None for record in records):
            raise ModelError("objective 'truth' needs the truth of every flight", hint="pass --truth truth.nc for each")
        return _truth
    if name == "blindspot":
        return _blindspot(records)
    raise ModelError(f"unknown objective '{name}'", hint=nearest(name, OBJECTIVES))


OBJECTIVES = ("paper", "blindspot", "truth")


def _paper(scaler: Scaler) -> Objective:
    """Input = observed + injected noise, target = observed."""
    scale = np.asarray(scaler.scale)

    def make(crops: Crops, rng: np.random.Generator) -> Batch:
        return _batch(_self_taught(crops), inject(crops.values, scale, rng), crops.valid, crops.valid)

    return make


def _truth(crops: Crops, rng: np.random.Generator) -> Batch:
    """Input = observed, target = simulated response, at or above the bound."""
    return _batch(crops, crops.values, crops.valid, crops.valid & np.isfinite(crops.target))


def _blindspot(records: Sequence[Record]) -> Objective:
    """Target = observed samples the input does not show, nor as much around them as the noise is correlated."""
    lag1 = np.stack([noise_level(record.values, record.valid).lag1 for record in records])
    known = np.where(np.isfinite(lag1), lag1, -1.0).max(axis=0)  # the most correlated flight decides
    width = np.array([blind_width(lag) for lag in known])

    def make(crops: Crops, rng: np.random.Generator) -> Batch:
        visible, asked = hide(crops.valid, width, rng)
        return _batch(_self_taught(crops), crops.values, visible, asked)

    return make


def _self_taught(crops: Crops) -> Crops:
    """The record as its own target, even where a truth is known."""
    return Crops(crops.values, crops.valid, crops.environment, crops.values)


def _batch(crops: Crops, values: np.ndarray, valid: np.ndarray, weight: np.ndarray) -> Batch:
    arrays = (values, valid, crops.environment, crops.target, weight, crops.valid)
    return Batch(*(torch.from_numpy(np.ascontiguousarray(a, dtype=np.float32)) for a in arrays))


def physics_loss(variant: Variant, families: Sequence[int], *, mass: float = 0.0, spectral: float = 0.0) -> Loss:
    """MAE + λ₁·positivity + λ₂·total variation as the paper trained, and optionally mass and spectral consistency."""

    def loss(network: nn.Module, batch: Batch, step: int) -> dict[str, Tensor]:
        estimate: Tensor = network.scaled(batch.values, batch.valid, batch.environment)  # type: ignore[operator]
        target: Tensor = network.scaling.scaled(batch.target)  # type: ignore[union-attr,operator]
        terms = {
            "mae": losses.reconstruction(estimate, target, batch.weight, families),
            "positivity": variant.positivity * losses.positivity(estimate, batch.observed, families),
            "variation": variant.smoothness * losses.variation(estimate, batch.observed, families),
        }
        if mass > 0:
            terms["mass"] = mass * losses.mass(estimate, target, batch.weight, families)
        if spectral > 0:
            terms["spectral"] = spectral * losses.spectral(estimate, target, batch.weight, families)
        return terms

    return loss
