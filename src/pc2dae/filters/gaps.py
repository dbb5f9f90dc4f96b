"""Records with holes: what a filter that needs every sample is given, and a slow sensor's own clock."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pc2dae.arrays import Array, Floats, Mask


def observed(values: Floats, valid: Mask) -> tuple[Array, Mask]:
    """`values` as float64 with 0 where nothing was observed, and where something was: marked valid and finite."""
    ok = np.asarray(valid, bool) & np.isfinite(values)
    return np.where(ok, values, 0.0).astype(np.float64), ok


def fill(values: Floats, valid: Mask) -> Array:
    """Straight lines across gaps, the first and last observation held beyond the ends; NaN where a channel has none."""
    x, ok = observed(values, valid)
    filled = np.full(x.shape, np.nan)
    steps = np.arange(x.shape[-1])
    for row, series, seen in zip(filled, x, ok, strict=True):
        if seen.any():
            row[:] = np.interp(steps, steps[seen], series[seen])
    return filled


def at_native_rate(values: Floats, valid: Mask, smooth: Callable[[Array, Mask], Array]) -> Array:
    """`smooth` applied on each sensor's own clock, with straight lines between its ticks.

    A sensor at 0.5 Hz on a 1 Hz grid is stale every second sample; interpolating it first would turn its white noise
    red and mislead every threshold that is set by the noise. Channels of one clock are smoothed together.
    """
    x, ok = observed(values, valid)
    filled = fill(x, ok)
    result = np.full(x.shape, np.nan)
    steps = np.arange(x.shape[-1])
    clocks: dict[tuple[int, int], list[int]] = {}
    for channel, seen in enumerate(ok):
        if seen.any():
            clocks.setdefault(_clock(seen), []).append(channel)
    for (stride, phase), channels in clocks.items():
        ticks = slice(phase, None, stride)
        smoothed = smooth(filled[channels, ticks], ok[channels, ticks])
        for channel, row in zip(channels, smoothed, strict=True):
            result[channel] = np.interp(steps, steps[ticks], row)
    return result


def _clock(seen: Mask) -> tuple[int, int]:
    """Samples between a sensor's ticks, and which sample is the first."""
    at = np.flatnonzero(seen)
    stride = max(int(np.median(np.diff(at))), 1) if len(at) > 1 else 1
    return stride, int(np.argmax(np.bincount(at % stride, minlength=stride)))
