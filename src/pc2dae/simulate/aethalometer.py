"""Simulated MA200 aethalometer: black carbon is proportional to the change in filter attenuation per second."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array, Mask
from pc2dae.flags import MISSING, STARTUP, TAPE_ADVANCE
from pc2dae.flight.stream import Stream
from pc2dae.simulate.atmosphere import Air
from pc2dae.simulate.clocks import Clock, Sampling, lost_seconds, own_clock, response_on_seconds, sampling
from pc2dae.simulate.path import Path, latitude_longitude
from pc2dae.simulate.plan import UTC_OFFSET_MIN, FlightPlan
from pc2dae.simulate.plumes import Smoke
from pc2dae.simulate.processes import DT_S, at, lagged, second_means, swell
from pc2dae.simulate.record import InstrumentRecord

SPOT_M2 = np.pi * 0.0015**2  # 3 mm spot
C_REF = 1.3  # multiple scattering in the filter
# name: wavelength [nm], mass attenuation [m2 g-1] (AethLabs), detector counts at a clean spot, photoelectrons per count
LAMPS = {
    "uv": (375.0, 24.069, 880_000.0, 1.5e4),
    "blue": (470.0, 19.070, 910_000.0, 3.4e4),
    "green": (528.0, 17.028, 900_000.0, 4.5e4),
    "red": (625.0, 14.091, 930_000.0, 9.0e4),
    "ir": (880.0, 10.120, 950_000.0, 2.0e5),
}
FLOWS_ML_MIN = (100.0, 50.0)  # through spot 1 and spot 2
ADDITIVE_COUNTS = 1.2  # electronic noise
FLOW_NOISE = 0.012  # relative; source of signal-dependent noise
START_UP_S = 22
ADVANCE_S = 12  # tape movement and lamp settling
SETTLING_S = 4.0  # time constant of a new spot
DUAL_SPOT, EXTERNAL_POWER, STARTING = 64, 131_072, 2  # bits of the status word
CHANNELS = {"bc_uv_1": ("uv", 0), "bc_uv_2": ("uv", 1), "bc_ir_1": ("ir", 0), "bc_ir_2": ("ir", 1)}


def gain(lamp: str, flow_ml_min: float) -> float:
    """Attenuation rate per ng m-3 of black carbon: 100·σ·C·F/A [s-1]."""
    return float(100.0 * LAMPS[lamp][1] * C_REF * (flow_ml_min * 1e-6 / 60.0) / SPOT_M2 * 1e-9)


def absorbing(bc_880: Array, angstrom: Array, wavelength_nm: float) -> Array:
    """Equivalent black carbon at a wavelength: BC·(880/λ)^(α − 1)."""
    return np.asarray(bc_880 * (880.0 / wavelength_nm) ** (angstrom - 1.0), dtype=np.float64)


@dataclass(frozen=True)
class _Tape:
    """State of the filter tape during a flight."""

    spot: NDArray[np.int64]  # index of the spot in use at each fine time step
    advances_s: list[float]  # times of tape advances
    used: float  # attenuation (ultraviolet, spot 1) accumulated before take-off
    loading: float  # k: relative loss of sensitivity per unit of attenuation


def fly_ma200(plan: FlightPlan, path: Path, air: Air, smoke: Smoke) -> InstrumentRecord:
    """Simulate the MA200's log of a flight and its noise-free channels."""
    rng = plan.rng(10)
    rows = sampling(rng, plan.samples, jitter_s=0.02, gaps_per_hour=2.0, repeats_per_hour=1.0)
    t = rows.times_s
    # Time stamps are whole seconds and samples are taken just after each; this fixes the fractional clock offset.
    clock = own_clock(rng)
    clock = Clock(round(clock.offset_s) + 0.3 - t[0] % 1.0, clock.drift_ppm)
    t90 = float(rng.uniform(1.4, 2.4))  # tubing and flow cell
    outside = {lamp: absorbing(smoke.species["bc"], smoke.species["angstrom"], nm) for lamp, (nm, *_) in LAMPS.items()}
    seen = {lamp: lagged(values, t90_s=t90) for lamp, values in outside.items()}
    tape = _tape(rng, seen["uv"], plan.samples)
    thermal_drift = 2.0e-3 * (lagged(air.temperature, t90_s=40) - air.temperature[0])  # of filter and lamps
    columns, clean, instant = _optics(rng, rows, outside, seen, tape, thermal_drift)

    starting = t < START_UP_S
    moving = np.any([(t >= m) & (t < m + ADVANCE_S) for m in tape.advances_s] or [starting & False], axis=0)
    new_spot = _new_spot(t, tape)
    for name in columns:
        if not name.startswith("flow"):
            blank = starting | moving | (new_spot if "bc" in name else False)
            columns[name] = np.where(blank, np.nan, columns[name])
    columns |= {
        "tape_position": 17.0 + _spot(t, tape),
        "status": np.where(starting | moving, STARTING, 0.0) + DUAL_SPOT + EXTERNAL_POWER,
        "timebase_s": np.ones(len(t)),
    }
    columns |= _surroundings(rng, t, plan, path, air)
    stream = Stream(
        "ma200", "", clock.shows(plan.start, t), columns, {name: _units(name) for name in columns},
        rows_read=len(t), serial="MA200-0187", source="MA200-0187.csv", notes={"utc_offset_min": UTC_OFFSET_MIN},
    )  # fmt: skip
    lost = lost_seconds(rows, plan.samples)
    return InstrumentRecord(
        stream,
        clock,
        response={n: response_on_seconds(rows, clean[k], plan.samples) for n, k in CHANNELS.items()},
        instant={n: second_means(instant[k]) for n, k in CHANNELS.items()},
        faults={name: _faults(lost, tape.advances_s, t[new_spot]) for name in CHANNELS},
        t90_s=dict.fromkeys(CHANNELS, t90),
        facts={"loading_k": tape.loading, "tape_advances_s": tape.advances_s},
    )


def _optics(
    rng: np.random.Generator,
    rows: Sampling,
    outside: dict[str, Array],
    seen: dict[str, Array],
    tape: _Tape,
    thermal_drift: Array,
) -> tuple[dict[str, Array], dict[tuple[str, int], Array], dict[tuple[str, int], Array]]:
    """Columns of counts, attenuation and black carbon; noise-free black carbon by lamp and spot, per row and instant.

    Without lag the spot, loaded as it is, is reached by the air `outside` in place of the lagged air `seen`.
    """
    t = rows.times_s
    count = len(tape.spot)
    flow_true = [np.asarray(f * (1 + 0.004 * swell(rng, count, tau_s=60))) for f in FLOWS_ML_MIN]
    flow_read = [at(t, f) * (1 + rng.normal(0, FLOW_NOISE, len(t))) for f in flow_true]
    columns: dict[str, Array] = {
        "flow_total": flow_read[0] + flow_read[1],
        "flow1": flow_read[0],
        "flow2": flow_read[1],
    }
    clean: dict[tuple[str, int], Array] = {}
    instant: dict[tuple[str, int], Array] = {}
    settling = 0.004 * np.exp(-_since_advance(tape.spot) / SETTLING_S) * (tape.spot > 0)
    for lamp, (_, _, counts, electrons) in LAMPS.items():
        reference = counts * (1 + 2e-4 * at(t, swell(rng, count, tau_s=300)))
        # The reference spot is larger and brighter and has a third of the noise.
        ref_read = reference + np.sqrt(ADDITIVE_COUNTS**2 + counts / electrons) / 3 * rng.standard_normal(len(t))
        columns[f"{lamp}_ref"] = np.rint(ref_read)
        for spot, flow in enumerate(FLOWS_ML_MIN):
            before = tape.used * gain(lamp, flow) / gain("uv", FLOWS_ML_MIN[0]) * (tape.spot == 0)
            load = before + _piecewise_sum(gain(lamp, 1.0) * seen[lamp] * flow_true[spot], tape.spot)
            attenuation = -np.expm1(-tape.loading * load) / tape.loading + (1 + 0.3 * spot) * thermal_drift + settling
            true = at(t, attenuation)
            sensor = reference * np.exp(-true / 100.0)
            noise = np.sqrt(ADDITIVE_COUNTS**2 + sensor / electrons)
            sensor_read = sensor + noise * rng.standard_normal(len(t))
            read = -100.0 * np.log(sensor_read / ref_read)
            columns[f"{lamp}_sen{spot + 1}"] = np.rint(sensor_read)
            columns[f"{lamp}_atn{spot + 1}"] = read
            columns[f"{lamp}_bc{spot + 1}"] = np.rint(_steps(t, read) / gain(lamp, 1.0) / flow_read[spot])
            clean[lamp, spot] = (
                _noise_free(rows, attenuation, tape) / gain(lamp, 1.0) / at(rows.every_s, flow_true[spot])
            )
            drift = (1 + 0.3 * spot) * np.gradient(thermal_drift, DT_S) - settling / SETTLING_S
            instant[lamp, spot] = outside[lamp] * np.exp(-tape.loading * load) + drift / (
                gain(lamp, 1.0) * flow_true[spot]
            )
        atn = columns[f"{lamp}_atn1"]
        columns[f"{lamp}_k"] = np.where(atn > 3.0, tape.loading, 0.0)  # the firmware requires a minimum attenuation
        columns[f"{lamp}_bcc"] = np.rint(columns[f"{lamp}_bc1"] / (1 - columns[f"{lamp}_k"] * atn))
    return columns, clean, instant


def _surroundings(rng: np.random.Generator, t: Array, plan: FlightPlan, path: Path, air: Air) -> dict[str, Array]:
    """Housekeeping columns of the MA200: sample air, internal conditions and GPS."""

    def noise(sigma: float) -> Array:
        return rng.normal(0, sigma, len(t))

    latitude, longitude = latitude_longitude(path, plan)
    return {
        "sample_temperature": at(t, lagged(air.chamber_temperature, t90_s=2.0)) + 2.5 + noise(0.03),
        "sample_humidity": at(t, lagged(air.chamber_humidity, t90_s=2.0)) - 6.0 + noise(0.08),
        "internal_pressure": at(t, lagged(air.pressure, t90_s=1.0)) - 2.1 + noise(0.06),
        "internal_temperature": at(t, lagged(air.temperature, t90_s=400.0)) + 6.0 + noise(0.02),
        "latitude": at(t, latitude) + noise(1.5e-5),
        "longitude": at(t, longitude) + noise(2.5e-5),
        "gps_speed": np.hypot(at(t - 0.6, path.vx) + noise(0.06), at(t - 0.6, path.vy) + noise(0.06)),
    }


def _tape(rng: np.random.Generator, uv: Array, samples: int) -> _Tape:
    """Advance the tape each time ultraviolet spot 1 reaches its attenuation limit."""
    limit = float(rng.uniform(3.0, 12.0))  # set by the operator; low in dense smoke
    used = float(rng.uniform(0.0, 0.9)) * limit
    load = used + np.cumsum(gain("uv", FLOWS_ML_MIN[0]) * uv) * DT_S
    steps = (np.flatnonzero(np.diff(load // limit)) + 1) * DT_S
    moments = [float(m) for m in steps if START_UP_S < m < samples - 2 * ADVANCE_S]
    spot = np.searchsorted(np.array(moments), np.arange(len(uv)) * DT_S, side="right").astype(np.int64)
    return _Tape(spot, moments, used, loading=float(rng.uniform(0.002, 0.006)))


def _piecewise_sum(rate: Array, piece: NDArray[np.int64]) -> Array:
    """∫ rate dt, reset to zero at each new spot."""
    total = np.cumsum(rate) * DT_S
    first = np.searchsorted(piece, piece, side="left")
    return np.asarray(total - np.where(first > 0, total[first - 1], 0.0), dtype=np.float64)


def _since_advance(piece: NDArray[np.int64]) -> Array:
    return np.asarray((np.arange(len(piece)) - np.searchsorted(piece, piece, side="left")) * DT_S, dtype=np.float64)


def _steps(t: Array, attenuation: Array) -> Array:
    """Attenuation change per second since the previous row; NaN for the first row, repeated rows keep their value."""
    gap = np.diff(t, prepend=t[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.diff(attenuation, prepend=attenuation[0]) / gap
    for row in np.flatnonzero(gap <= 1e-6):
        step[row] = step[row - 1] if row else np.nan
    return np.asarray(step, dtype=np.float64)


def _noise_free(rows: Sampling, attenuation: Array, tape: _Tape) -> Array:
    """Noise-free attenuation change per second, since the previous logged row or, for lost rows, the previous row.

    The step between two spots is not a reading and is set to NaN.
    """

    def gained(t: Array) -> Array:
        return np.where(_new_spot(t, tape), np.nan, _steps(t, at(t, attenuation)))

    steps = gained(rows.every_s)
    steps[rows.kept] = gained(rows.times_s)
    return steps


def _spot(t: Array, tape: _Tape) -> Array:
    return at(t, tape.spot.astype(float)).round()


def _new_spot(t: Array, tape: _Tape) -> Mask:
    """Mask of rows with a different spot than the previous row."""
    spot = _spot(t, tape)
    return np.asarray(np.diff(spot, prepend=spot[0]) != 0)


def _faults(lost: NDArray[np.int32], advances: list[float], new_spot: Array) -> NDArray[np.int32]:
    """Flag bits per second: no readings during start-up, tape advances and the first second of a new spot."""
    bits = lost.copy()
    bits[:START_UP_S] |= STARTUP | MISSING
    for moment in advances:
        bits[int(moment) : int(moment) + ADVANCE_S] |= TAPE_ADVANCE | MISSING
    bits[new_spot.astype(int)] |= TAPE_ADVANCE | MISSING
    return bits


def _units(name: str) -> str:
    for ending, units in {
        "bc1": "ng m-3", "bc2": "ng m-3", "bcc": "ng m-3", "temperature": "degC", "humidity": "%", "pressure": "hPa",
        "latitude": "degrees_north", "longitude": "degrees_east", "speed": "m s-1", "_s": "s",
    }.items():  # fmt: skip
        if name.endswith(ending):
            return units
    return "mL min-1" if name.startswith("flow") else "1"
