"""Local level model x(t+1) = x(t) + N(0, q), y = x + N(0, r): Kalman filter, smoother and maximum likelihood.

Loops over time are vectorised over channels and candidate variances; gaps are treated exactly.
"""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array, Mask
from pc2dae.filters.gaps import observed

_DIFFUSE = 1e8  # prior variance of the first level, in units of r
_RATIOS = np.logspace(-7, 4, 23)  # q/r from a constant level to no noise


def kalman(values: Array, valid: Mask, *, ratio: float = 0.01) -> tuple[Array, Array]:
    """Mean and sigma of the forward filter with fixed q/r.

    The paper specifies no value; 0.01 corresponds to a memory of about 10 samples.
    """
    x, ok = observed(values, valid)
    ratios, r = _most_likely(x, ok, np.array([ratio]))
    level, variance = _filter(x, ok, ratios)
    return _blank(ok, level.T, np.sqrt(variance.T * r[:, None]))


def rts(values: Array, valid: Mask, *, ratio: float | None = None) -> tuple[Array, Array]:
    """Mean and sigma of the smoother, with q and r of each channel by maximum likelihood, or with `ratio` = q/r.

    Rauch, Tung & Striebel 1965, doi:10.2514/3.3166.
    """
    x, ok = observed(values, valid)
    ratios, r = _most_likely(x, ok, _RATIOS if ratio is None else np.array([ratio]))
    level, variance = _filter(x, ok, ratios)
    gain = variance / (variance + ratios)
    for t in range(len(level) - 2, -1, -1):
        level[t] += gain[t] * (level[t + 1] - level[t])
        variance[t] += gain[t] ** 2 * (variance[t + 1] - variance[t] - ratios)
    return _blank(ok, level.T, np.sqrt(variance.T * r[:, None]))


def _most_likely(x: Array, ok: Mask, ratios: Array) -> tuple[Array, Array]:
    """Maximum-likelihood q/r and r of each channel: grid search over `ratios`, refined around the best if several."""
    rows = np.arange(len(x))
    candidates = np.broadcast_to(ratios, (len(x), len(ratios)))
    likelihood, r = _likelihood(x, ok, candidates)
    best = np.argmax(likelihood, axis=-1)
    if len(ratios) > 1:
        candidates = candidates[rows, best][:, None] * (ratios[1] / ratios[0]) ** np.linspace(-1, 1, 11)
        likelihood, r = _likelihood(x, ok, candidates)
        best = np.argmax(likelihood, axis=-1)
    return candidates[rows, best], r[rows, best]


def _likelihood(x: Array, ok: Mask, ratios: Array) -> tuple[Array, Array]:
    """Log-likelihood with r concentrated out, and the corresponding r, for each channel and candidate ratio."""
    level = np.repeat(_first(x, ok)[:, None], ratios.shape[1], axis=1)
    variance = np.full(ratios.shape, _DIFFUSE)
    squares, logs = np.zeros(ratios.shape), np.zeros(ratios.shape)
    for y, seen in zip(x.T[:, :, None], ok.T[:, :, None].astype(np.float64), strict=True):
        variance += ratios
        spread = variance + 1.0
        weight = seen / spread
        error = y - level
        gain = variance * weight
        level += gain * error
        squares += error * error * weight
        logs += seen * np.log(spread)
        variance -= gain * variance
    count = np.maximum(ok.sum(axis=-1, keepdims=True) - 1, 1)
    r = np.maximum(squares / count, np.finfo(float).tiny)
    return -0.5 * (count * np.log(r) + logs), r


def _filter(x: Array, ok: Mask, ratios: Array) -> tuple[Array, Array]:
    """Filtered level and its variance in units of r, each (time, channel)."""
    levels, variances = np.empty(x.T.shape), np.empty(x.T.shape)
    level, variance = _first(x, ok), np.full(len(x), _DIFFUSE)
    for t, (y, seen) in enumerate(zip(x.T, ok.T.astype(np.float64), strict=True)):
        variance = variance + ratios
        gain = seen * variance / (variance + 1.0)
        level = level + gain * (y - level)
        variance = variance - gain * variance
        levels[t], variances[t] = level, variance
    return levels, variances


def _first(x: Array, ok: Mask) -> Array:
    """First observation of each channel, used as the initial level of the diffuse prior."""
    first: Array = x[np.arange(len(x)), np.argmax(ok, axis=-1)]
    return first


def _blank(ok: Mask, mean: Array, sigma: Array) -> tuple[Array, Array]:
    """Set channels without observations to NaN."""
    some = ok.any(axis=-1, keepdims=True)
    return np.where(some, mean, np.nan), np.where(some, sigma, np.nan)
