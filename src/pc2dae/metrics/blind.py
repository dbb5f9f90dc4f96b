"""Metrics that do not require a truth: functions on (channel, time) arrays that return one value per channel.

They cannot distinguish denoising from signal loss: a constant scores 100 % on the first two. Use them together with
`reference.py`. Input and output are compared at observed samples; sensors slower than the grid at their native rate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.metrics.welch import welch

_SHORTEST = 32  # minimum length of a gap-free segment for a spectrum [samples]


def smoothness(output: Floats, input: Floats, valid: Mask) -> Array:
    """100·(1 − TV(output)/TV(input)) [%], TV = Σ|y(t+1) − y(t)| over successive observations."""
    return _percent(_each(_variation, output, valid), _each(_variation, input, valid))


def hf_reduction(output: Floats, input: Floats, valid: Mask) -> Array:
    """100·(1 − P(output)/P(input)) [%], P the power above Nyquist/4 (Welch, Hann, 256 samples, gap-free)."""
    return _percent(_each(_fast_power, output, valid), _each(_fast_power, input, valid))


def negatives(output: Floats, valid: Mask) -> Array:
    """Share of output values that are negative or non-finite [%]; NaN for channels without observations.

    Missing values before the first or after the last observation are not counted: they cannot be estimated.
    """
    seen_before, seen_after = (np.logical_or.accumulate(valid[:, ::way], axis=1)[:, ::way] for way in (1, -1))
    finite = np.isfinite(output)
    expected = finite | (seen_before & seen_after)
    bad = expected & ~(finite & (np.asarray(output) >= 0))
    return np.where(valid.any(axis=1), 100.0 * bad.sum(axis=1) / np.maximum(expected.sum(axis=1), 1), np.nan)


def mean_10s_change(output: Floats, input: Floats, valid: Mask, sigma: Floats, *, block: int = 10) -> Array:
    """RMS change of 10-s block means in units of σ/√n, the standard error of a mean of n observations."""
    size = output.shape[-1] // block * block
    shape = (len(output), -1, block)
    ok = (valid & np.isfinite(input) & np.isfinite(output))[:, :size].reshape(shape)
    moved = np.where(ok, (np.asarray(output) - input)[:, :size].reshape(shape), 0.0).sum(axis=-1)
    count = ok.sum(axis=-1)
    some = (count > 0) & (np.asarray(sigma)[:, None] > 0)
    errors = np.divide(moved, np.sqrt(np.maximum(count, 1)) * np.asarray(sigma)[:, None], where=some,
                       out=np.zeros(count.shape))  # fmt: skip
    total = some.sum(axis=-1)
    mean = np.divide((errors**2).sum(axis=-1), total, where=total > 0, out=np.full(total.shape, np.nan))
    return np.asarray(np.sqrt(mean))


def pair_agreement(output: Floats, input: Floats, partner: Floats, valid: Mask, *, slow: int = 301) -> float:
    """RMS difference between a sensor and its raw duplicate, ratio after/before denoising; arrays are (time,).

    `output` must be computed without the partner, so that their noises are independent: 1 means no gain, √½ is the
    optimum for equal noise levels, and smoothed plumes increase the value. The slow difference between both sensors
    (median of 300 samples) is removed.
    """
    from scipy.ndimage import median_filter

    ok = valid & np.isfinite(output) & np.isfinite(input) & np.isfinite(partner)
    if np.count_nonzero(ok) < 3:
        return float("nan")
    after, before = (np.asarray(x, np.float64)[ok] - np.asarray(partner, np.float64)[ok] for x in (output, input))
    offset = median_filter(before, size=min(slow, len(before)), mode="nearest")
    spread = float(np.sqrt(np.mean((before - offset) ** 2)))
    return float(np.sqrt(np.mean((after - offset) ** 2))) / spread if spread > 0 else float("nan")


def _percent(after: Array, before: Array) -> Array:
    """100·(1 − after/before); NaN where `before` is not positive."""
    share = np.divide(after, before, where=before > 0, out=np.full(before.shape, np.nan))
    return np.asarray(100.0 * (1.0 - share))


def _each(measure: Any, values: Floats, valid: Mask) -> Array:
    return np.array([measure(np.asarray(row, np.float64), ok) for row, ok in zip(values, valid, strict=True)])


def _variation(x: Array, ok: Mask) -> float:
    return float(np.abs(np.diff(x[ok])).sum()) if np.count_nonzero(ok) > 1 else np.nan


def _fast_power(x: Array, ok: Mask) -> float:
    """Power of a record above a quarter of the Nyquist frequency of the sensor's native rate."""
    at = np.flatnonzero(ok & np.isfinite(x))
    if len(at) < _SHORTEST:
        return np.nan
    stride = int(np.median(np.diff(at)))
    edges = np.concatenate([[0], np.flatnonzero(np.diff(at) > stride) + 1, [len(at)]])
    sizes = np.diff(edges)
    power, weight = 0.0, 0
    for size in np.unique(sizes[sizes >= min(_SHORTEST, len(at))]):  # pieces of one length are transformed together
        pieces = edges[:-1][sizes == size, None] + np.arange(size)
        frequency, density = welch(x[at[pieces]])
        fast = frequency > 0.125  # cycles per sample: Nyquist/4
        power += size * float(density[:, fast].sum()) * (frequency[1] - frequency[0])
        weight += pieces.size
    return power / weight if weight else np.nan
