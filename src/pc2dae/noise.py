"""The noise of a channel, estimated from a record that contains plumes (numpy only, for use on the drone).

The level is the standard deviation of the part that changes independently between samples. It is taken from second
differences two samples apart, x(t−2) − 2x(t) + x(t+2), whose variance is 6σ² both for white noise and for the
differenced noise of an aethalometer (lag-1 autocorrelation −0.5), and which a smooth signal hardly affects; only from
the quiet blocks of the record, chosen by their slow variation so that the choice does not bias the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array, Mask

_LAG = 2  # beyond the correlation of differenced noise
_BLOCK = 16  # samples; long enough to estimate a slope, short enough to fit between plumes
_QUIET = 0.5  # share of blocks taken as quiet
_TAIL = 6.0  # robust sigmas kept: all normal noise, nearly all of Student's t with 4 degrees of freedom, no spike
_ROUNDING = 1e-9  # of the largest value: smaller differences are due to rounding
_MAD = 1.4826  # from median absolute deviation to sigma of a normal distribution
_ALIKE = 0.6  # correlation of second differences from which two channels are compared
_PARTS, _PART = 10, 1000  # number and length of the stretches of a long record that are searched for shared noise
_SHARED = 0.25  # of the variance that independent noise would leave
_FREEDOM = (1, 2, 3, 4, 5, 8, 12, 20, 40, 1000)  # degrees of freedom …
_STUDENT = (6.314, 2.920, 2.353, 2.132, 2.015, 1.860, 1.782, 1.725, 1.684, 1.645)  # … and the 95 % point of t


@dataclass(frozen=True)
class Noise:
    """Noise of each channel; NaN where fewer than five samples were observed."""

    sigma: Array  # standard deviation, in the channel's units; never below step/√12
    lag1: Array  # autocorrelation of the noise at one sample: 0 white, −0.5 differenced
    step: Array  # smallest step between two values: the quantisation, 0 if there is none

    def rows(self, index: Sequence[int]) -> Noise:
        """The noise of some of the channels."""
        return Noise(self.sigma[index], self.lag1[index], self.step[index])


def noise_level(values: NDArray[np.floating], valid: Mask) -> Noise:
    """The noise of each channel of `values`, (channel, time), from its samples marked `valid` (stale ones are not).

    >>> rng = np.random.default_rng(0)
    >>> found = noise_level(5 + 2 * rng.standard_normal((1, 2000)), np.ones((1, 2000), bool))
    >>> found.sigma.round(1), found.lag1.round(1)
    (array([2.]), array([0.]))
    """
    rows = [
        _one(row[ok].astype(np.float64), np.flatnonzero(ok))
        for row, ok in zip(values, valid & np.isfinite(values), strict=True)
    ]
    sigma, lag1, step = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    return Noise(sigma, lag1, step)


def sum_variance(sigma: float, lag1: float) -> float:
    """v = σ²(1 + 2ρ), each sample's contribution to the variance of a long sum; ρ is the noise's lag-1 correlation.

    A smoother that preserves means also preserves the errors of long sums, regardless of its strength. Differenced
    noise (ρ = −0.5) would cancel completely; a tenth of σ² is retained for the part that does not.

    >>> sum_variance(2.0, 0.0), sum_variance(2.0, -0.5)
    (4.0, 0.4)
    """
    return float(sigma**2 * max(1.0 + 2.0 * lag1, 0.1))


def _one(x: Array, index: NDArray[np.intp]) -> tuple[float, float, float]:
    if len(x) < 2 * _LAG + 1:
        return np.nan, np.nan, np.nan
    step = _step(x)
    # A sensor slower than the grid has no adjacent new samples: its new samples are treated as a separate series.
    neighbours = np.count_nonzero(np.diff(index) == 1)
    fresh = _on_grid(x, index) if neighbours > (len(x) - 1) / 2 else x
    second = (fresh[: -2 * _LAG] - 2 * fresh[_LAG:-_LAG] + fresh[2 * _LAG :]) / np.sqrt(6.0)
    quiet = _quiet(fresh)
    sigma = _spread(second[quiet[_LAG:-_LAG]], step)
    if not np.isfinite(sigma):
        sigma = _spread(second, step)
    if not np.isfinite(sigma):
        sigma = _spread(np.diff(x) / np.sqrt(2.0), step)
    if sigma <= _ROUNDING * np.abs(x).max():
        sigma = 0.0  # a ramp in equal steps
    sigma = max(sigma, step / np.sqrt(12.0)) if np.isfinite(sigma) else np.nan
    first = _spread(np.diff(fresh)[quiet[1:]] / np.sqrt(2.0), step)
    lag1 = 1.0 - (first / sigma) ** 2 if sigma > 0 and np.isfinite(first) else 0.0
    return sigma, min(max(lag1, -0.6), 0.95), step


def _on_grid(x: Array, index: NDArray[np.intp]) -> Array:
    grid = np.full(index[-1] - index[0] + 1, np.nan)
    grid[index - index[0]] = x
    return grid


def _quiet(x: Array) -> Mask:
    """Samples in the half of the blocks that vary least, relative to their neighbours and between their halves."""
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
    """Standard deviation without outliers."""
    size = np.sort(np.abs(differences[np.isfinite(differences)]))
    if len(size) < 8:
        return np.nan
    robust = _MAD * quantile(size, 0.5)
    kept = size[: np.searchsorted(size, _TAIL * max(robust, step / 2), side="right")]
    return float(np.sqrt(kept @ kept / len(kept))) if len(kept) else robust


def quantile(ordered: Array, share: float) -> float:
    """The quantile of sorted values; np.quantile gives the same several times slower."""
    at = share * (len(ordered) - 1)
    low, high = ordered[int(at)], ordered[math.ceil(at)]
    return float(low + (at - int(at)) * (high - low))


def _step(x: Array) -> float:
    """The smallest gap between distinct values, if these are few enough to be a quantisation."""
    ordered = np.sort(x)
    gaps = np.diff(ordered)
    gaps = gaps[gaps > 0]
    if len(gaps) == 0 or len(gaps) + 1 > len(x) / 2:
        return 0.0
    gaps = gaps[gaps > _ROUNDING * max(abs(ordered[0]), abs(ordered[-1]))]
    return float(gaps.min()) if len(gaps) else 0.0


def is_held(x: Array) -> bool:
    """Whether exact repeats in a series are due to a logger that repeats a slow sensor's value.

    Distinguished from chance (repeats would be as frequent several samples apart) and from a quantised channel in
    constant air (changes between repeats would be one or two steps).
    """
    x = x[np.isfinite(x)]
    same = np.diff(x) == 0
    if len(x) < 60 or np.count_nonzero(same) < 0.1 * len(x):
        return False
    distinct = np.unique(x)
    if len(distinct) < 20:
        return False
    apart = np.mean([np.mean(x[lag:] == x[:-lag]) for lag in (11, 13, 17)])
    jumps = np.abs(np.diff(x))[~same]
    return bool(np.mean(same) > 5.0 * apart and np.median(jumps) > 5.0 * np.diff(distinct).min())


def shared_noise(values: NDArray[np.floating], valid: Mask, sigma: Array) -> NDArray[np.intp]:
    """A number per channel; equal numbers mean shared noise: copies or linear functions of each other.

    The second differences of one channel, regressed on those of the other, leave a quarter or less of the variance that
    two independent noises of levels `sigma` would: var(d_i − β d_j) = 6 (σ_i² + β² σ_j²). Two sensors in the same plume
    leave all of that variance.
    """
    group = np.arange(len(values))
    if len(values) < 2 or values.shape[1] <= 2 * _LAG:
        return group
    if values.shape[1] > _PARTS * _PART:  # a long record: a few evenly spread stretches suffice
        starts = np.linspace(0, values.shape[1] - _PART, _PARTS).astype(int)
        at = (starts[:, None] + np.arange(_PART)).ravel()
        values, valid = values[:, at], valid[:, at]
    x = np.where(valid & np.isfinite(values), values, np.nan)
    sigma = np.fmin(sigma, _finest(x))  # fast changes of the air are shared by channels, but are not noise
    usable = np.isfinite(sigma) & (sigma > 0)
    d = (x[:, : -2 * _LAG] - 2 * x[:, _LAG:-_LAG] + x[:, 2 * _LAG :]) / np.sqrt(6.0)
    known = np.isfinite(d) & usable[:, None]
    z = np.where(known, d / np.where(usable, sigma, 1.0)[:, None], 0.0)
    sign = np.clip(z, -3, 3)  # a strong plume must not determine which pairs are compared
    power = np.sqrt(np.maximum((sign**2) @ known.T.astype(float), 1e-30))
    alike = np.abs(sign @ sign.T) / (power * power.T)
    for i, j in zip(*np.nonzero(np.triu(alike > _ALIKE, 1)), strict=True):
        both = known[i] & known[j]
        a, b = z[i, both], z[j, both]
        if len(a) < 16 or not (b @ b) > 0:
            continue
        slope = (a @ b) / (b @ b)
        if (_MAD * np.median(np.abs(a - slope * b))) ** 2 < _SHARED * (1 + slope**2):
            group[group == group[j]] = group[i]
    return group


def _finest(x: Array) -> Array:
    """Noise of each channel from fourth differences (variance 70 σ² for white noise); NaN if there are too few."""
    d = np.abs(np.diff(x, n=4, axis=1)) / np.sqrt(70.0)
    known = np.isfinite(d)
    return np.array([_MAD * np.median(r[k]) if k.sum() >= 16 else np.nan for r, k in zip(d, known, strict=True)])


def level_doubt(count: NDArray[np.integer]) -> Array:
    """Factor that widens intervals whose noise level is estimated from few samples: Student's t over 1.645 (normal).

    Degrees of freedom (n − 1)/3, at least one: differences overlap, and only quiet blocks are used.
    """
    freedom = np.maximum((np.asarray(count) - 1) / 3, 1.0)
    return np.exp(np.interp(np.log(freedom), np.log(_FREEDOM), np.log(np.array(_STUDENT) / _STUDENT[-1])))
