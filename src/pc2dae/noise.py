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

from pc2dae.arrays import Array, Mask, row_quantiles

_LAG = 2  # beyond the correlation of differenced noise
_BLOCK = 16  # samples; long enough to estimate a slope, short enough to fit between plumes
_QUIET = 0.5  # share of blocks taken as quiet
_TAIL = 6.0  # robust sigmas kept: all normal noise, nearly all of Student's t with 4 degrees of freedom, no spike
_ROUNDING = 1e-9  # of the largest value: smaller differences are due to rounding
_MAD = 1.4826  # from median absolute deviation to sigma of a normal distribution
_ALIKE = 0.6  # correlation of second differences from which two channels are compared
_TOGETHER = 10_000  # samples: of a longer record one channel at a time, which bounds memory
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
    found = np.full((3, len(values)), np.nan)
    alike: dict[bytes | int, list[int]] = {}  # channels with samples at the same times are computed together
    usable = valid & np.isfinite(values)
    for row, ok in enumerate(usable):
        alike.setdefault(ok.tobytes() if values.shape[1] <= _TOGETHER else row, []).append(row)
    for rows in alike.values():
        index = np.flatnonzero(usable[rows[0]])
        found[:, rows] = _together(values[rows][:, index].astype(np.float64), index)
    return Noise(*found)


def sum_variance(sigma: float, lag1: float) -> float:
    """v = σ²(1 + 2ρ), each sample's contribution to the variance of a long sum; ρ is the noise's lag-1 correlation.

    A smoother that preserves means also preserves the errors of long sums, regardless of its strength. Differenced
    noise (ρ = −0.5) would cancel completely; a tenth of σ² is retained for the part that does not.

    >>> sum_variance(2.0, 0.0), sum_variance(2.0, -0.5)
    (4.0, 0.4)
    """
    return float(sigma**2 * max(1.0 + 2.0 * lag1, 0.1))


def _together(x: Array, index: NDArray[np.intp]) -> tuple[Array, Array, Array]:
    """Level, correlation and step of channels (channel, sample) whose samples have the same numbers `index`."""
    count, length = x.shape
    if length < 2 * _LAG + 1:
        nothing = np.full(count, np.nan)
        return nothing, nothing, nothing
    step = _step(x)
    # A sensor slower than the grid has no adjacent new samples: what counts is its own grid, if it keeps to one.
    apart = np.diff(index)
    usual = int(np.median(apart))
    is_regular = not (apart % usual).any() and np.count_nonzero(apart == usual) > (length - 1) / 2
    fresh = _on_grid(x, index // usual) if is_regular else x
    second = (fresh[:, : -2 * _LAG] - 2 * fresh[:, _LAG:-_LAG] + fresh[:, 2 * _LAG :]) / np.sqrt(6.0)
    quiet = _quiet(fresh)
    sigma = _spread(np.where(quiet[:, _LAG:-_LAG], second, np.nan), step)
    for differences in (second, np.diff(x) / np.sqrt(2.0)):
        if not np.isfinite(sigma).all():
            sigma = np.where(np.isfinite(sigma), sigma, _spread(differences, step))
    sigma[sigma <= _ROUNDING * np.abs(x).max(axis=1)] = 0.0  # a ramp in equal steps
    sigma = np.maximum(sigma, step / np.sqrt(12.0))
    first = _spread(np.where(quiet[:, 1:], np.diff(fresh), np.nan) / np.sqrt(2.0), step)
    is_known = (sigma > 0) & np.isfinite(first)
    lag1 = np.where(is_known, 1.0 - (first / np.where(is_known, sigma, 1.0)) ** 2, 0.0)
    return sigma, np.clip(lag1, -0.6, 0.95), step


def _on_grid(x: Array, index: NDArray[np.intp]) -> Array:
    grid = np.full((len(x), index[-1] - index[0] + 1), np.nan)
    grid[:, index - index[0]] = x
    return grid


def _quiet(x: Array) -> Mask:
    """Samples in the half of the blocks that vary least, relative to their neighbours and between their halves."""
    rows, length = x.shape
    count = max(length // _BLOCK, 1)
    halves = _means(x[:, : length // (2 * count) * 2 * count].reshape(rows, 2 * count, -1))
    level = _means(halves.reshape(rows, count, 2))
    beside = np.pad(np.abs(np.diff(level)), ((0, 0), (1, 1)), constant_values=np.nan)
    activity = np.fmax(np.abs(halves[:, ::2] - halves[:, 1::2]), np.fmax(beside[:, :-1], beside[:, 1:]))
    known = np.count_nonzero(~np.isnan(activity), axis=1)
    chosen = (activity <= row_quantiles(np.sort(activity), known, _QUIET)[:, None]) | (known == 0)[:, None]
    return np.asarray(chosen[:, np.minimum(np.arange(length) // (length // count), count - 1)])


def _means(x: Array) -> Array:
    """Mean of the finite values along the last axis, NaN where there is none."""
    finite = np.isfinite(x)
    count = finite.sum(axis=-1)
    return np.where(count > 0, np.where(finite, x, 0.0).sum(axis=-1) / np.maximum(count, 1), np.nan)


def _spread(differences: Array, step: Array) -> Array:
    """Standard deviation of each row without outliers, NaN for fewer than eight finite values."""
    finite = np.isfinite(differences)
    count = np.count_nonzero(finite, axis=1)
    if count.max() < 8:
        return np.full(len(differences), np.nan)
    some = finite.any(axis=0)  # of one row, only its finite values are sorted
    size = np.sort(np.compress(some, np.where(finite, np.abs(differences), np.nan), axis=1))
    robust = _MAD * row_quantiles(size, count, 0.5)
    number = np.count_nonzero(size <= (_TAIL * np.maximum(robust, step / 2))[:, None], axis=1)
    square = np.array([row[:n] @ row[:n] for row, n in zip(size, number, strict=True)])
    found = np.sqrt(square / np.maximum(number, 1))
    return np.where(count >= 8, np.where(number > 0, found, robust), np.nan)


def quantile(ordered: Array, share: float) -> float:
    """The quantile of sorted values; np.quantile gives the same several times slower."""
    at = share * (len(ordered) - 1)
    low, high = ordered[int(at)], ordered[math.ceil(at)]
    return float(low + (at - int(at)) * (high - low))


def _step(x: Array) -> Array:
    """The smallest gap between distinct values of each row, if these are few enough to be a quantisation."""
    ordered = np.sort(x)
    gaps = np.diff(ordered)
    distinct = 1 + np.count_nonzero(gaps > 0, axis=1)
    largest = np.maximum(np.abs(ordered[:, 0]), np.abs(ordered[:, -1]))
    smallest = np.where(gaps > _ROUNDING * largest[:, None], gaps, np.inf).min(axis=1)
    return np.where((distinct <= x.shape[1] / 2) & np.isfinite(smallest), smallest, 0.0)


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
    d = np.sort(np.abs(np.diff(x, n=4, axis=1)) / np.sqrt(70.0))
    known = np.count_nonzero(np.isfinite(d), axis=1)
    return np.where(known >= 16, _MAD * row_quantiles(d, known, 0.5), np.nan)


def level_doubt(count: NDArray[np.integer]) -> Array:
    """Factor that widens intervals whose noise level is estimated from few samples: Student's t over 1.645 (normal).

    Degrees of freedom (n − 1)/3, at least one: differences overlap, and only quiet blocks are used.
    """
    freedom = np.maximum((np.asarray(count) - 1) / 3, 1.0)
    return np.exp(np.interp(np.log(freedom), np.log(_FREEDOM), np.log(np.array(_STUDENT) / _STUDENT[-1])))
