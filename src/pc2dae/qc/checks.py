"""Quality checks: pure functions from arrays to flag bits; ambiguous values are not flagged."""

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
from pc2dae.sentinels import is_impossible

_STUCK = 60  # minimum length of a constant record to count as stuck; shorter records may just be quiet
_CHANGES, _REGULAR, _LARGEST = 20, 0.995, 10  # changes of value, share of them at every k-th sample, and largest k
_FINE = 100.0  # noise-to-resolution ratio above which repeated values cannot be chance


def missing(values: Floats, sentinels: Sequence[float] = ()) -> Bits:
    """Flag non-finite values and sentinels.

    >>> missing(np.array([1.0, np.nan, -9999.0]), [-9999.0])
    array([0, 1, 1], dtype=int32)
    """
    return marked(~np.isfinite(values) | np.isin(values, np.asarray(sentinels, dtype=np.float64)), MISSING)


def out_of_range(values: Floats, *, valid_min: float | None = None, valid_max: float | None = None) -> Bits:
    """Flag values that cannot be readings: below `valid_min`, or too far above `valid_max` (`sentinels`), if given.

    >>> out_of_range(np.array([-1.0, 5.0, 11.0, 101.0]), valid_min=0.0, valid_max=10.0)
    array([4, 0, 0, 4], dtype=int32)
    """
    bad = np.zeros(len(values), dtype=bool)
    if valid_min is not None:
        bad |= values < valid_min
    if valid_max is not None:
        bad |= is_impossible(values, valid_max)
    return marked(bad, OUT_OF_RANGE)


def saturated(values: Floats, *, valid_max: float | None = None) -> Bits:
    """Flag values at or above the upper end of the sensor's range, which are lower limits of the air.

    >>> saturated(np.array([9.0, 10.0, 11.0]), valid_max=10.0)
    array([ 0, 32, 32], dtype=int32)
    """
    return marked(values >= valid_max if valid_max is not None else np.zeros(len(values), bool), SATURATED)


def below_detection(values: Floats, *, detection_limit: float | None = None) -> Bits:
    """Flag values below the detection limit.

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
    ends: Sequence[float | None] = (),
) -> Bits:
    """Flag repeats of the sensor's previous value, which occur if the logger samples faster than the sensor.

    `companions` are the sensor's other outputs; a sample is new where one of them changed. Repeats are flagged for a
    sensor known to be slower than the grid (`native_rate_hz`). Otherwise they are flagged only if they cannot be
    chance: equal values are far more frequent at a lag of one sample than at longer lags, and values between repeats
    differ by many quantisation steps (a quantised channel that is constant or changes by single steps is not stale).
    Zeros and the `ends` of the sensor's range are observations however often they repeat: in clean air a particle
    counter measures zero again and again, and a saturated sensor its highest value. In a record that was written on a
    finer grid, where values change at every k-th sample only, all others are repeats.
    """
    every, first = written_every(values)
    if every > 1:
        own, again = slice(first, None, every), _repeats(values)
        bits = marked(again & (np.arange(len(values)) % every != first), STALE)
        native = None if native_rate_hz is None or native_rate_hz * every >= rate_hz else native_rate_hz
        thinned = [series[own] for series in companions]
        bits[own] = stale(values[own], rate_hz=rate_hz / every, native_rate_hz=native, companions=thinned, ends=ends)
        return bits
    same = _repeats(values) & ~np.isin(values, [0.0, *(end for end in ends if end is not None)])
    for companion in companions:
        known = np.isfinite(companion)
        moved = ~_repeats(companion) & known & np.roll(known, 1)
        same &= ~moved
    if native_rate_hz is None or native_rate_hz >= rate_hz:
        return marked(same if is_held(values.astype(np.float64)) else np.zeros(len(values), bool), STALE)
    if _step(values) > 0 and not companions:
        # A quantised sensor may measure the same value twice: the first sample of each period may be new.
        same &= _place_in_run(same) % max(round(rate_hz / native_rate_hz), 1) != 0
    return marked(same, STALE)


def written_every(values: Floats) -> tuple[int, int]:
    """Every how many samples the values of a record change, and at which; 1 unless it was written on a finer grid.

    >>> written_every(np.repeat(np.random.default_rng(0).normal(size=40), 2))
    (2, 0)
    """
    known = np.isfinite(values)
    changes = np.flatnonzero(~_repeats(values) & known & np.append(False, known[:-1]))
    rises = np.count_nonzero(values[changes] > values[changes - 1])
    is_ramp = min(rises, len(changes) - rises) < _CHANGES / 4  # whose steps are regular too
    adjacent = np.count_nonzero(np.diff(changes) == 1)  # of two neighbours, at most one is a k-th sample
    if is_ramp or len(changes) < _CHANGES or adjacent > 2 * (1 - _REGULAR) * len(changes):
        return 1, 0
    for every in range(_LARGEST, 1, -1):
        count = np.bincount(changes % every, minlength=every)
        if count.max() >= _REGULAR * len(changes):
            return every, int(count.argmax())
    return 1, 0


def flat_line(
    values: Floats, *, sigma: float, lower_bound: float = 0.0, samples: int = 10, valid: Mask | None = None
) -> Bits:
    """Flag runs of at least `samples` equal values that the noise rules out, as from a failed sensor or wire.

    Applies to channels whose noise is well above their quantisation, and to channels that are constant over `_STUCK` or
    more samples. Channels with noise below their quantisation may be constant for long and are not flagged; neither are
    zeros and values at the bound, where many instruments clip in clean air. Only `valid` samples are considered.
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
    """Flag samples up to `recovery_s` after the cell temperature varied by more than `limit_c` within `window_s`."""
    window = max(round(window_s * rate_hz), 2)
    rolling = pd.Series(temperature_c).rolling(window, min_periods=2)
    fast = (rolling.max() - rolling.min() > limit_c).to_numpy()
    return marked(_held_for(fast, round(recovery_s * rate_hz)), THERMAL_TRANSIENT)


def startup(is_starting: Mask) -> Bits:
    """Flag the start-up reported by the instrument; only from the first sample, as the status is ambiguous later."""
    known = np.asarray(is_starting, dtype=bool)
    end = len(known) if known.all() else int(np.argmin(known))
    return marked(np.arange(len(known)) < end, STARTUP)


def tape_advance(attenuation: Floats, tape_position: Floats | None = None, *, fall: float = 1.0) -> Bits:
    """Flag filter tape advances: attenuation dropped by more than `fall`, or the tape position changed.

    The first sample of a new spot is flagged, because its attenuation step is not a concentration, and so are preceding
    samples without attenuation.
    """
    known = np.flatnonzero(np.isfinite(attenuation))
    bad = np.zeros(len(attenuation), dtype=bool)
    moved = -np.diff(attenuation[known]) > fall
    if tape_position is not None:
        moved |= np.diff(tape_position[known]) > 0.25  # a 1-s mean may mix both positions
    for event in np.flatnonzero(moved):
        bad[known[event] + 1 : known[event + 1] + 1] = True
    return marked(bad, TAPE_ADVANCE)


def below_bound(
    values: Floats, valid: Mask, *, sigma: float, lower_bound: float, rate_hz: float = 1.0, window_s: float = 60.0
) -> Bits:
    """Flag samples whose 60-s median is more than 1 σ below the bound, which indicates an offset rather than noise."""
    if not np.any((values < lower_bound - sigma) & valid):
        return np.zeros(len(values), np.int32)
    window = max(round(window_s * rate_hz), 3)
    median = pd.Series(np.where(valid, values, np.nan)).rolling(window, center=True, min_periods=window // 3).median()
    return marked((median.to_numpy() < lower_bound - sigma) & valid, BELOW_BOUND)


def _repeats(values: Floats) -> Mask:
    same = np.zeros(len(values), dtype=bool)
    same[1:] = values[1:] == values[:-1]
    return same


def _is_noisy(x: Floats, index: NDArray[np.intp], is_long: Mask, sigma: float) -> bool:
    """Whether the noise rules out long runs: `sigma` of all samples or, if runs dominate, the noise between them."""
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
    """Quantisation step: smallest difference between distinct values if values recur, otherwise 0."""
    finite = values[np.isfinite(values)]
    runs = finite[np.flatnonzero(np.diff(finite, prepend=np.nan) != 0)] if len(finite) else finite
    distinct = np.unique(runs)
    if len(distinct) < 2 or len(distinct) > 0.8 * len(runs):
        return 0.0
    return float(np.diff(distinct).min())


def _held_for(events: Mask, samples: int) -> Mask:
    """Mask of events and the `samples` after each."""
    index = np.arange(len(events))
    last = np.maximum.accumulate(np.where(events, index, -len(events) - samples))
    return index - last <= samples
