"""Simulated electrochemical boards: electrode voltages from gas concentrations (inverse of AAN 803), with errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from pc2dae.arrays import Array
from pc2dae.calibration.electrochemical import coefficients, compensate_cell, sensitivity
from pc2dae.flags import FLAT_LINE, MISSING, SPIKE
from pc2dae.flight.stream import Stream
from pc2dae.simulate.atmosphere import Air
from pc2dae.simulate.clocks import lost_seconds, own_clock, response_on_seconds, sampling
from pc2dae.simulate.payload import (
    BOARDS,
    DAILY_ZERO,
    NOISE_PPB,
    ZERO_PPB,
    Ageing,
    GasCell,
    Sheet,
    fixed_zeros,
    make_cells,
)
from pc2dae.simulate.plan import UTC_OFFSET_MIN, FlightPlan
from pc2dae.simulate.plumes import Smoke
from pc2dae.simulate.record import InstrumentRecord

DOUBLING_C = 10.0  # temperature increase that doubles the zero current
AUXILIARY_NOISE = 0.25  # relative to the working electrode
STUCK_CHANCE = 0.04  # per cell and flight
FAILED_READS = 0.002  # share of rows with a failed conversion


@dataclass(frozen=True)
class Electrodes:
    """Noise-free electrode voltages of one cell at each fine time step [mV]."""

    we: Array
    ae: Array

    def shifted(self, zero_mv: Array | float) -> Electrodes:
        """The same with the zero of the working electrode shifted."""
        return Electrodes(self.we + zero_mv, self.ae)


def fly_boards(
    plan: FlightPlan, air: Air, smoke: Smoke, ageing: dict[str, Ageing] | None = None
) -> list[InstrumentRecord]:
    """Simulate the logs of both boards and their noise-free channels; `ageing` replaces the zero shifts of a flight."""
    cells = make_cells(plan.seed, perfect_sheets=plan.perfect_sheets)
    boards = {unit: _board_temperature(plan, air, unit) for unit in BOARDS}
    gains = {name: 1.0 if ageing is None else ageing[name].gain for name in cells}
    made = {n: _electrodes(plan, c, air, smoke, boards[c.unit], gains[n]) for n, c in cells.items()}
    shifts: dict[str, Array | float] = dict.fromkeys(cells, 0.0)
    if ageing is not None:
        shifts = {name: ageing[name].zero_ppb for name in cells}
    elif not plan.perfect_sheets:
        coarse = {n: Electrodes(*(air.second_means(v) for v in (e.we, e.ae))) for n, (e, _) in made.items()}
        mean = {unit: air.second_means(t) for unit, t in boards.items()}
        shifts = _zero_shifts(plan, cells, _read(cells, coarse, mean))
    zeros = _millivolts(cells, shifts)
    moved, instant = ({name: pair[k].shifted(zeros[name]) for name, pair in made.items()} for k in (0, 1))
    ideal = {name: air.second_means(values) for name, values in _read(cells, instant, boards).items()}
    return [
        _log(plan, air, unit, {n: c for n, c in cells.items() if c.unit == unit}, moved, ideal, boards[unit], zeros)
        for unit in BOARDS
    ]


def _board_temperature(plan: FlightPlan, air: Air, unit: str) -> Array:
    """Temperature of the Pt1000 next to the cells: chamber air plus self-heating of the board."""
    rng = plan.rng(20, ord(unit))
    own = float(rng.uniform(0.4, 1.2)) + 0.03 * air.swell(rng, tau_s=90)
    return air.lagged(air.chamber_temperature, t90_s=float(rng.uniform(1.5, 2.5))) + own


def _electrodes(
    plan: FlightPlan, cell: GasCell, air: Air, smoke: Smoke, temperature: Array, gain: Array | float
) -> tuple[Electrodes, Electrodes]:
    """WE and AE of one cell, with and without lag: gas, cross-sensitivities, humidity, drift and zero offset.

    The lag acts on the gases only; humidity and drift change the electrode's zero without it.
    """
    rng = plan.rng(21, ord(cell.unit), *cell.gas.encode())
    own = sensitivity(cell.sheet, "we_sensitivity")
    exposure = cell.sensitivity * (
        smoke.species[cell.gas] + sum(share * smoke.species[other] for other, share in cell.cross.items())
    )
    signal = own * exposure
    if cell.gas == "o3":
        signal = (
            signal + sensitivity(cell.sheet, "we_cross_sensitivity_no2") * cell.no2_sensitivity * smoke.species["no2"]
        )
    signal = gain * signal
    wetting = cell.wetting * air.lagged(np.gradient(air.humidity, air.dt_s) * 60.0, t90_s=40.0)
    drift = cell.zero_slope * (temperature - temperature[0])
    if not plan.perfect_sheets:
        drift = drift + 0.12 * ZERO_PPB[cell.gas] * air.swell(rng, tau_s=400)
    growth = 2.0 ** ((temperature - 20.0) / DOUBLING_C)
    ae = cell.sheet["ae_electronic_zero_mv"] + cell.sheet["ae_sensor_zero_mv"] * growth
    zero = coefficients(temperature, cell.sheet, cell.sensor_type)
    zero_change = own * (wetting + drift)
    lagging, instant = (
        Electrodes(zero.working_electrode(gas + zero_change, ae), ae)
        for gas in (air.lagged(signal, t90_s=cell.t90_s), signal)
    )
    return lagging, instant


def _read(
    cells: dict[str, GasCell], electrodes: dict[str, Electrodes], temperature: dict[str, Array]
) -> dict[str, Array]:
    """Channels [ppb] compensated with the factory sheets; the OX cell uses NO2 from its own board."""
    out: dict[str, Array] = {}
    for name in sorted(cells, key=lambda n: cells[n].gas == "o3"):
        cell, e = cells[name], electrodes[name]
        no2 = out[f"no2_{cell.unit}"] if cell.gas == "o3" else None
        out[name] = compensate_cell(e.we, e.ae, temperature[cell.unit], cell.sheet, cell.sensor_type, no2_ppb=no2)
    return {name: out[name] for name in cells}


def noise_ppb(cell: GasCell, cells: dict[str, GasCell]) -> float:
    """White noise of a compensated channel, one sigma per row [ppb]; O3 includes the noise of the NO2 cell."""
    own = NOISE_PPB[cell.gas]
    if cell.gas != "o3":
        return own
    ratio = sensitivity(cell.sheet, "we_cross_sensitivity_no2") / sensitivity(cell.sheet, "we_sensitivity")
    return float(np.hypot(own, ratio * noise_ppb(cells[f"no2_{cell.unit}"], cells)))


def _zero_shifts(plan: FlightPlan, cells: dict[str, GasCell], reading: dict[str, Array]) -> dict[str, Array | float]:
    """Zero shift of each channel during a flight since factory calibration [ppb], given its `reading` without it.

    Individual errors are random; the common error (weather, ageing) is chosen to give the planned share of negative
    compensated values.
    """
    rng = plan.rng(22)
    fixed = fixed_zeros(plan.seed, cells)
    own = {n: ZERO_PPB[c.gas] * (fixed[n] + rng.normal(0, DAILY_ZERO)) for n, c in cells.items()}

    def negative(common: float) -> float:
        shares = [
            ndtr(-(reading[n] + own[n] + common * ZERO_PPB[c.gas]) / noise_ppb(c, cells)).mean()
            for n, c in cells.items()
        ]
        return float(np.mean(shares))

    low, high = -6.0, 6.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if negative(middle) > plan.gas_negative else (low, middle)
    return {n: own[n] + middle * ZERO_PPB[c.gas] for n, c in cells.items()}


def _millivolts(cells: dict[str, GasCell], shift: dict[str, Array | float]) -> dict[str, Array | float]:
    """Shift of each working electrode [mV] from that of its channel [ppb]; O3 includes the shift of the NO2 cell."""
    out = {n: shift[n] * sensitivity(c.sheet, "we_sensitivity") for n, c in cells.items()}
    for name, cell in cells.items():
        if cell.gas == "o3":
            out[name] += shift[f"no2_{cell.unit}"] * sensitivity(cell.sheet, "we_cross_sensitivity_no2")
    return out


def _log(
    plan: FlightPlan,
    air: Air,
    unit: str,
    cells: dict[str, GasCell],
    electrodes: dict[str, Electrodes],
    instant: dict[str, Array],
    temperature: Array,
    zeros: dict[str, Array | float],
) -> InstrumentRecord:
    rng = plan.rng(23, ord(unit))
    clock = own_clock(rng)
    rows = sampling(
        rng, plan.samples, rate_hz=plan.row_rate_hz(1.0), jitter_s=0.03, gaps_per_hour=4.0, repeats_per_hour=2.0
    )
    t = rows.times_s
    columns: dict[str, Array] = {}
    faults: dict[str, NDArray[np.int32]] = {}
    for name, cell in cells.items():
        mv = NOISE_PPB[cell.gas] * sensitivity(cell.sheet, "we_sensitivity")
        share = coefficients(np.array(temperature.mean()), cell.sheet, cell.sensor_type).n
        white = mv / float(np.hypot(1.0, AUXILIARY_NOISE * share))
        faults[name] = lost_seconds(rows, plan.samples)
        spikes = np.zeros(len(t))
        for _ in range(rng.poisson(1.2 * plan.samples / 1500 / (plan.row_s or 1))):  # radio interference
            row = int(rng.integers(30, len(t) - 5))
            spikes[row] += rng.choice([-1, 1]) * mv * rng.uniform(8, 30)
            faults[name][int(t[row])] |= SPIKE
        we = air.at(t, electrodes[name].we) + white * rng.standard_normal(len(t)) + spikes
        ae = air.at(t, electrodes[name].ae) + AUXILIARY_NOISE * white * rng.standard_normal(len(t))
        if rng.random() < STUCK_CHANCE:  # multiplexer fault: both electrodes are stuck
            first = int(rng.integers(60, len(t) - 60))
            held = slice(first, first + int(rng.integers(12, 40)))
            we[held], ae[held] = we[first], ae[first]
            faults[name][t[held].astype(int)[1:]] |= FLAT_LINE
        failed = rng.random(len(t)) < FAILED_READS
        we[failed] = np.nan
        faults[name][t[failed].astype(int)] |= MISSING
        columns[f"{cell.gas}_we"], columns[f"{cell.gas}_ae"] = we, ae
    faults[f"o3_{unit}"] |= faults[f"no2_{unit}"]  # compensation subtracts NO2, so O3 inherits its faults
    columns["temperature"] = air.at(t, temperature) + rng.normal(0, 0.02, len(t))
    every = rows.every_s
    sampled = {n: Electrodes(air.at(every, electrodes[n].we), air.at(every, electrodes[n].ae)) for n in cells}
    noise_free = _read(cells, sampled, {unit: air.at(every, temperature)})
    sheet = _board_sheet(unit, [c.sheet for c in cells.values()])
    stream = Stream(
        "afe", unit, clock.shows(plan.start, t), columns, {c: "degC" if c == "temperature" else "mV" for c in columns},
        rows_read=len(t), calibration=sheet, serial=f"AFE-{26 if unit == 'a' else 31:06d}", source=f"afe_{unit}.csv",
        notes={"utc_offset_min": UTC_OFFSET_MIN},
    )  # fmt: skip
    return InstrumentRecord(
        stream,
        clock,
        response={n: response_on_seconds(rows, v, plan.samples) for n, v in noise_free.items()},
        instant={n: instant[n] for n in cells},
        faults=faults,
        t90_s={n: c.t90_s for n, c in cells.items()},
        facts={"true_calibration": _board_sheet(unit, [_true_sheet(c, zeros[n]) for n, c in cells.items()])},
    )


def _board_sheet(unit: str, sensors: list[Sheet]) -> Sheet:
    return {"type": "810-0023-00", "calibrated_on": "2025-04-11", "pt1000_v20": 0.312, "unit": unit, "sensors": sensors}


def _true_sheet(cell: GasCell, zero_mv: Array | float) -> Sheet:
    """Sheet that would recover the lagged ambient gas, except for cross-sensitivities and drift."""
    true = dict(cell.sheet)
    for key in ("we_electronic_zero_mv", "we_total_zero_mv"):
        true[key] += float(np.mean(zero_mv))
    true["we_sensitivity_mv_ppb"] *= cell.sensitivity
    true["we_sensitivity_na_ppb"] *= cell.sensitivity
    if cell.gas == "o3":
        for key in ("we_cross_sensitivity_no2_mv_ppb", "we_cross_sensitivity_no2_na_ppb"):
            true[key] *= cell.no2_sensitivity
    return true
