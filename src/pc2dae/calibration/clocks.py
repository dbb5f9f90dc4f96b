"""When a reading follows its reference: means on a common axis, the clocks' offset, and the sensor's t90 and delay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.arrays import Array
from pc2dae.flags import FLAT_LINE, NOT_MEASURED, SATURATED, SPIKE
from pc2dae.flight.schema import suite_of
from pc2dae.response.kernels import Kernel, respond
from pc2dae.response.payload import ChannelResponse
from pc2dae.response.stated import stated_kernel
from pc2dae.suite import Channel

Times = NDArray[np.datetime64]
SOURCE = "co-location"
_REACH_S = 1200.0  # largest clock offset searched
_OF_SENSORS = FLAT_LINE | SPIKE  # an analyser may read 0.0 for hours, and sees plumes as they are
_TREND_S = 7200.0  # slower changes say nothing about clocks
_RATIO = 1.15  # between the t90 tried
_LONGEST = 0.1  # largest t90 tried, of the record's length
_STEPS = 5.0  # smallest t90 tried, in means: what is shorter may be a difference of stamps
_BLOCKS = 6
_EXPLAINED = 0.9  # t90 must lower the variance of the residuals to this share
_MODEL = 0.08  # relative uncertainty of t90: how far a sensor in its housing is from first order


@dataclass(frozen=True)
class Alignment:
    """How a record lies in time beside its reference."""

    offset_s: float  # clock of the record minus clock of the reference
    responses: dict[str, ChannelResponse]  # of the channels whose t90 the record shows


def align(
    record: xr.Dataset, reference: xr.Dataset, columns: Mapping[str, str], time: Times, step_s: float, *,
    offset_s: float | None = None,
) -> Alignment:  # fmt: skip
    """The clocks' offset, unless it is known, and the response of each channel that is slower than its means.

    For each t90 the reference is seen through a first-order sensor and shifted; the pair that correlates best is taken
    where it stands out and does not depend on any sixth of the record. The earliest channel tells the clocks' offset,
    later ones are delayed.
    """
    suite, rate_hz = suite_of(record), suite_of(reference).rate_hz
    fine_s = min(step_s, max(1 / suite.rate_hz, 1 / rate_hz, 10.0))
    count = int(len(time) * step_s // fine_s)
    grid = time[0] + np.arange(count) * np.timedelta64(round(fine_s * 1e9), "ns")
    window = min(int(_TREND_S / fine_s), count)

    def of_reference(name: str, kernel: Kernel) -> Array:
        return _detrended(means(reference, columns[name], grid, fine_s, kernel=kernel, rate_hz=rate_hz), window)

    readings = {name: _detrended(means(record, name, grid, fine_s), window) for name in columns}
    common = offset_s
    if common is None:
        pairs = [(x, of_reference(name, stated_kernel(suite[name]))) for name, x in readings.items()]
        common = _offset(pairs, min(int(_REACH_S / fine_s), count // 2)) * fine_s
    longest = min(_LONGEST * count, _REACH_S / fine_s)
    tried = fine_s * _STEPS * _RATIO ** np.arange(max(np.log(longest / _STEPS) / np.log(_RATIO), 0.0))
    lags = {}
    for name, x in readings.items():
        seen = {float(t): of_reference(name, Kernel(float(t))) for t in (0.0, *tried)}
        if (lag := _lag(x, seen, round(common / fine_s), fine_s)) is not None:
            lags[name] = lag
    first = min((late for _, _, late, _ in lags.values()), default=common) if offset_s is None else offset_s
    responses = {
        name: ChannelResponse(
            t90_s=round(t90, 2), t90_uncertainty_s=round(doubt, 2), delay_s=max(late - first, 0.0),
            delay_uncertainty_s=round(late_doubt, 2), source=SOURCE,
        )
        for name, (t90, doubt, late, late_doubt) in lags.items()
    }  # fmt: skip
    return Alignment(first, {name: response for name, response in responses.items() if response.is_usable})


def known_kernel(channel: Channel, response: ChannelResponse | None) -> Kernel:
    """The response of a channel: that of a co-location, unless its suite states a better known one."""
    if response is None or response.t90_s is None or not response.improves(channel):
        return stated_kernel(channel)
    return Kernel(response.t90_s)


def means(
    flight: xr.Dataset, name: str, time: Times, step_s: float, *, kernel: Kernel | None = None, rate_hz: float = 1.0
) -> Array:
    """Means of observed samples per step; of a reference as a sensor with this kernel would see it."""
    bad = NOT_MEASURED | SATURATED if kernel is None else (NOT_MEASURED | SATURATED) & ~_OF_SENSORS
    values = np.where(flight[f"qc_{name}"].values & bad, np.nan, flight[name].values.astype(np.float64))
    if kernel is not None and kernel.t90_s * rate_hz >= 0.5:
        known = np.flatnonzero(np.isfinite(values))
        if len(known):
            filled = np.interp(np.arange(len(values)), known, values[known])
            values = np.where(np.isfinite(values), respond(filled, kernel, rate_hz), np.nan)
    return averages(flight["time"].values, values, time, step_s)


def averages(at: Times, values: Array, time: Times, step_s: float) -> Array:
    """Means of the finite values `at` times, per step."""
    cell = ((at - time[0]) // np.timedelta64(round(step_s * 1e9), "ns")).astype(np.int64)
    use = (cell >= 0) & (cell < len(time)) & np.isfinite(values)
    count = np.bincount(cell[use], minlength=len(time))
    total = np.bincount(cell[use], weights=values[use], minlength=len(time))
    return np.asarray(np.divide(total, count, where=count > 0, out=np.full(len(time), np.nan)))


def correlation(late: Array, early: Array, shift: int = 0) -> float:
    """Correlation of two series, one of them `shift` samples later; 0 where fewer than 20 are common."""
    return float(_correlations(late, early, shift)[-1])


def _offset(pairs: list[tuple[Array, Array]], reach: int) -> int:
    """Shift at which readings follow the reference best; 0 if none stands out."""
    shifts = np.arange(-reach, reach + 1)
    strength = np.array([np.mean([abs(correlation(x, y, int(k))) for x, y in pairs]) for k in shifts])
    best = int(np.argmax(strength))
    is_clear = strength[best] > 1.05 * strength[reach] and 0 < best < len(shifts) - 1
    return int(shifts[best]) if is_clear else 0


def _lag(
    reading: Array, seen: Mapping[float, Array], shift: int, step_s: float
) -> tuple[float, float, float, float] | None:
    """t90, its uncertainty, shift and its uncertainty [s]; None where the record does not show them.

    Uncertainties are of a jackknife over sixths of the record.
    """
    tried = list(seen)
    if len(tried) < 4:
        return None
    shifts = np.arange(shift - int(tried[-1] / step_s) - 1, shift + 3)
    table = np.zeros((len(tried), len(shifts), _BLOCKS + 1))
    for row, (t90, y) in enumerate(seen.items()):
        for k in np.flatnonzero(shifts >= shift - t90 / step_s - 2):
            table[row, k] = np.abs(_correlations(reading, y, int(shifts[k])))
    strength, at = table.max(axis=1), table.argmax(axis=1)  # (t90, block left out; all)
    best = 1 + strength[1:].argmax(axis=0)
    if (best <= 1).any() or (best >= len(tried) - 1).any():
        return None
    if 1 - strength[best[-1], -1] ** 2 > _EXPLAINED * (1 - strength[0, -1] ** 2):
        return None
    low, middle, high = (strength[best + k, np.arange(len(best))] for k in (-1, 0, 1))
    vertex = best + 0.5 * (low - high) / np.minimum(low - 2 * middle + high, -1e-12)
    t90 = np.interp(vertex, np.arange(len(tried)), tried)
    late = shifts[at[best, np.arange(len(best))]] * step_s
    spread = np.sqrt((_BLOCKS - 1) * np.var([t90[:-1], late[:-1]], axis=1))
    doubt, late_doubt = np.hypot(spread, [_MODEL * t90[-1], step_s / 12**0.5])
    return float(t90[-1]), float(doubt), float(late[-1]), float(late_doubt)


def _correlations(late: Array, early: Array, shift: int) -> Array:
    """Correlation of all common samples but those of one sixth each, and of all."""
    a = late[max(shift, 0) : len(late) + min(shift, 0)]
    b = early[max(-shift, 0) : len(early) + min(-shift, 0)]
    some = np.isfinite(a) & np.isfinite(b)
    if some.sum() < 20:
        return np.zeros(_BLOCKS + 1)
    which = (np.flatnonzero(some) * _BLOCKS) // len(a)
    x, y = a[some] - a[some].mean(), b[some] - b[some].mean()
    parts = np.array([np.bincount(which, w, _BLOCKS) for w in (np.ones(len(x)), x, y, x * x, y * y, x * y)])
    n, sx, sy, sxx, syy, sxy = np.append(parts.sum(axis=1, keepdims=True) - parts, parts.sum(axis=1)[:, None], axis=1)
    n = np.maximum(n, 1)
    size = np.sqrt(np.maximum((sxx - sx**2 / n) * (syy - sy**2 / n), 0.0))
    return np.asarray(np.divide(sxy - sx * sy / n, size, where=size > 0, out=np.zeros(_BLOCKS + 1)))


def _detrended(series: Array, window: int) -> Array:
    known = np.isfinite(series)
    total, count = (np.convolve(x, np.ones(window), "same") for x in (np.where(known, series, 0.0), known * 1.0))
    return np.asarray(series - np.divide(total, count, where=count > 0, out=np.zeros(len(series))))
