"""Real records of a slow sensor beside a fast one: kernel and calibration from one part, the other part to be scored.

The fast instrument is the truth: its mean over each interval of the slow one, after the difference of the two clocks
was removed. Kernel, clock difference, gain and offset are those of least squares on the development part alone.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import xarray as xr

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "real"))
from real_data import ABSENT, DATA, RECORDS

import pc2dae
from pc2dae.arrays import Array, Mask
from pc2dae.response.kernels import LN10, Kernel, Kind, memory, respond

_EPOCH = np.datetime64("2000-01-01")


@dataclass(frozen=True)
class Fit:
    """How a slow reading follows the air: reading = offset + gain · kernel ∗ air(t − delay)."""

    kernel: Kernel
    delay_s: float  # of the slow clock behind the fast one, tubing included
    gain: float
    offset: float
    explained: float  # share of the reading's variance, on the development part


@dataclass(frozen=True)
class Pair:
    """A slow reading on a regular grid and a fast series of the same air, times in seconds."""

    time: Array
    reading: Array  # NaN where missing
    fast_time: Array
    fast: Array

    @property
    def step_s(self) -> float:
        """Interval of the slow reading."""
        return float(self.time[1] - self.time[0])

    def air(self, delay_s: float) -> Array:
        """Mean of the fast series over each interval of the slow grid, `delay_s` earlier; NaN outside its record."""
        ok = np.isfinite(self.fast)
        time, fast = self.fast_time[ok], self.fast[ok]
        total = np.append(0.0, np.cumsum(np.diff(time) * (fast[1:] + fast[:-1]) / 2))
        edges = np.append(self.time, self.time[-1] + self.step_s) - self.step_s / 2 - delay_s
        means = np.diff(np.interp(edges, time, total)) / self.step_s
        inside = (edges[:-1] >= time[0]) & (edges[1:] <= time[-1])
        return np.where(inside, means, np.nan)


@dataclass(frozen=True)
class Case:
    """A reading in the units of its truth, what is known about the sensor, and where it is scored."""

    record: str
    group: str  # cases that are summarised together
    sensor: str
    units: str
    pair: Pair
    fit: Fit
    scored: Mask
    known_from: str  # where kernel, clock and calibration come from
    averages_s: tuple[float, ...]  # averaging times that are scored, from one sample on
    lower_bound: float = 0.0
    is_drawn: bool = False
    left: str = ""  # why its lag was not corrected

    @property
    def rate_hz(self) -> float:
        """Samples per second."""
        return 1.0 / self.pair.step_s

    @property
    def reading(self) -> Array:
        """The slow sensor with the gain and offset of the development part."""
        return (self.pair.reading - self.fit.offset) / self.fit.gain

    @property
    def truth(self) -> Array:
        """The fast instrument, on the slow one's clock and grid."""
        return self.pair.air(self.fit.delay_s)


def fitted(
    pair: Pair,
    part: Mask,
    *,
    t90s_s: Array,
    delays_s: Array,
    kinds: Sequence[Kind] = ("first_order", "gaussian"),
    gain: float | None = None,
) -> Fit:
    """Least squares over kernels, response times and delays on the samples in `part`; a known `gain` is kept.

    A first-order sensor may start anywhere: its decay from there is fitted with gain and offset.
    """
    found = [
        _linear(pair, part, Kernel(float(t90), kind), float(delay), gain)
        for delay in delays_s
        for t90 in t90s_s
        for kind in kinds
    ]
    return max(found, key=lambda fit: fit.explained)


def _linear(pair: Pair, part: Mask, kernel: Kernel, delay_s: float, gain: float | None) -> Fit:
    air = pair.air(delay_s)
    known = np.flatnonzero(np.isfinite(air))
    steps = np.arange(len(air)) - known[0]
    model = respond(np.interp(np.arange(len(air)), known, air[known]), kernel, 1 / pair.step_s)
    use = part & np.isfinite(pair.reading) & np.isfinite(air)
    columns = [np.ones(len(air))]
    if kernel.kind == "first_order":
        columns.append(np.where(steps >= 0, memory(kernel.t90_s, 1 / pair.step_s) ** np.maximum(steps, 0), 0.0))
    target = pair.reading - (gain * model if gain is not None else 0.0)
    matrix = np.stack([*columns, *([model] if gain is None else [])], axis=1)[use]
    solution = np.linalg.lstsq(matrix, target[use], rcond=None)[0]
    misfit = np.var(target[use] - matrix @ solution) / np.var(pair.reading[use])
    found = gain if gain is not None else float(solution[-1])
    return Fit(kernel, delay_s, found, float(solution[0]), float(1 - misfit))


def all_cases() -> Iterator[Case]:
    """The cases of every record."""
    if not DATA.is_dir():
        sys.exit(ABSENT)
    for cases in (aircore, elt, optode, methane, stove, goamazon):
        yield from cases()


def aircore() -> Iterator[Case]:
    """AirCore and laser analyser on one drone; both are calibrated in ppb, so only an offset is fitted.

    The AirCore's clock drifts by seconds within a flight; the second case shows what that alone costs.
    """
    slow, fast = (_opened("aircore_drone", name) for name in ("RUG_ACORE_312_03.csv", "EMP_QCLAS_312_03.csv"))
    pair = Pair(_seconds(slow), slow["ch4"].values, _seconds(fast), fast["ch4"].values)
    first, delays = pair.time < (pair.fast_time[0] + pair.fast_time[-1]) / 2, np.arange(-20.0, 21.0)
    fit = fitted(pair, first, t90s_s=np.arange(4.0, 40.0), delays_s=delays, gain=1.0)
    t90, kind = fit.kernel.t90_s, fit.kernel.kind
    again = fitted(pair, ~first, t90s_s=np.array([t90]), delays_s=delays, kinds=(kind,), gain=1.0)
    case = Case("aircore_drone", "AirCore CH4", "AirCore CH4", "ppb", pair, fit, ~first, "first half of the flight",
                (2.0, 10.0, 30.0), lower_bound=-2000.0, is_drawn=True)  # fmt: skip
    yield case
    name = "AirCore CH4, clock of the scored half"
    yield replace(case, group=name, sensor=name, fit=replace(fit, delay_s=again.delay_s),
                  known_from=f"{case.known_from} (all but the clock)")  # fmt: skip


def elt() -> Iterator[Case]:
    """Two NDIR sensors beside an LI-7810 on two days; their logger's clock is minutes off."""
    delays = np.arange(180.0, 331.0, 5.0)
    first = {name: _elt_pair("03_27_23_BLUE_WHITE.daq", "03_27_23_BLUE_YELLOW.licor", name) for name in ("a", "b")}
    second = {name: _elt_pair("04_16_24_X_X.daq", "04_16_24_X_X.licor", name) for name in ("a", "b")}
    cases: dict[str, Case] = {}
    for name, pair in first.items():
        start, end = pair.fast_time[0] + delays[-1], pair.fast_time[-1]
        middle = (start + end) / 2
        part = (pair.time > start) & (pair.time < middle)
        fit = fitted(pair, part, t90s_s=np.arange(20.0, 241.0, 10.0), delays_s=delays)
        cases[name] = Case("elt_licor", "NDIR CO2, 27 March, two sensors", f"CO2 {name.upper()}, 27 March", "ppm", pair,
                           fit, pair.time >= middle, "first half of the record", (5.0, 30.0, 60.0),
                           is_drawn=name == "a")  # fmt: skip
        yield cases[name]
    for name, other in (("a", "b"), ("b", "a")):
        pair, kernel = second[name], cases[other].fit.kernel
        clock = fitted(second[other], second[other].time > 0, t90s_s=np.array([kernel.t90_s]), delays_s=delays,
                       kinds=(kernel.kind,)).delay_s  # fmt: skip
        start = pair.fast_time[0] + clock
        before = (pair.time > start) & (pair.time < start + 900.0)
        offset = np.nanmean((pair.reading - cases[name].fit.gain * pair.air(clock))[before])
        yield replace(
            cases[name],
            group="NDIR CO2, 16 April, two sensors",
            sensor=f"CO2 {name.upper()}, 16 April",
            pair=pair,
            fit=replace(cases[name].fit, delay_s=clock, offset=float(offset)),
            scored=pair.time >= start + 900.0,
            known_from="27 March (clock from the other sensor, offset from the quarter hour before the step)",
        )


def optode() -> Iterator[Case]:
    """Six optodes and one step: response and clock from the other units of the same make, calibration from plateaus.

    The truth is the mean of two fast optodes, O2 = A/tan(phase) + B (Stern-Volmer), A and B from the plateaus.
    """
    tank = _opened("optode_dunk", "test_dunk.csv.gz")
    time = _seconds(tank)
    fast = np.mean([1 / np.tan(np.radians(tank[name].values)) for name in ("pyro1", "pyro2")], axis=0)
    step = time[np.argmax(np.diff(fast))]
    near = np.abs(time - step) < 400.0
    for make, names in (("RBR", ("rbr210619", "rbr210624")), ("Aanderaa", ("aa3412", "aa3827", "aa3413", "aa3312"))):
        pairs = {name: Pair(time[near], tank[name].values[near], time, fast) for name in names}
        fits = {
            name: fitted(pair, pair.time > 0, t90s_s=np.arange(20.0, 180.0, 2.0), delays_s=np.arange(-6.0, 7.0))
            for name, pair in pairs.items()
        }
        for name, pair in pairs.items():
            others = [fit for other, fit in fits.items() if other != name]
            kernel = Kernel(float(np.median([fit.kernel.t90_s for fit in others])), others[0].kernel.kind)
            fit = Fit(kernel, float(np.median([fit.delay_s for fit in others])), 1.0, 0.0, np.nan)
            slow = tank[name].values
            steady = ((time > step - 180) & (time < step - 60)) | (time > time[-1] - 180)
            steady &= np.isfinite(fast) & np.isfinite(slow)
            scale, zero = np.polyfit(fast[steady], slow[steady], 1)
            where = f"other units of its make (its own t90 is {fits[name].kernel.t90_s:g} s)"
            yield Case("optode_dunk", f"O2 optodes, {make}, {len(names)} sensors", f"O2 {make} {name[-4:]}", "%",
                       replace(pair, fast=scale * fast + zero), fit, np.abs(pair.time - step - 90) < 150, where,
                       (1.0, 10.0, 30.0), is_drawn=name == names[0])  # fmt: skip


def methane() -> Iterator[Case]:
    """Membrane sensor towed beside a fast one, averaged so that its lag is tens of samples.

    In the laboratory it responded faster than in the colder sea: the last case shows what that t90 would give.
    """
    t90s, delays = np.arange(2000.0, 9000.0, 100.0), np.arange(-300.0, 301.0, 30.0)
    step = _means(_opened("slow_fast_methane", "Rtdetermination.csv"), 60.0)
    laboratory = fitted(step, step.time > 0, t90s_s=t90s, delays_s=delays).kernel.t90_s
    ship = _opened("slow_fast_methane", "field_data.txt.gz")
    for seconds in (120.0, 300.0):
        pair = _means(ship, seconds)
        first = pair.time < (pair.time[0] + pair.time[-1]) / 2
        fit = fitted(pair, first, t90s_s=t90s, delays_s=delays, kinds=("first_order",))
        name = f"CH4, {seconds:g} s means"
        case = Case("slow_fast_methane", f"membrane {name}", name, "ppm", pair, fit, ~first, "first half of the record",
                    (seconds, 600.0, 1200.0), is_drawn=seconds < 300)  # fmt: skip
        yield case
    label = f"{name}, t90 of the laboratory"
    yield replace(case, group=f"membrane {label}", sensor=label, fit=replace(fit, kernel=Kernel(laboratory)),
                  known_from=f"{case.known_from} (t90: laboratory)")  # fmt: skip


def stove() -> Iterator[Case]:
    """Two CO2 sensors of different speed in one duct: two hours, every fourth second."""
    smoke = _opened("stove_carbon", "A_RawData.csv.gz")
    time, fast = _seconds(smoke), smoke["co2_fast"].values.astype(np.float64)
    every = slice(None, None, 4)
    pair = Pair(time[every], smoke["co2"].values.astype(np.float64)[every], time, fast)
    first = pair.time < (pair.time[0] + pair.time[-1]) / 2
    fit = fitted(pair, first, t90s_s=np.arange(4.0, 61.0, 4.0), delays_s=np.arange(-10.0, 31.0, 2.0))
    sensor, known_from = "stove CO2, slow sensor beside fast one", "first half of the record"
    yield Case("stove_carbon", sensor, sensor, "ppm", pair, fit, ~first, known_from, (4.0, 12.0, 60.0))


def goamazon() -> Iterator[Case]:
    """Reference-grade CO and NOx of two flights through a first-order sensor, with white noise of 2 % of P98 − P2.

    Of each flight the half hour around the largest plume.
    """
    for number, name, tau_s in product((24, 28), ("co", "nox"), (3.0, 8.0)):
        air = _opened("goamazon_aircraft", f"G1_dryseason_{number}.xlsx")
        logged, at = air[name].values.astype(np.float64), np.arange(air.sizes["time"])
        top = int(np.nanargmax(np.convolve(np.nan_to_num(logged), np.ones(9), "same")))
        part = slice(max(top - 900, 0), top + 900)
        ok = np.isfinite(logged)
        clean, ok = np.interp(at, at[ok], logged[ok])[part], ok[part]
        kernel, noise = Kernel(tau_s * LN10), 0.02 * float(np.subtract(*np.quantile(clean, [0.98, 0.02])))
        noisy = respond(clean, kernel) + noise * np.random.default_rng(number).standard_normal(len(clean))
        time = _seconds(air)[part]
        steps = np.stack([time - 0.5, time + 0.5 - 1e-6], axis=1).ravel()  # constant within a sample
        pair = Pair(time, np.where(ok, noisy, np.nan), steps, clean.repeat(2))
        group = f"aircraft {name.upper()}, τ = {tau_s:g} s, two flights"
        sensor = f"{name.upper()}, flight {number}, τ = {tau_s:g} s"
        yield Case("goamazon_aircraft", group, sensor, "ppb", pair, Fit(kernel, 0.0, 1.0, 0.0, np.nan),
                   np.ones(len(clean), bool), "kernel itself", (1.0, 10.0))  # fmt: skip


def _means(flight: xr.Dataset, step_s: float) -> Pair:
    time = _seconds(flight)
    grid = np.arange(time[0] + step_s / 2, time[-1] - step_s / 2, step_s)
    slow = Pair(grid, np.empty(0), time, flight["ch4_slow"].values).air(0.0)
    return Pair(grid, slow, time, flight["ch4_fast"].values)


def _elt_pair(slow_file: str, fast_file: str, name: str) -> Pair:
    slow, fast = _opened("elt_licor", slow_file), _opened("elt_licor", fast_file)
    return Pair(_seconds(slow), slow[f"co2_{name}"].values, _seconds(fast), fast["co2"].values)


def _opened(folder: str, file: str) -> xr.Dataset:
    record = next(r for r in RECORDS if (r.folder, r.file) == (folder, file))
    with tempfile.TemporaryDirectory() as name:
        return pc2dae.open_flight(record.write(Path(name), whole=True), suite=record.suite_path, zone=record.zone)


def _seconds(flight: xr.Dataset) -> Array:
    return np.asarray((flight["time"].values - _EPOCH) / np.timedelta64(1, "s"), np.float64)
