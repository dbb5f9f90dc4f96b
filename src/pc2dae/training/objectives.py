"""What a network is asked: which input it sees and which target it is held to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.errors import ModelError, nearest
from pc2dae.model import losses
from pc2dae.model.batch import Batch
from pc2dae.model.pc2dae import Variant
from pc2dae.windows.corruption import ALPHA, blind_width, hide, inject, recorrupt
from pc2dae.windows.scaling import PERCENTILE, Scaler
from pc2dae.windows.slicing import Crops, Record

CLEAN, NOISIER = 0.3, 0.2  # shares of windows with the truth + white noise, and with the observed + white noise
LEVELS = (0.01, 0.2)  # of that noise, in units of P99.5 − bound: the paper injects 0.05 and 0.10


Objective = Callable[[Crops, np.random.Generator], Batch]
Loss = Callable[[nn.Module, Batch, int], dict[str, Tensor]]  # network, batch, step → terms; their sum is minimised


def objective_of(name: str, scaler: Scaler, records: Sequence[Record], *, mixed: bool = False) -> Objective:
    """The objective of a name, fitted to the records where it depends on their noise.

    `mixed`: windows of objectives truth and recorrupted have other noise levels than the flights', as a network in
    noise units should learn.
    """
    if name == "paper":
        return _paper(scaler)
    if name == "recorrupted":
        return _recorrupted(np.asarray(scaler.scale), mixed=mixed)
    if name == "truth":
        if any(record.target is None for record in records):
            raise ModelError("objective 'truth' needs the truth of every flight", hint="pass --truth truth.nc for each")
        return _mixed_truth(records, np.asarray(scaler.bound)) if mixed else _truth
    if name == "blindspot":
        return _blindspot(records)
    raise ModelError(f"unknown objective '{name}'", hint=nearest(name, OBJECTIVES))


OBJECTIVES = ("paper", "recorrupted", "blindspot", "truth")


def _paper(scaler: Scaler) -> Objective:
    """Input = observed + injected noise, target = observed."""
    scale = np.asarray(scaler.scale)

    def make(crops: Crops, rng: np.random.Generator) -> Batch:
        values, level = inject(crops.values, scale, rng)
        return _batch(crops, values, crops.valid, crops.valid, target=crops.values, sigma=np.hypot(crops.sigma, level))

    return make


def _truth(crops: Crops, rng: np.random.Generator) -> Batch:
    """Input = observed, target = simulated response, at or above the bound."""
    return _batch(crops, crops.values, crops.valid, crops.valid & np.isfinite(crops.target))


def _mixed_truth(records: Sequence[Record], bound: Array) -> Objective:
    """Target = simulated response; input = observed, observed + white noise, or the response + white noise."""
    targets = [record.target for record in records if record.target is not None]
    scale = np.mean([np.nanpercentile(target, PERCENTILE, axis=1) - bound for target in targets], axis=0)

    def make(crops: Crops, rng: np.random.Generator) -> Batch:
        kind = rng.random((len(crops.values), 1))
        is_clean, is_noisier = kind < CLEAN, (kind >= CLEAN) & (kind < CLEAN + NOISIER)
        level = noise_levels(len(kind), scale, rng)
        known = np.isfinite(crops.target)
        values = np.where(is_clean[..., None], crops.target, crops.values)
        values = values + np.where(is_clean | is_noisier, level, 0.0)[..., None] * rng.standard_normal(values.shape)
        valid = np.where(is_clean[..., None], known, crops.valid)
        sigma = np.where(is_clean, level, np.where(is_noisier, np.hypot(crops.sigma, level), crops.sigma))
        return _batch(crops, values, valid, valid & known, sigma=misjudged(sigma, rng))

    return make


def _recorrupted(scale: Array, *, mixed: bool) -> Objective:
    """Input = observed + α·noise, target = observed − noise/α, of the channel's own kind: needs no truth."""

    def make(crops: Crops, rng: np.random.Generator) -> Batch:
        values, target = recorrupt(crops.values, crops.valid, crops.sigma, crops.lag1, rng)
        sigma = crops.sigma * np.hypot(1.0, ALPHA)
        if mixed:
            is_noisier = rng.random((len(values), 1)) < CLEAN + NOISIER
            level = np.where(is_noisier, noise_levels(len(values), scale, rng), 0.0)
            values, sigma = values + level[..., None] * rng.standard_normal(values.shape), np.hypot(sigma, level)
        return _batch(crops, values, crops.valid, crops.valid, target=target, sigma=misjudged(sigma, rng))

    return make


def noise_levels(count: int, scale: Array, rng: np.random.Generator) -> Array:
    """σ of added noise, (window, channel): from 0.01 to 0.2 of the channel's scale, common to a window within 30 %."""
    common = rng.uniform(np.log(LEVELS[0]), np.log(LEVELS[1]), size=(count, 1))
    return np.asarray(np.exp(common + rng.normal(0.0, 0.3, size=(count, len(scale)))) * np.maximum(scale, 0.0))


def misjudged(sigma: Array, rng: np.random.Generator) -> Array:
    """σ as it would be estimated from a flight: off by a tenth."""
    return np.asarray(sigma * np.exp(rng.normal(0.0, 0.1, size=sigma.shape)))


def _blindspot(records: Sequence[Record]) -> Objective:
    """Target = observed samples the input does not show, nor as much around them as the noise is correlated."""
    lag1 = np.stack([record.noise.lag1 for record in records])
    known = np.where(np.isfinite(lag1), lag1, -1.0).max(axis=0)  # the most correlated flight decides
    width = np.array([blind_width(lag) for lag in known])

    def make(crops: Crops, rng: np.random.Generator) -> Batch:
        visible, asked = hide(crops.valid, width, rng)
        return _batch(crops, crops.values, visible, asked, target=crops.values)

    return make


def _batch(
    crops: Crops,
    values: Floats,
    valid: Mask,
    weight: Mask,
    *,
    target: Floats | None = None,
    sigma: Array | None = None,
) -> Batch:
    arrays = (
        values, valid, crops.environment, crops.sigma if sigma is None else sigma,
        crops.target if target is None else target, weight, crops.valid,
    )  # fmt: skip
    return Batch(*(torch.from_numpy(np.ascontiguousarray(a, dtype=np.float32)) for a in arrays))


def physics_loss(
    variant: Variant,
    families: Sequence[int],
    *,
    mass: float = 0.0,
    spectral: float = 0.0,
    literal_sums: bool = False,
) -> Loss:
    """MAE + λ₁·positivity + λ₂·total variation as the paper trained, and optionally mass and spectral consistency.

    `literal_sums`: the sums that the paper prints instead of means per family: λ then weighs a family by its channels.
    """
    error_by, physics_by = (
        (losses.channel_mean, losses.window_sum) if literal_sums else (losses.family_mean, losses.family_mean)
    )

    def loss(network: nn.Module, batch: Batch, step: int) -> dict[str, Tensor]:
        estimate, target = network.compare(batch)  # type: ignore[operator]
        terms = {
            "mae": losses.reconstruction(estimate, target, batch.weight, families, reduce=error_by),
            "positivity": variant.positivity * losses.positivity(estimate, batch.observed, families, reduce=physics_by),
            "variation": variant.smoothness * losses.variation(estimate, batch.observed, families, reduce=physics_by),
        }
        if mass > 0:
            terms["mass"] = mass * losses.mass(estimate, target, batch.weight, families)
        if spectral > 0:
            terms["spectral"] = spectral * losses.spectral(estimate, target, batch.weight, families)
        return terms

    return loss
