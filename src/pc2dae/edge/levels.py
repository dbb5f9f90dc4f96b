"""Channel properties that a network needs: noise level, zero, and which channels share their noise.

Offline from the whole flight; live from the last 300 samples, without looking ahead. Both are a survey of a stretch of
the record; live it is repeated every ten samples, and at every sample of the first half minute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from pc2dae.arrays import Floats, Mask
from pc2dae.noise import is_held, level_doubt, noise_level, quantile, shared_noise

WINDOW = 300  # samples that a live stream surveys
STEP = 10  # samples between two surveys of a live stream …
WARMUP = 30  # … except the first ones, where the suite's noise level is used, if it has one
_MINUTE = 60  # samples
_FAR = 500.0  # σ above the bound: the range of the training scenes
_BELOW = 0.1  # σ between the lowest means and the zero: clean air is then hardly biased
_DEEP = ((5, 3.0), (15, 1.5))  # samples and σ: medians of this many samples, this far below the bound, are not noise


@dataclass(frozen=True)
class Levels:
    """Properties of channels: (channel,) for one stretch, or (channel, time)."""

    sigma: Floats  # noise level; NaN where nothing has been measured
    lag1: Floats  # its autocorrelation at one sample
    doubt: Floats  # factor on the stated uncertainty: a level from few samples may be too low
    zero: Floats  # no true value is below: the bound, or clean air if that is lower
    group: Floats  # channels of the same number share their noise
    held: Floats  # 1: a slow sensor whose logger repeats values; exact repeats are not new samples …
    lowest: Floats  # … except of this value, NaN if unknown: clean air at which the sensor clips is measured again

    @classmethod
    def filled(cls, shape: tuple[int, ...]) -> Levels:
        """Arrays of ones, to be filled."""
        return cls(*(np.ones(shape) for _ in fields(cls)))

    @classmethod
    def unused(cls, shape: tuple[int, ...]) -> Levels:
        """A placeholder for networks that use no levels; takes no memory."""
        return cls(*(np.broadcast_to(1.0, shape) for _ in fields(cls)))

    def each(self, change: Callable[[Floats], Floats]) -> Levels:
        """Apply a function to each array."""
        return Levels(*(change(array) for array in vars(self).values()))


def in_range(values: Floats, seen: Mask, high: Floats | float) -> Mask:
    """Observations (channel, time) below the end of their range, `high` (channel): a clipped plume has no noise."""
    return np.asarray(seen & (values < np.reshape(high, (-1, 1))))


def of_flight(values: Floats, seen: Mask, bound: Floats, high: Floats | float = np.inf) -> tuple[Levels, Mask]:
    """Levels (channel, time) from a whole record, and which of its samples are new measurements."""
    exact = in_range(values, seen, high)
    found = survey(values, exact, bound)
    for row in np.flatnonzero(np.isnan(found.sigma)):
        found.sigma[row] = _size(values[row], seen[row], bound[row])
    levels = found.each(lambda x: np.broadcast_to(x[:, None], values.shape))
    return levels, fresh(values, seen, levels)


def trailing(
    values: Floats, seen: Mask, bound: Floats, prior: Floats, high: Floats | float = np.inf
) -> tuple[Levels, Mask]:
    """Levels (channel, time) as in a stream, and which of its samples are new measurements."""
    levels, exact = Levels.filled(values.shape), in_range(values, seen, high)
    for t in range(values.shape[1]):
        if is_due(t):
            past = slice(max(t - WINDOW, 0), t)
            now = before(values[:, past], exact[:, past], bound, prior, number=t)
        recent = slice(max(t + 1 - WINDOW, 0), t + 1)
        put(levels, t, now, values[:, recent], exact[:, recent], bound)
    return levels, fresh(values, seen, levels)


def is_due(number: int) -> bool:
    """Whether a stream surveys its past before sample `number`."""
    return number < WARMUP or number % STEP == 0


def before(values: Floats, seen: Mask, bound: Floats, prior: Floats, *, number: int) -> Levels:
    """Levels from sample `number` on, given the samples before it (the last 300 suffice)."""
    found = survey(values, seen, bound)
    assumed = np.isfinite(prior) & (np.isnan(found.sigma) | (number < WARMUP))
    return replace(
        found,
        sigma=np.where(assumed, prior, found.sigma),
        lag1=np.where(assumed, 0.0, found.lag1),
        doubt=np.where(assumed, 1.0, found.doubt),
    )


def put(levels: Levels, at: int, now: Levels, recent: Floats, seen: Mask, bound: Floats) -> None:
    """Write the levels `now` at sample `at`; an unknown noise level is replaced by the size of the measured values.

    The zero follows readings deep below the bound at once: by the next survey, ten seconds would have been replaced by
    averages with the air before.
    """
    for array, level in zip(vars(levels).values(), vars(now).values(), strict=True):
        array[:, at] = level
    for row in np.flatnonzero(np.isnan(now.sigma)):
        levels.sigma[row, at] = _size(recent[row], seen[row], bound[row])
    count, depth = _DEEP[0]
    limit = bound - depth * levels.sigma[:, at]
    for row in np.flatnonzero(seen[:, -1] & (recent[:, -1] < limit)):
        middle = np.median(recent[row, seen[row]][-count:])
        if middle < limit[row]:
            levels.zero[row, at] = min(levels.zero[row, at], middle)


def survey(values: Floats, seen: Mask, bound: Floats) -> Levels:
    """Levels (channel,) of one stretch; σ is NaN where it cannot be determined."""
    held = np.array([is_held(x[ok]) for x, ok in zip(values, seen, strict=True)])
    new = seen & ~(_again(values, seen) & held[:, None])
    noise = noise_level(values, new)
    sigma = noise.sigma.copy()
    for row in np.flatnonzero(~(np.isfinite(sigma) & (sigma > 0))):
        x = values[row, new[row]]
        sigma[row] = np.sqrt(np.mean(np.diff(x) ** 2) / 2) if len(x) > 1 else 0.0
    sigma[~(sigma > 0)] = np.nan  # one sample, or a constant: unknown
    return Levels(
        sigma,
        np.nan_to_num(noise.lag1),
        np.where(np.isnan(sigma), 1.0, level_doubt(new.sum(axis=1))),
        _zero(values, new, np.nan_to_num(sigma), bound),
        shared_noise(values, new, sigma).astype(np.float64),
        held.astype(np.float64),
        np.array([_lowest(x[ok]) for x, ok in zip(values, new, strict=True)]),
    )


def fresh(values: Floats, seen: Mask, levels: Levels) -> Mask:
    """Observations that are new: not the exact repeats of a held sensor, apart from zeros and its lowest value."""
    is_repeat = _again(values, seen) & (levels.held > 0) & (values != 0) & (values != levels.lowest)
    return np.asarray(seen & ~is_repeat)


def _lowest(x: Floats) -> float:
    """The value at which a sensor clips: the lowest, if it was measured more than once; else NaN."""
    return float(x.min()) if len(x) and np.count_nonzero(x == x.min()) > 1 else np.nan


def _again(values: Floats, seen: Mask) -> Mask:
    """Observations that equal the sample before."""
    again = np.zeros(values.shape, bool)
    again[:, 1:] = (values[:, 1:] == values[:, :-1]) & seen[:, :-1]
    return again


def _size(x: Floats, seen: Mask, bound: float) -> float:
    """A level for a channel whose noise cannot be determined: the size of its values, NaN without any.

    One unit if all are at the bound: a level of zero would turn rounding into signal.
    """
    above = np.abs(x[seen] - bound)
    return (float(np.median(above)) or 1.0) if len(above) else np.nan


def _zero(values: Floats, seen: Mask, sigma: Floats, bound: Floats) -> Floats:
    """The zero of each channel: its bound, or its clean air if that is lower.

    The network was trained with no true value below the bound. For a sensor with a negative zero it would raise the
    clean air, by up to a third of σ, and clip the plumes: such a sensor gets its own zero, a little below the lowest
    means of a minute, and the bound applies to the bounded estimate only.
    The same holds if it is below for a few seconds only, as a cell that settles after power-on: relative to the bound,
    these samples would be treated as outliers and replaced by averages of distant ones.
    A channel that is always more than 500 σ above its bound gets a zero 500 σ below its values: the network was not
    trained beyond that.
    """
    level = np.array(bound, dtype=np.float64)
    for row, ok in enumerate(seen):
        x = values[row, ok]
        if len(x):
            width = min(_MINUTE, (len(x) + 1) // 2)
            total = np.cumsum(np.concatenate(([0.0], x - bound[row])))
            low = bound[row] + quantile(np.sort(total[width:] - total[:-width]), 0.05) / width - _BELOW * sigma[row]
            level[row] = min(low, max(bound[row], low - _FAR * sigma[row]))
        for count, depth in _DEEP:
            is_low = x < bound[row] - depth * sigma[row]
            if len(x) >= count and is_low.any():
                below = np.convolve(is_low, np.ones(count), "valid")
                deep = below > count / 2  # the median is below too
                if deep.any():
                    level[row] = min(level[row], np.median(sliding_window_view(x, count)[deep], axis=1).min())
    return level
