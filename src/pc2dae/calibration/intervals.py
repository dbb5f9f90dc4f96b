"""Stretches of a record in air of known concentration: zero checks and span gas."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import xarray as xr

from pc2dae.arrays import Array
from pc2dae.calibration.apply import sheet_identity
from pc2dae.calibration.assumed import assumed_gain
from pc2dae.calibration.curve import Calibration, Curve
from pc2dae.errors import CalibrationError, nearest
from pc2dae.flags import BAD, FLAT_LINE, SATURATED, STALE
from pc2dae.flight.schema import observed, suite_of
from pc2dae.noise import noise_level, sum_variance
from pc2dae.suite import Suite

COLUMNS = ("start", "end", "channel", "value", "uncertainty")
_LEAST = 10  # samples in an interval
_STEADY_SHARE = 0.01  # of the range of a channel's plateaus: a reading that changes by less is steady
_STEADY_SIGMA = 9.0  # standard errors of a plateau's mean: three of a difference between medians of two thirds
_AS_GOOD = 1.5  # time the least sum of squares: an approach that fits as well, as residuals are not independent
_STEADY = STALE | FLAT_LINE  # what steady gas looks like
_UNUSABLE = BAD & ~_STEADY | SATURATED
_ZERO = re.compile(r"(?P<channel>\w+)=(?P<value>[^@±]+)(?:±(?P<uncertainty>[^@]+))?@(?P<start>[^/]+)/(?P<end>.+)")


@dataclass(frozen=True)
class Interval:
    """Air of known concentration, in the channel's units."""

    start: np.datetime64
    end: np.datetime64
    channel: str
    value: float
    uncertainty: float = 0.0


@dataclass(frozen=True)
class Plateau:
    """The reading of an interval."""

    interval: Interval
    reading: float  # their mean, or what they approach
    sigma: float  # its standard uncertainty
    middle: np.datetime64


@dataclass(frozen=True)
class GasCalibration:
    """A calibration with the plateaus behind it, for figures."""

    calibration: Calibration
    plateaus: dict[str, list[Plateau]]


def read_intervals(path: str | Path) -> list[Interval]:
    """Read a CSV with columns start, end, channel, value and uncertainty (0 if empty)."""
    name = Path(path).name
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CalibrationError(f"{name} cannot be read: {error}") from None
    given = (line for line in lines if line.strip() and not line.startswith("#"))
    table = csv.DictReader(given, skipinitialspace=True)
    if missing := [c for c in COLUMNS[:4] if c not in (table.fieldnames or ())]:
        raise CalibrationError(f"{name} has no column '{missing[0]}'", hint=f"columns are {','.join(COLUMNS)}")
    found = []
    for number, row in enumerate(table, 1):
        where = f"{name}, row {number}"
        start, end = (stamp(row[key], where) for key in ("start", "end"))
        value, doubt = _number(row["value"], where), _number(row.get("uncertainty") or "0", where)
        found.append(_checked(Interval(start, end, str(row["channel"]).strip(), value, doubt), where))
    if not found:
        raise CalibrationError(f"{name} has no interval")
    return found


def parse_interval(text: str) -> Interval:
    """An interval written as CHANNEL=VALUE@START/END or CHANNEL=VALUE±UNCERTAINTY@START/END.

    >>> parse_interval("o3_a=34±2@2025-10-06T16:00Z/2025-10-06T16:03Z").value
    34.0
    """
    where = f"--zero {text}"
    parts = _ZERO.fullmatch(text.strip())
    if parts is None:
        raise CalibrationError(f"{where} is not CHANNEL=VALUE@START/END",
                               hint="as in o3_a=34±2@2025-10-06T16:00Z/2025-10-06T16:03Z")  # fmt: skip
    start, end = (stamp(parts[key], where) for key in ("start", "end"))
    value, doubt = _number(parts["value"], where), _number(parts["uncertainty"] or "0", where)
    return _checked(Interval(start, end, parts["channel"], value, doubt), where)


def plateaus(flight: xr.Dataset, intervals: Sequence[Interval]) -> dict[str, list[Plateau]]:
    """Mean readings of each channel's intervals; an unknown channel or an interval without samples is an error."""
    suite = suite_of(flight)
    found: dict[str, list[Plateau]] = {}
    for one in intervals:
        if one.channel not in suite.names:
            raise CalibrationError(f"the flight has no channel '{one.channel}'", hint=nearest(one.channel, suite.names))
        values = flight[one.channel].values.astype(np.float64)
        _, inside = _samples(flight, one)
        noise = noise_level(values[None], observed(flight, one.channel)[None])
        sigma = np.sqrt(np.nan_to_num(sum_variance(noise.sigma[0], noise.lag1[0])) / len(inside))
        middle = one.start + (one.end - one.start) // 2
        found.setdefault(one.channel, []).append(Plateau(one, _mean(inside), float(sigma), middle))
    return {name: sorted(group, key=lambda p: p.middle) for name, group in found.items()}


def _samples(flight: xr.Dataset, one: Interval) -> tuple[Array, Array]:
    """Times [s] and values of an interval's usable samples."""
    time, values = flight["time"].values, flight[one.channel].values.astype(np.float64)
    usable = (flight[f"qc_{one.channel}"].values & _UNUSABLE) == 0
    inside = (time >= one.start) & (time <= one.end) & usable & np.isfinite(values)
    if inside.sum() < _LEAST:
        raise CalibrationError(
            f"{one.channel}: {inside.sum()} usable samples from {str(one.start)[:19]}Z to {str(one.end)[:19]}Z",
            hint=f"at least {_LEAST} are needed; the record covers {str(time[0])[:19]}Z to {str(time[-1])[:19]}Z",
        )
    return (time[inside] - one.start) / np.timedelta64(1, "s"), values[inside]


def _settled(record: xr.Dataset, group: Sequence[Plateau], units: str) -> list[Plateau]:
    """Plateaus of span gas with the reading that those still rising or falling approach.

    r(t) = r∞ + b·exp(−t/τ). Of a plateau that wanders and then settles, the last third counts; one whose end does not
    tell r∞ is refused.
    """
    readings = [p.reading for p in group]
    scale = float(np.ptp(readings)) or abs(readings[0])
    done = []
    for p in group:
        t, x = _samples(record, p.interval)
        third, steady = len(t) // 3, max(_STEADY_SHARE * scale, _STEADY_SIGMA * p.sigma)
        if abs(float(np.median(x[-third:]) - np.median(x[:third]))) <= steady:
            done.append(p)
            continue
        fits = []
        for tau in np.geomspace(t[1] - t[0], 2 * (t[-1] - t[0]), 60):
            basis = np.stack([np.ones(len(t)), np.exp(-t / tau)], axis=1)
            line, *_ = np.linalg.lstsq(basis, x, rcond=None)
            fits.append((float(np.sum((x - basis @ line) ** 2)), float(line[0])))
        least, end = min(fits)
        near = [limit for left, limit in fits if left <= _AS_GOOD * least]  # time constants that fit as well
        doubt = float(np.hypot(np.ptp(near), p.sigma))
        if doubt <= steady and abs(end - np.median(x[-third:])) <= 2 * steady:
            done.append(replace(p, reading=end, sigma=doubt))
            continue
        slope = float(np.polyfit(t[-third:], x[-third:], 1)[0])
        if abs(slope) * (t[-1] - t[-third]) > steady / 3:
            raise CalibrationError(
                f"{p.interval.channel}: in known gas from {str(p.interval.start)[:19]}Z on the reading still changes by"
                f" {slope:+.2g} {units} per second at the end",
                hint="let the interval begin when the reading is steady, or leave it out",
            )
        done.append(replace(p, reading=_mean(x[-third:]), sigma=3**0.5 * p.sigma))  # it was not steady at first
    return done


def fit_intervals(
    record: xr.Dataset,
    intervals: Sequence[Interval],
    units: Mapping[str, str],
    *,
    data: Mapping[str, str] | None = None,
) -> GasCalibration:
    """Gain and zero of each channel from span gas and zero air; `units` of channels that are raw signals.

    A channel with one concentration only keeps its factory gain of 1, uncertain as `assumed_gain` states.
    """
    suite = suite_of(record)
    found = {n: _settled(record, group, suite[n].units) for n, group in plateaus(record, intervals).items()}
    curves = {
        name: _curve(record, suite, name, group, units.get(name, suite[name].units)) for name, group in found.items()
    }
    period = utc(min(i.start for i in intervals)), utc(max(i.end for i in intervals))
    made = Calibration(method="intervals", suite=suite.name, period=period, data=dict(data or {}), channels=curves)
    return GasCalibration(made, found)


def _curve(record: xr.Dataset, suite: Suite, name: str, group: Sequence[Plateau], units: str) -> Curve:
    """Line through plateaus, weighed by the uncertainties of both axes, with a factory gain as one more observation."""
    value, doubt = (np.array([getattr(p.interval, key) for p in group]) for key in ("value", "uncertainty"))
    reading, sigma = (np.array([getattr(p, key) for p in group]) for key in ("reading", "sigma"))
    is_air = units == suite[name].units
    factory = assumed_gain(suite[name]) if is_air else 0.0
    if np.ptp(value) == 0 and not factory:
        raise CalibrationError(
            f"{name}: one concentration, {value[0]:g} {units}, does not give a gain",
            hint="add zero air or a second gas",
        )
    centre = float(value.mean())
    gain = float(np.polyfit(value, reading, 1)[0]) if np.ptp(value) > 0 else 1.0
    if is_air:
        check_gain(gain, name, f"the intervals state in {units}", "check the unit of the values")
    design = np.stack([value - centre, np.ones(len(value))], axis=1)
    prior = np.diag([factory**-2 if factory else 0.0, 0.0])
    freedom, between = max(len(value) - 2, 1), 0.0  # variance by which plateaus scatter more than they should
    for _ in range(5):
        own = sigma**2 + (gain * doubt) ** 2 + between
        weight = 1 / np.maximum(own, 1e-12 * np.abs(reading).max() ** 2 + 1e-30)
        matrix = design.T @ (weight[:, None] * design) + prior
        line = np.linalg.solve(matrix, design.T @ (weight * reading) + prior @ np.array([1.0, 0.0]))
        gain, rest = float(line[0]), reading - design @ line
        between = max(between + float(rest @ (weight * rest) - freedom) / float(weight.sum()), 0.0)
    covariance = np.linalg.inv(matrix)
    if (shared := gain * float(np.median(doubt[value != 0] / value[value != 0])) if value.any() else 0.0) > 0:
        # Gases of one bottle share its error, which more plateaus do not reduce.
        covariance[0, 0] = max(covariance[0, 0], 1 / (shared**-2 + prior[0, 0]))
    slow = float(np.sqrt(rest @ rest / freedom)) if len(value) > 2 else float(np.sqrt(covariance[1, 1]))
    return Curve(
        units=units, reading_units=suite[name].units,
        terms={"gain": gain, "zero": float(line[1])},
        covariance=covariance.tolist(),
        centre={"air": centre}, range={"air": (float(value.min()), float(value.max()))},
        residual=slow / abs(gain), slow=slow, wander=slow, ageing=slow, identity=sheet_identity(record, suite, name),
    )  # fmt: skip


def check_gain(gain: float, name: str, against: str, hint: str) -> None:
    """Refuse a gain of concentrations that only a wrong unit or column explains."""
    if not 0.2 < gain < 5:
        raise CalibrationError(f"{name} reads {gain:.3g} times what {against}", hint=hint)


def utc(time: np.datetime64) -> datetime:
    """A time of a flight with its zone."""
    return datetime.fromtimestamp(int(time.astype("datetime64[s]").astype(int)), UTC)


def _mean(values: Array) -> float:
    """Mean without the tenth of samples at either end, which spikes would move."""
    low, high = np.quantile(values, [0.1, 0.9])
    return float(values[(values >= low) & (values <= high)].mean())


def stamp(text: object, where: str) -> np.datetime64:
    """A time with its zone, in UTC; `where` names it in errors."""
    try:
        when = datetime.fromisoformat(str(text).strip())
    except ValueError:
        raise CalibrationError(f"{where}: '{text}' is not a time", hint="write 2025-10-06T16:00:00Z") from None
    if when.tzinfo is None:
        raise CalibrationError(f"{where}: '{text}' has no time zone", hint="add Z for UTC, or an offset such as -06:00")
    return np.datetime64(when.astimezone(UTC).replace(tzinfo=None), "ns")


def _number(text: object, where: str) -> float:
    try:
        value = float(str(text))
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise CalibrationError(f"{where}: '{text}' is not a number")
    return value


def _checked(interval: Interval, where: str) -> Interval:
    if interval.end <= interval.start:
        raise CalibrationError(f"{where}: it ends before it starts")
    if interval.uncertainty < 0:
        raise CalibrationError(f"{where}: uncertainty {interval.uncertainty:g} is negative")
    return interval
