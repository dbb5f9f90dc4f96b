"""Checks: pure functions from arrays to flag bits, thresholds as arguments; doubtful values are not flagged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pc2dae.arrays import Bits, Floats, Mask
from pc2dae.flags import (
    BELOW_BOUND,
    BELOW_DETECTION,
    FLAT_LINE,
    MISSING,
    OUT_OF_RANGE,
    SATURATED,
    STALE,
    STARTUP,
    TAPE_ADVANCE,
    THERMAL_TRANSIENT,
)
from pc2dae.noise import is_held, noise_level
from pc2dae.qc.flags import marked

_STUCK = 60  # samples of one single number from which a channel counts as stuck; shorter records may just be quiet
_FINE = 100.0  # noise in resolutions: in fine numbers like these no rest is chance


def missing(values: Floats, sentinels: Sequence[float] = ()) -> Bits:
    """Not a number, or a sentinel that the logger writes for none.

    >>> missing(np.array([1.0, np.nan, -9999.0]), [-9999.0])
    array([0, 1, 1], dtype=int32)
    """
    return marked(~np.isfinite(values) | np.isin(values, np.asarray(sentinels, dtype=np.float64)), MISSING)


def out_of_range(values: Floats, *, valid_min: float | None = None, valid_max: float | None = None) -> Bits:
    """Values the sensor cannot give: below `valid_min` or above `valid_max`, where the suite has them.

    >>> out_of_range(np.array([-1.0, 5.0, 11.0]), valid_min=0.0, valid_max=10.0)
    array([4, 0, 4], dtype=int32)
    """
    bad = np.zeros(len(values), dtype=bool)
    if valid_min is not None:
        bad |= values < valid_min
    if valid_max is not None:
        bad |= values > valid_max
    return marked(bad, OUT_OF_RANGE)


def saturated(values: Floats, *, valid_max: float | None = None) -> Bits:
    """Values exactly at the end of the sensor's range."""
    return marked(values == valid_max if valid_max is not None else np.zeros(len(values), bool), SATURATED)


def below_detection(values: Floats, *, detection_limit: float | None = None) -> Bits:
    """True but small: less than the sensor can distinguish from zero.

    >>> below_detection(np.array([0.1, 2.0]), detection_limit=0.5)
    array([64,  0], dtype=int32)
    """
    return marked(
        values < detection_limit if detection_limit is not None else np.zeros(len(values), bool), BELOW_DETECTION
    )


def stale(
    values: Floats,
    *,
    rate_hz: float = 1.0,
    native_rate_hz: float | None = None,
    companions: Sequence[Floats] = (),
) -> Bits:
    """Repeats of a value that the sensor gave before: the logger is faster than the sensor.

    `companions` are the sensor's other outputs: where one of them moved, the sample is new. A sensor known to be slower
    than the grid (`native_rate_hz`) repeats; of one that is not, repeats count only if they cannot be chance: they come
    far more often one sample apart than some samples apart, and what lies between two repeats is a jump of many steps
    (a quantised channel that rests, or creeps from step to step, is not stale).
    """
    same = _repeats(values)
    for companion in companions:
        known = np.isfinite(companion)
        moved = ~_repeats(companion) & known & np.roll(known, 1)
        same &= ~moved
    if native_rate_hz is None or native_rate_hz >= rate_hz:
        return marked(same if is_held(values.astype(np.float64)) else np.zeros(len(values), bool), STALE)
    if _step(values) > 0 and not companions:
        # A quantised sensor may measure the same again: within a run, every period's first sample may be new.
        same &= _place_in_run(same) % max(round(rate_hz / native_rate_hz), 1) != 0
    return marked(same, STALE)


def flat_line(
    values: Floats, *, sigma: float, lower_bound: float = 0.0, samples: int = 10, valid: Mask | None = None
) -> Bits:
    """The same number `samples` times in a row where noise would not allow it: the sensor or its wire has died.

    That is so in a channel whose noise is well above its quantisation, and in a channel of `_STUCK` samples and more
    that never gives another number. A channel whose noise does not reach its quantisation may rest for long and is not
    flagged, nor are zeros and values at the bound: many instruments cut there in clean air. Only `valid` samples count.
    """
    index = np.flatnonzero(np.isfinite(values) if valid is None else valid & np.isfinite(values))
    x = values[index]
    run = np.cumsum(~_repeats(x))
    is_long = (np.bincount(run)[run] if len(x) else run) >= samples
    is_stuck = len(x) >= _STUCK and bool(np.all(x == x[0]))
    flagged = np.zeros(len(values), dtype=bool)
    if is_stuck or _is_noisy(x, index, is_long, sigma):
        flagged[index] = (is_long | is_stuck) & (x != 0) & (x != lower_bound)
    return marked(flagged, FLAT_LINE)


def thermal_transient(
    temperature_c: Floats,
    *,
    rate_hz: float = 1.0,
    limit_c: float = 5.0,
    window_s: float = 60.0,
    recovery_s: float = 60.0,
) -> Bits:
    """The cell's temperature ran through more than `limit_c` within `window_s`, or did less than `recovery_s` ago."""
    window = max(round(window_s * rate_hz), 2)
    rolling = pd.Series(temperature_c).rolling(window, min_periods=2)
    fast = (rolling.max() - rolling.min() > limit_c).to_numpy()
    return marked(_held_for(fast, round(recovery_s * rate_hz)), THERMAL_TRANSIENT)


def startup(is_starting: Mask) -> Bits:
    """The instrument says it starts up, from its first sample on (later the same word means something else)."""
    known = np.asarray(is_starting, dtype=bool)
    end = len(known) if known.all() else int(np.argmin(known))
    return marked(np.arange(len(known)) < end, STARTUP)


def tape_advance(attenuation: Floats, tape_position: Floats | None = None, *, fall: float = 1.0) -> Bits:
    """The filter tape moved: attenuation fell by more than `fall`, or the tape's position changed.

    The step of attenuation to the first sample of a new spot is not a concentration, so that sample is flagged; samples
    without attenuation on the way to it belong to the advance too.
    """
    known = np.flatnonzero(np.isfinite(attenuation))
    bad = np.zeros(len(attenuation), dtype=bool)
    moved = -np.diff(attenuation[known]) > fall
    if tape_position is not None:
        moved |= np.diff(tape_position[known]) > 0.25  # a second's mean may hold both positions
    for event in np.flatnonzero(moved):
        bad[known[event] + 1 : known[event + 1] + 1] = True
    return marked(bad, TAPE_ADVANCE)


def below_bound(
    values: Floats, valid: Mask, *, sigma: float, lower_bound: float, rate_hz: float = 1.0, window_s: float = 60.0
) -> Bits:
    """The 60-s median lies more than one σ under the bound: an offset, not noise, is negative."""
    window = max(round(window_s * rate_hz), 3)
    median = pd.Series(np.where(valid, values, np.nan)).rolling(window, center=True, min_periods=window // 3).median()
    return marked((median.to_numpy() < lower_bound - sigma) & valid, BELOW_BOUND)


def _repeats(values: Floats) -> Mask:
    same = np.zeros(len(values), dtype=bool)
    same[1:] = values[1:] == values[:-1]
    return same


def _is_noisy(x: Floats, index: NDArray[np.intp], is_long: Mask, sigma: float) -> bool:
    """Whether the noise forbids long runs: `sigma` of all samples, or that between the runs where they are the most."""
    if np.isfinite(sigma) and sigma > 2.0 * _step(x):
        return True
    if np.count_nonzero(~is_long) < _STUCK:
        return False
    grid = np.full(index[-1] + 1, np.nan)
    grid[index] = np.where(is_long, np.nan, x)
    between = float(noise_level(grid[None], np.isfinite(grid)[None]).sigma[0])
    return bool(between > _FINE * np.diff(np.unique(x)).min())


def _place_in_run(same: Mask) -> NDArray[np.intp]:
    index = np.arange(len(same))
    return index - np.maximum.accumulate(np.where(same, 0, index))


def _step(values: Floats) -> float:
    """The quantisation of a channel: smallest gap of its values where they recur, 0 where each is its own."""
    finite = values[np.isfinite(values)]
    runs = finite[np.flatnonzero(np.diff(finite, prepend=np.nan) != 0)] if len(finite) else finite
    distinct = np.unique(runs)
    if len(distinct) < 2 or len(distinct) > 0.8 * len(runs):
        return 0.0
    return float(np.diff(distinct).min())


def _held_for(events: Mask, samples: int) -> Mask:
    """Events, and the `samples` after each."""
    index = np.arange(len(events))
    last = np.maximum.accumulate(np.where(events, index, -len(events) - samples))
    return index - last <= samples
