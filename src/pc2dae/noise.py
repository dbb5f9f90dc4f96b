"""How noisy a channel is, read off the channel itself while plumes go by (numpy only: the drone uses it too).

The level is the standard deviation of what changes from sample to sample without memory. It is taken from second
differences two samples apart, x(t−2) − 2x(t) + x(t+2), whose variance is 6σ² both for white noise and for the
differenced noise of an aethalometer (lag-1 autocorrelation −0.5), and which a smooth signal hardly enters; only from
the quiet blocks of the record, chosen by their slow variation so that the choice says nothing about the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_LAG = 2  # beyond the reach of differenced noise
_BLOCK = 16  # samples; long enough for a slope, short enough to lie between two plumes
_QUIET = 0.5  # share of blocks that is taken as quiet
_TAIL = 6.0  # robust sigmas kept: all of a normal law, nearly all of Student's t with 4 degrees of freedom, no spike
TRAILING_STEP = 10  # samples between two looks of a live stream
TRAILING_WINDOW = 300  # samples that a live stream looks back on
_MAD = 1.4826  # from median absolute deviation to sigma, normal law

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """Noise of each channel; NaN where fewer than five samples were observed."""

    sigma: Array  # standard deviation, in the channel's units; never below step/√12
    lag1: Array  # autocorrelation of the noise at one sample: 0 white, −0.5 differenced
    step: Array  # smallest step between two values: the quantisation, 0 where none shows


def noise_level(values: NDArray[np.floating], valid: NDArray[np.bool_]) -> Noise:
    """The noise of each channel of `values`, (channel, time), from its samples marked `valid` (stale ones are not)."""
    rows = [
        _one(row[ok].astype(np.float64), np.flatnonzero(ok))
        for row, ok in zip(values, valid & np.isfinite(values), strict=True)
    ]
    sigma, lag1, step = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    return Noise(sigma, lag1, step)


def sum_variance(sigma: float, lag1: float) -> float:
    """v = σ²(1 + 2ρ), what each sample adds to the variance of a long sum: raw noise with lag-1 correlation ρ.

    A smoother that keeps means keeps the errors of long sums as well, however much it smooths. Differenced noise
    (ρ = −0.5) would cancel in full; a tenth of σ² is kept for what does not cancel.
    """
    return float(sigma**2 * max(1.0 + 2.0 * lag1, 0.1))


def _one(x: Array, index: NDArray[np.intp]) -> tuple[float, float, float]:
    if len(x) < 2 * _LAG + 1:
        return np.nan, np.nan, np.nan
    step = _step(x)
    # A sensor slower than the grid has no two fresh neighbours: then its fresh samples are taken as its own clock.
    neighbours = np.count_nonzero(np.diff(index) == 1)
    fresh = _on_grid(x, index) if neighbours > (len(x) - 1) / 2 else x
    second = (fresh[: -2 * _LAG] - 2 * fresh[_LAG:-_LAG] + fresh[2 * _LAG :]) / np.sqrt(6.0)
    quiet = _quiet(fresh)
    sigma = _spread(second[quiet[_LAG:-_LAG]], step)
    if not np.isfinite(sigma):
        sigma = _spread(second, step)
    if not np.isfinite(sigma):
        sigma = _spread(np.diff(x) / np.sqrt(2.0), step)
    sigma = max(sigma, step / np.sqrt(12.0)) if np.isfinite(sigma) else np.nan
    first = _spread(np.diff(fresh)[quiet[1:]] / np.sqrt(2.0), step)
    lag1 = 1.0 - (first / sigma) ** 2 if sigma > 0 and np.isfinite(first) else 0.0
    return sigma, min(max(lag1, -0.6), 0.95), step


def _on_grid(x: Array, index: NDArray[np.intp]) -> Array:
    grid = np.full(index[-1] - index[0] + 1, np.nan)
    grid[index - index[0]] = x
    return grid


def _quiet(x: Array) -> NDArray[np.bool_]:
    """Samples in the half of the blocks that change least, against the blocks beside and between their own halves."""
    count = max(len(x) // _BLOCK, 1)
    halves = _means(x[: len(x) // (2 * count) * 2 * count].reshape(2 * count, -1))
    level = _means(halves.reshape(count, 2))
    beside = np.concatenate(([np.nan], np.abs(np.diff(level)), [np.nan]))
    activity = np.fmax(np.abs(halves[::2] - halves[1::2]), np.fmax(beside[:-1], beside[1:]))
    known = np.sort(activity[~np.isnan(activity)])
    if len(known) == 0:
        return np.ones(len(x), dtype=bool)
    chosen = activity <= quantile(known, _QUIET)
    return np.asarray(chosen[np.minimum(np.arange(len(x)) // (len(x) // count), count - 1)])


def _means(rows: Array) -> Array:
    """Mean of the finite values of each row, NaN where there is none."""
    finite = np.isfinite(rows)
    count = finite.sum(axis=1)
    return np.where(count > 0, np.where(finite, rows, 0.0).sum(axis=1) / np.maximum(count, 1), np.nan)


def _spread(differences: Array, step: float) -> float:
    """Standard deviation without the few differences that are no noise at all."""
    size = np.sort(np.abs(differences[np.isfinite(differences)]))
    if len(size) < 8:
        return np.nan
    robust = _MAD * quantile(size, 0.5)
    kept = size[: np.searchsorted(size, _TAIL * max(robust, step / 2), side="right")]
    return float(np.sqrt(kept @ kept / len(kept))) if len(kept) else robust


def quantile(ordered: Array, share: float) -> float:
    """The value below which this share of sorted values lies, as np.quantile has it at several times the price."""
    at = share * (len(ordered) - 1)
    low, high = ordered[int(at)], ordered[math.ceil(at)]
    return float(low + (at - int(at)) * (high - low))


def _step(x: Array) -> float:
    """The smallest gap between distinct values, where few enough are distinct for it to be a quantisation."""
    ordered = np.sort(x)
    gaps = np.diff(ordered)
    gaps = gaps[gaps > 0]
    if len(gaps) == 0 or len(gaps) + 1 > len(x) / 2:
        return 0.0
    return float(gaps[gaps > 1e-9 * max(abs(ordered[0]), abs(ordered[-1]))].min(initial=np.inf))


def trailing_noise(
    values: NDArray[np.floating],
    valid: NDArray[np.bool_],
    prior: Array,
    *,
    window: int = TRAILING_WINDOW,
    warmup: int = 30,
) -> tuple[Array, Array]:
    """Level and lag-1 autocorrelation at each sample, (channel, time) each, without looking ahead.

    Taken anew every ten samples from the last `window`; for the first `warmup` samples `prior` holds, where known.
    """
    length = values.shape[1]
    sigma, lag1 = np.empty(values.shape), np.zeros(values.shape)
    for start in range(0, length, TRAILING_STEP):
        part = slice(start, start + TRAILING_STEP)
        sigma[:, part], lag1[:, part] = (
            level[:, None] for level in noise_before(values, valid, prior, start, window, warmup)
        )
    return sigma, lag1


def noise_before(
    values: NDArray[np.floating],
    valid: NDArray[np.bool_],
    prior: Array,
    start: int,
    window: int = TRAILING_WINDOW,
    warmup: int = 30,
) -> tuple[Array, Array]:
    """Level and lag-1 autocorrelation that hold for the ten samples from `start`: from what came before them."""
    past = slice(max(start - window, 0), start)
    noise = noise_level(values[:, past], valid[:, past])
    known = np.isfinite(noise.sigma) & (noise.sigma > 0)
    if start < warmup:
        known &= ~np.isfinite(prior)
    return np.where(known, noise.sigma, prior), np.where(known, np.nan_to_num(noise.lag1), 0.0)
