"""Readings beside a reference: the common table of a co-location, with matched clocks and lags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.arrays import Array, Mask
from pc2dae.calibration.terms import CROSS, environment_terms
from pc2dae.errors import CalibrationError
from pc2dae.flags import FLAT_LINE, NOT_MEASURED, SATURATED, SPIKE
from pc2dae.flight.schema import environment_array, suite_of
from pc2dae.response.kernels import respond
from pc2dae.response.stated import stated_kernel
from pc2dae.response.t90 import cross_terms
from pc2dae.suite import Channel, Suite, conversion

_ROWS = 2000  # a fit needs no more; longer records are averaged further
_STEP_S = 60.0  # shortest average of a long record
_SHORT_S = 3 * 3600.0  # records below this are averaged to a 2,000th of their length
_REACH_S = 1200.0  # largest clock offset searched
_PRESSURE_HPA = 30.0  # a smaller range is that of the weather, whose chance effects would be applied to heights
_OF_SENSORS = FLAT_LINE | SPIKE  # an analyser may read 0.0 for hours, and sees plumes as they are
_TREND_S = 7200.0  # slower changes say nothing about clocks
_SWAPPED = 0.1  # gain in the mean log-likelihood of two channels that follow each other's gas


@dataclass(frozen=True)
class Pairs:
    """Means of readings, of the air beside them and of environment terms, on one regular time axis."""

    time: NDArray[np.datetime64]
    step_s: float
    readings: dict[str, Array]  # channel → reading
    air: dict[str, Array]  # channel → what the reference measured of its gas, in the pair's units
    gas: dict[str, str]  # channel → name of the reference column
    units: dict[str, str]  # channel → unit of the air
    terms: dict[str, Array]  # environment term → values, NaN where not measured
    offset_s: float = 0.0  # clock of the record minus clock of the reference
    rivals: dict[str, tuple[str, ...]] = field(default_factory=dict)  # channel → channels that may interfere
    needed: dict[str, tuple[str, ...]] = field(default_factory=dict)  # concentration → terms it has in any case

    def rows(self, some: Mask | slice) -> Pairs:
        """A part of the table."""
        readings, air, terms = (
            {name: series[some] for name, series in table.items()} for table in (self.readings, self.air, self.terms)
        )
        return replace(self, time=self.time[some], readings=readings, air=air, terms=terms)

    @property
    def varying(self) -> list[str]:
        """The environment terms that were measured and vary."""
        return [term for term, x in self.terms.items() if np.isfinite(x).any() and np.nanstd(x) > 0]

    def with_ones(self, name: str, terms: tuple[str, ...], prefix: str) -> Array:
        """Design matrix of a channel: its gas, 1, then `terms`; those with `prefix` name interfering channels."""
        columns = [self.air[name], np.ones(len(self.time))]
        columns += [self.air[t.removeprefix(prefix)] if t.startswith(prefix) else self.terms[t] for t in terms]
        return np.stack(columns, axis=1)


def pair_up(
    record: xr.Dataset, reference: xr.Dataset, columns: Mapping[str, str], *, offset_s: float | None = None
) -> Pairs:
    """Bring a record and a reference (flights) to common means; `columns` gives the reference's channel for each one.

    Clocks may differ by up to 20 minutes: the shift that correlates best is taken, unless `offset_s` (of the record's
    clock) is known.
    """
    suite, standard = suite_of(record), suite_of(reference)
    start, end = _overlap(record, reference)
    length_s = (end - start) / np.timedelta64(1, "s")
    step_s = max(length_s / _ROWS, _STEP_S if length_s >= _SHORT_S else 1.0)
    rates = max(1 / suite.rate_hz, 1 / standard.rate_hz)
    step_s = float(np.ceil(max(step_s, rates)))
    time = start + np.arange(int(length_s // step_s)) * np.timedelta64(round(step_s * 1e9), "ns")
    if offset_s is None:
        offset_s = _clock_offset(record, reference, columns, time, step_s)
    moved = np.timedelta64(round(offset_s * 1e9), "ns")
    readings = {name: _means(record, name, time + moved, step_s) for name in columns}
    air = {
        name: _means(reference, column, time, step_s, as_seen_by=suite[name], rate_hz=standard.rate_hz)
        for name, column in columns.items()
    }
    along = environment_terms(environment_array(record), suite.rate_hz)
    terms = {name: _averages(record["time"].values, x, time + moved, step_s) for name, x in along.items()}
    if (
        np.isfinite(terms["pressure"]).any()
        and np.ptp(terms["pressure"][np.isfinite(terms["pressure"])]) < _PRESSURE_HPA
    ):
        del terms["pressure"]
    units = {name: standard[column].units for name, column in columns.items()}
    for name in columns:
        if (factor := conversion(units[name], suite[name].units)) is not None:
            air[name], units[name] = factor[0] * air[name] + factor[1], suite[name].units
    gas = {name: standard[column].column or column for name, column in columns.items()}
    pairs = Pairs(time, step_s, readings, air, gas, units, terms, offset_s, _rivals(suite, columns))
    known = ("temperature",) if "temperature" in pairs.varying else ()
    # Ozone follows temperature and opposes NO2: without these terms their effects would pass for the gain of a
    # concentration. What a raw signal answers to is not known beforehand.
    needed = {
        name: (*known, *(f"{CROSS}{n}" for n, _ in cross_terms(record, name) if n in columns))
        for name in columns
        if conversion(units[name], suite[name].units) is not None
    }
    pairs = replace(pairs, needed=needed)
    for name in columns:
        _check(pairs, name)
    _check_not_swapped(pairs)
    return pairs


def _rivals(suite: Suite, columns: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """For each channel, one channel for every other gas of its family, of its own instrument if there is one.

    CO and CO2 are left out: data sheets give answers of other cells to them below 0.1 %, and smoke holds so much of
    them that a coefficient found by chance in clean air would ruin every plume.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name in columns:
        family = [c.name for c in next(f for f in suite.family if f.name == suite.family_of(name)).channel]
        others = [n for n in columns if n in family and columns[n] != columns[name] and not _is_carbon(suite[n])]
        others.sort(key=lambda n: suite.instrument_of(n) != suite.instrument_of(name))
        by_gas: dict[str, str] = {}
        for other in others:
            by_gas.setdefault(columns[other], other)
        found[name] = tuple(by_gas.values())
    return found


def _is_carbon(channel: Channel) -> bool:
    return "_carbon_" in (channel.standard_name or "") or re.match(r"co2?(_|$)", channel.name.lower()) is not None


def _overlap(first: xr.Dataset, second: xr.Dataset) -> tuple[np.datetime64, np.datetime64]:
    spans = [(flight["time"].values[0], flight["time"].values[-1]) for flight in (first, second)]
    start, end = max(s for s, _ in spans), min(e for _, e in spans)
    if end - start <= np.timedelta64(60, "s"):
        said = [f"{str(s)[:16]}Z to {str(e)[:16]}Z" for s, e in spans]
        raise CalibrationError(
            f"the record ({said[0]}) and the reference ({said[1]}) do not overlap", hint="check dates and time zones"
        )
    return start, end


def _means(
    flight: xr.Dataset,
    name: str,
    time: NDArray[np.datetime64],
    step_s: float,
    *,
    as_seen_by: Channel | None = None,
    rate_hz: float = 1.0,
) -> Array:
    """Means of observed samples per step; of a reference as a slow sensor would see it."""
    bad = NOT_MEASURED | SATURATED if as_seen_by is None else (NOT_MEASURED | SATURATED) & ~_OF_SENSORS
    values = np.where(flight[f"qc_{name}"].values & bad, np.nan, flight[name].values.astype(np.float64))
    if as_seen_by is not None and (as_seen_by.t90_s or 0.0) * rate_hz >= 0.5:
        known = np.flatnonzero(np.isfinite(values))
        if len(known):
            filled = np.interp(np.arange(len(values)), known, values[known])
            values = np.where(np.isfinite(values), respond(filled, stated_kernel(as_seen_by), rate_hz), np.nan)
    return _averages(flight["time"].values, values, time, step_s)


def _averages(at: NDArray[np.datetime64], values: Array, time: NDArray[np.datetime64], step_s: float) -> Array:
    cell = ((at - time[0]) // np.timedelta64(round(step_s * 1e9), "ns")).astype(np.int64)
    use = (cell >= 0) & (cell < len(time)) & np.isfinite(values)
    count = np.bincount(cell[use], minlength=len(time))
    total = np.bincount(cell[use], weights=values[use], minlength=len(time))
    return np.asarray(np.divide(total, count, where=count > 0, out=np.full(len(time), np.nan)))


def _clock_offset(
    record: xr.Dataset, reference: xr.Dataset, columns: Mapping[str, str], time: NDArray[np.datetime64], step_s: float
) -> float:
    """Shift of the record's clock [s] at which readings follow the reference best, to a step; 0 if none stands out."""
    suite, rate_hz = suite_of(record), suite_of(reference).rate_hz
    fine_s = min(step_s, max(1 / suite.rate_hz, 1 / rate_hz, 10.0))
    count = int(len(time) * step_s // fine_s)
    grid = time[0] + np.arange(count) * np.timedelta64(round(fine_s * 1e9), "ns")
    window = min(int(_TREND_S / fine_s), count)
    pairs = [
        (
            _detrended(_means(record, n, grid, fine_s), window),
            _detrended(_means(reference, c, grid, fine_s, as_seen_by=suite[n], rate_hz=rate_hz), window),
        )
        for n, c in columns.items()
    ]
    reach = min(int(_REACH_S / fine_s), count // 2)
    shifts = np.arange(-reach, reach + 1)
    strength = np.array([np.mean([abs(_correlation(x, y, int(k))) for x, y in pairs]) for k in shifts])
    best = int(np.argmax(strength))
    is_clear = strength[best] > 1.05 * strength[reach] and 0 < best < len(shifts) - 1
    return float(shifts[best] * fine_s) if is_clear else 0.0


def _detrended(series: Array, window: int) -> Array:
    known = np.isfinite(series)
    total, count = (np.convolve(x, np.ones(window), "same") for x in (np.where(known, series, 0.0), known * 1.0))
    return np.asarray(series - np.divide(total, count, where=count > 0, out=np.zeros(len(series))))


def _correlation(late: Array, early: Array, shift: int) -> float:
    a = late[max(shift, 0) : len(late) + min(shift, 0)]
    b = early[max(-shift, 0) : len(early) + min(-shift, 0)]
    some = np.isfinite(a) & np.isfinite(b)
    if some.sum() < 20 or a[some].std() == 0 or b[some].std() == 0:
        return 0.0
    return float(np.corrcoef(a[some], b[some])[0, 1])


def _check(pairs: Pairs, name: str) -> None:
    """Refuse a reference or a reading that is empty or constant."""
    column = pairs.gas[name]
    both = np.isfinite(pairs.readings[name]) & np.isfinite(pairs.air[name])
    if both.sum() < 20:
        raise CalibrationError(
            f"{name} and '{column}' have {both.sum()} common means of {pairs.step_s:g} s, at least 20 are needed",
            hint="check the period, or the flags with `pc2dae inspect`",
        )
    if np.ptp(pairs.air[name][both]) == 0:
        raise CalibrationError(f"'{column}' is constant, {pairs.air[name][both][0]:g} {pairs.units[name]}",
                               hint="for gas of one known concentration use --intervals")  # fmt: skip
    if np.ptp(pairs.readings[name][both]) == 0:
        raise CalibrationError(f"the reading of {name} is constant", hint="check the sensor")


def _check_not_swapped(pairs: Pairs) -> None:
    """Refuse two channels that follow each other's gas better than their own; a concentration must rise with it."""

    def likelihood(name: str, of: str) -> float:
        r = _correlation(pairs.readings[name], pairs.air[of], 0)
        return -0.5 * float(np.log(max(1 - (max(r, 0.0) if name in pairs.needed else r) ** 2, 1e-9)))

    for one, other in combinations(pairs.readings, 2):
        own = likelihood(one, one) + likelihood(other, other)
        if pairs.gas[one] != pairs.gas[other] and likelihood(one, other) + likelihood(other, one) > own + _SWAPPED:
            raise CalibrationError(
                f"{one} follows '{pairs.gas[other]}', and {other} '{pairs.gas[one]}'",
                hint="swap their columns in --pair",
            )
