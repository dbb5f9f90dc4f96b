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
from pc2dae.calibration.clocks import Alignment, align, averages, correlation, known_kernel, means
from pc2dae.calibration.terms import CROSS, environment_terms
from pc2dae.errors import CalibrationError
from pc2dae.flight.schema import environment_array, suite_of
from pc2dae.response.payload import ChannelResponse
from pc2dae.response.t90 import cross_terms
from pc2dae.suite import Channel, Suite, conversion

_ROWS = 2000  # a fit needs no more; longer records are averaged further
_STEP_S = 60.0  # shortest average of a long record
_SHORT_S = 3 * 3600.0  # records below this are averaged to a 2,000th of their length
_DAY_CYCLE_S = 12 * 3600.0  # shorter records do not show how air follows temperature
_PRESSURE_HPA = 30.0  # a smaller range is that of the weather, whose chance effects would be applied to heights
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
    responses: dict[str, ChannelResponse] = field(default_factory=dict)  # of channels whose lag the record shows

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
    record: xr.Dataset,
    reference: xr.Dataset,
    columns: Mapping[str, str],
    *,
    offset_s: float | None = None,
    like: Pairs | None = None,
) -> Pairs:
    """Bring a record and a reference (flights) to common means; `columns` gives the reference's channel for each one.

    Clocks may differ by up to 20 minutes: the shift that correlates best is taken, unless `offset_s` (of the record's
    clock) is known. Clocks and lags of another part of the record, `like`, are taken from there.
    """
    suite, standard = suite_of(record), suite_of(reference)
    start, end = _overlap(record, reference)
    length_s = (end - start) / np.timedelta64(1, "s")
    step_s = max(length_s / _ROWS, _STEP_S if length_s >= _SHORT_S else 1.0)
    rates = max(1 / suite.rate_hz, 1 / standard.rate_hz)
    step_s = float(np.ceil(max(step_s, rates)))
    time = start + np.arange(int(length_s // step_s)) * np.timedelta64(round(step_s * 1e9), "ns")
    if like is None:
        found = align(record, reference, columns, time, step_s, offset_s=offset_s)
    else:
        found = Alignment(like.offset_s, like.responses)
    moved, lags = np.timedelta64(round(found.offset_s * 1e9), "ns"), found.responses
    readings, air = {}, {}
    for name, column in columns.items():
        late = round(lags[name].delay_s * 1e9) if name in lags else 0
        readings[name] = means(record, name, time + moved + np.timedelta64(late, "ns"), step_s)
        kernel = known_kernel(suite[name], lags.get(name))
        air[name] = means(reference, column, time, step_s, kernel=kernel, rate_hz=standard.rate_hz)
    along = environment_terms(environment_array(record), suite.rate_hz)
    terms = {name: averages(record["time"].values, x, time + moved, step_s) for name, x in along.items()}
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
    pairs = Pairs(
        time, step_s, readings, air, gas, units, terms, found.offset_s, _rivals(suite, columns), responses=lags
    )
    known = ("temperature",) if "temperature" in pairs.varying and length_s >= _DAY_CYCLE_S else ()
    # Over a day ozone follows temperature and opposes NO2: without these terms their effects would pass for the gain
    # of a concentration. What a raw signal answers to is not known beforehand.
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
    """Refuse two channels that follow each other's gas better than their own, apart from temperature.

    Both concentrations must do so, with the right sign; raw signals together, since an OX cell answers to NO2 as well.
    """

    def likelihood(name: str, of: str) -> float:
        columns = [pairs.readings[name], pairs.air[of], *(pairs.terms[t] for t in pairs.varying if t == "temperature")]
        known = np.stack(columns)[:, np.isfinite(columns).all(axis=0)]
        rest = np.vstack([np.ones(known.shape[1]), known[2:]]).T
        reading, air = (y - rest @ np.linalg.lstsq(rest, y, rcond=None)[0] for y in known[:2])
        r = correlation(reading, air)
        return -0.5 * float(np.log(max(1 - (max(r, 0.0) if name in pairs.needed else r) ** 2, 1e-9)))

    for one, other in combinations(pairs.readings, 2):
        if pairs.gas[one] == pairs.gas[other]:
            continue
        better = [likelihood(a, b) - likelihood(a, a) for a, b in ((one, other), (other, one))]
        is_raw = not {one, other} & set(pairs.needed)
        if (min(better) > 0 or is_raw) and sum(better) > _SWAPPED:
            raise CalibrationError(
                f"{one} follows '{pairs.gas[other]}', and {other} '{pairs.gas[one]}'",
                hint="swap their columns in --pair",
            )
