"""Intersection of confidence intervals: means over the longest one-sided windows that agree with all shorter ones."""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array, Mask
from pc2dae.filters.gaps import at_native_rate
from pc2dae.noise import noise_level

_WINDOWS = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256)  # samples


def intersecting_intervals(values: Array, valid: Mask, *, threshold: float = 1.6) -> Array:
    """Means over windows that end and that begin at t, each as long as mean ± threshold·σ/√n intersect, joined by n.

    An edge ends the window of its side only, so it stays sharp. Goldenshluger & Nemirovski 1997; Katkovnik 1999,
    doi:10.1109/78.782208.

    >>> step = np.repeat([0.0, 20.0], 60) + np.random.default_rng(0).normal(0, 1, 120)
    >>> intersecting_intervals(step[None], np.ones((1, 120), bool))[0, [59, 60]].round().tolist()
    [0.0, 20.0]
    """

    def smooth(x: Array, ok: Mask) -> Array:
        sigma = threshold * np.nan_to_num(noise_level(x, ok).sigma)[:, None]
        left, count = _longest(x, ok, sigma)
        right, other = (side[:, ::-1] for side in _longest(x[:, ::-1], ok[:, ::-1], sigma))
        return np.asarray((count * left + other * right) / (count + other))

    return at_native_rate(values, valid, smooth)


def _longest(x: Array, ok: Mask, sigma: Array) -> tuple[Array, Array]:
    """Mean and number of observations of the longest admissible window that ends at each sample."""
    sums, counts = (np.cumsum(np.pad(a, ((0, 0), (_WINDOWS[-1], 0))), axis=1) for a in (x * ok, ok.astype(np.float64)))
    mean, number = x.copy(), np.full(x.shape, 1e-9)  # interpolated where nothing is in reach
    low, high = np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
    going = np.ones(x.shape, bool)
    for window in _WINDOWS:
        total, count = (a[:, _WINDOWS[-1] :] - a[:, _WINDOWS[-1] - window : -window] for a in (sums, counts))
        some = count > 0.5
        middle, half = total / np.maximum(count, 1.0), sigma / np.sqrt(np.maximum(count, 1.0))
        low = np.where(some, np.maximum(low, middle - half), low)
        high = np.where(some, np.minimum(high, middle + half), high)
        going &= low <= high
        mean, number = np.where(going & some, middle, mean), np.where(going & some, count, number)
    return mean, number
