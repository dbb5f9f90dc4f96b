"""Injection test: white noise of known level added to clean data, so that the truth is known exactly."""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array, Floats

LEVELS = (0.05, 0.10)  # medium and high σ of the paper, in units of the scale


def scales(clean: Floats, bound: Floats) -> Array:
    """P99.5 of each channel minus its lower bound, the unit of injected noise; 1 if not positive."""
    some = np.isfinite(clean).any(axis=-1, keepdims=True)
    high = np.nanpercentile(np.where(some, clean, 0.0), 99.5, axis=-1) - np.asarray(bound)
    return np.where(high > 0, high, 1.0)


def inject(clean: Floats, scale: Floats, *, sigma: float, seed: int) -> Array:
    """clean + σ·scale·N(0, 1), (channel, time)."""
    noise = np.random.default_rng(seed).standard_normal(clean.shape)
    return np.asarray(clean + sigma * np.asarray(scale)[:, None] * noise)
