"""Handling of gaps and slow sensors for filters that require regularly sampled data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pc2dae.arrays import Array, Floats, Mask


def observed(values: Floats, valid: Mask) -> tuple[Array, Mask]:
    """`values` as float64 with 0 where not observed, and the mask of observations (valid and finite)."""
    ok = np.asarray(valid, bool) & np.isfinite(values)
    return np.where(ok, values, 0.0).astype(np.float64), ok


def fill(values: Floats, valid: Mask) -> Array:
    """Interpolate gaps linearly and extend the first and last observation; NaN for channels without observations."""
    x, ok = observed(values, valid)
    filled = np.full(x.shape, np.nan)
    steps = np.arange(x.shape[-1])
    for row, series, seen in zip(filled, x, ok, strict=True):
        if seen.any():
            row[:] = np.interp(steps, steps[seen], series[seen])
    return filled


def at_native_rate(values: Floats, valid: Mask, smooth: Callable[[Array, Mask], Array]) -> Array:
    """Apply `smooth` at each sensor's native rate and interpolate the result linearly.

    A 0.5 Hz sensor on a 1 Hz grid is stale at every second sample; interpolating before smoothing would make its white
    noise red and bias thresholds derived from the noise. Channels with the same rate and phase are smoothed together.
    """
    x, ok = observed(values, valid)
    filled = fill(x, ok)
    result = np.full(x.shape, np.nan)
    steps = np.arange(x.shape[-1])
    clocks: dict[tuple[int, int], list[int]] = {}
    for channel, seen in enumerate(ok):
        if seen.any():
            clocks.setdefault(clock(seen), []).append(channel)
    for (stride, phase), channels in clocks.items():
        ticks = slice(phase, None, stride)
        smoothed = smooth(filled[channels, ticks], ok[channels, ticks])
        for channel, row in zip(channels, smoothed, strict=True):
            result[channel] = np.interp(steps, steps[ticks], row)
    return result


def clock(seen: Mask) -> tuple[int, int]:
    """Stride between a sensor's observations and their phase [samples]."""
    at = np.flatnonzero(seen)
    stride = max(int(np.median(np.diff(at))), 1) if len(at) > 1 else 1
    return stride, int(np.argmax(np.bincount(at % stride, minlength=stride)))
