"""MA200: light through a filter that darkens; black carbon is the scaled step of attenuation from second to second."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pc2dae.flight.schema import MISSING, STARTUP, TAPE_ADVANCE
from pc2dae.flight.stream import Stream
from pc2dae.simulate.atmosphere import Air
from pc2dae.simulate.clocks import Clock, lost_seconds, on_seconds, own_clock, sampling
from pc2dae.simulate.path import Path
from pc2dae.simulate.plan import UTC_OFFSET_MIN, FlightPlan
from pc2dae.simulate.plumes import Smoke
from pc2dae.simulate.position import latitude_longitude
from pc2dae.simulate.processes import DT_S, Array, at, lagged, swell
from pc2dae.simulate.record import Record

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
ADDITIVE_COUNTS = 1.2  # electronics
FLOW_NOISE = 0.012  # relative; makes the noise grow with the signal
START_UP_S = 22
ADVANCE_S = 12  # the tape moves, then the lamps settle
DUAL_SPOT, EXTERNAL_POWER, STARTING = 64, 131_072, 2  # bits of the status word
CHANNELS = {"bc_uv_1": ("uv", 0), "bc_uv_2": ("uv", 1), "bc_ir_1": ("ir", 0), "bc_ir_2": ("ir", 1)}


def gain(lamp: str, flow_ml_min: float) -> float:
    """Attenuation per second that 1 ng m-3 leaves: 100·σ·C·F/A."""
    return float(100.0 * LAMPS[lamp][1] * C_REF * (flow_ml_min * 1e-6 / 60.0) / SPOT_M2 * 1e-9)


def absorbing(bc_880: Array, angstrom: Array, wavelength_nm: float) -> Array:
    """Black carbon an aethalometer sees at a wavelength: BC·(880/λ)^(α − 1)."""
    return np.asarray(bc_880 * (880.0 / wavelength_nm) ** (angstrom - 1.0), dtype=np.float64)


def fly_ma200(plan: FlightPlan, path: Path, air: Air, smoke: Smoke) -> Record:
    """The MA200's log of a flight, and the noise-free channels."""
    rng = plan.rng(10)
    rows = sampling(rng, plan.samples, jitter_s=0.02, gaps_per_hour=2.0, repeats_per_hour=1.0)
    t = rows.times_s
    # Stamps are whole seconds and it measures just after each of its own: the clock's fraction follows from row one.
    clock = own_clock(rng)
    clock = Clock(round(clock.offset_s) + 0.3 - t[0] % 1.0, clock.drift_ppm)
    loading = float(rng.uniform(0.002, 0.006))  # k: reading falls by this share per unit of attenuation
    tape_limit = float(rng.uniform(3.0, 12.0))  # the operator's choice: a low limit in thick smoke
    used = float(rng.uniform(0.0, 0.9)) * tape_limit  # what the spot collected before take-off
    t90 = float(rng.uniform(1.4, 2.4))  # tubing and flow chamber
    wet = 2.0e-3 * (lagged(air.temperature, t90_s=40) - air.temperature[0])  # filter and lamps feel the temperature

    seen = {
        lamp: lagged(absorbing(smoke.species["bc"], smoke.species["angstrom"], nm), t90_s=t90)
        for lamp, (nm, *_) in LAMPS.items()
    }
    piece, advances = _advances(seen["uv"], tape_limit, used, plan.samples)
    columns: dict[str, Array] = {}
    clean: dict[tuple[str, int], Array] = {}
    row_piece = at(t, piece.astype(float)).round()
    new_spot = np.diff(row_piece, prepend=row_piece[0]) != 0
    flow_true = [np.asarray(f * (1 + 0.004 * swell(rng, len(piece), tau_s=60))) for f in FLOWS_ML_MIN]
    flow_read = [at(t, f) * (1 + rng.normal(0, FLOW_NOISE, len(t))) for f in flow_true]
    for lamp, (_, _, counts, electrons) in LAMPS.items():
        reference = counts * (1 + 2e-4 * at(t, swell(rng, len(piece), tau_s=300)))
        shot = np.sqrt(counts / electrons)
        ref_read = reference + rng.normal(0, np.hypot(0.3 * ADDITIVE_COUNTS, 0.3 * shot), len(t))
        columns[f"{lamp}_ref"] = np.rint(ref_read)
        for spot in (0, 1):
            g = gain(lamp, FLOWS_ML_MIN[spot])
            before = used * g / gain("uv", FLOWS_ML_MIN[0]) * (piece == 0)
            load = before + _piecewise_sum(g * seen[lamp] * flow_true[spot] / FLOWS_ML_MIN[spot], piece)
            attenuation = -np.expm1(-loading * load) / loading + (1 + 0.3 * spot) * wet
            settle = 0.004 * np.exp(-_since_advance(piece) / 4.0) * (piece > 0)
            truth = at(t, attenuation + settle)
            sensor = counts * np.exp(-truth / 100.0) * reference / counts
            sigma = np.sqrt(ADDITIVE_COUNTS**2 + sensor / electrons)
            sensor_read = sensor + sigma * rng.standard_normal(len(t))
            read = -100.0 * np.log(sensor_read / ref_read)
            columns[f"{lamp}_sen{spot + 1}"] = np.rint(sensor_read)
            columns[f"{lamp}_atn{spot + 1}"] = read
            columns[f"{lamp}_bc{spot + 1}"] = np.rint(_steps(t, read) / gain(lamp, 1.0) / flow_read[spot])
            clean[lamp, spot] = _steps(t, truth) / gain(lamp, 1.0) / at(t, flow_true[spot])
        known = columns[f"{lamp}_atn1"] > 3.0  # the firmware waits for enough darkening before it corrects
        columns[f"{lamp}_k"] = np.where(known, loading, 0.0)
        columns[f"{lamp}_bcc"] = np.rint(columns[f"{lamp}_bc1"] / (1 - columns[f"{lamp}_k"] * columns[f"{lamp}_atn1"]))

    starting = t < START_UP_S
    moving = np.zeros(len(t), dtype=bool)
    for moment in advances:
        moving |= (t >= moment) & (t < moment + ADVANCE_S)
    blank = starting | moving | new_spot
    for name in columns:
        columns[name] = np.where(blank if "bc" in name else starting | moving, np.nan, columns[name])
    latitude, longitude = latitude_longitude(path, plan)
    columns |= {
        "tape_position": 17.0 + row_piece,
        "status": np.where(starting | moving, STARTING, 0.0) + DUAL_SPOT + EXTERNAL_POWER,
        "flow_total": flow_read[0] + flow_read[1],
        "flow1": flow_read[0],
        "flow2": flow_read[1],
        "sample_temperature": at(t, lagged(air.chamber_temperature, t90_s=2.0)) + 2.5 + rng.normal(0, 0.03, len(t)),
        "sample_humidity": at(t, lagged(air.chamber_humidity, t90_s=2.0)) - 6.0 + rng.normal(0, 0.08, len(t)),
        "internal_pressure": at(t, lagged(air.pressure, t90_s=1.0)) - 2.1 + rng.normal(0, 0.06, len(t)),
        "internal_temperature": at(t, lagged(air.temperature, t90_s=400.0)) + 6.0 + rng.normal(0, 0.02, len(t)),
        "latitude": at(t, latitude) + rng.normal(0, 1.5e-5, len(t)),
        "longitude": at(t, longitude) + rng.normal(0, 2.5e-5, len(t)),
        "gps_speed": np.hypot(
            at(t - 0.6, path.vx) + rng.normal(0, 0.06, len(t)), at(t - 0.6, path.vy) + rng.normal(0, 0.06, len(t))
        ),
        "timebase_s": np.ones(len(t)),
    }
    stream = Stream(
        "ma200", "", clock.shows(plan.start, t), columns, {name: _units(name) for name in columns},
        rows_read=len(t), serial="MA200-0187", source="MA200-0187.csv", notes={"utc_offset_min": UTC_OFFSET_MIN},
    )  # fmt: skip
    return Record(
        stream,
        clock,
        response={name: on_seconds(t, clean[key], plan.samples) for name, key in CHANNELS.items()},
        faults={name: _faults(lost_seconds(rows, plan.samples), advances, t[new_spot]) for name in CHANNELS},
        t90_s=dict.fromkeys(CHANNELS, t90),
        facts={"loading_k": loading, "tape_advances_s": advances},
    )


def _advances(uv: Array, limit: float, used: float, samples: int) -> tuple[NDArray[np.int64], list[float]]:
    """Number of the tape's spot at every fine step, and when it moved: each time the ultraviolet spot 1 is too dark."""
    load = used + np.cumsum(gain("uv", FLOWS_ML_MIN[0]) * uv) * DT_S
    piece = (load // limit).astype(np.int64)
    moments = [
        float(m) * DT_S for m in np.flatnonzero(np.diff(piece)) + 1 if START_UP_S < m * DT_S < samples - 2 * ADVANCE_S
    ]
    piece = np.searchsorted(np.array(moments), np.arange(len(uv)) * DT_S, side="right").astype(np.int64)
    return piece, moments


def _piecewise_sum(rate: Array, piece: NDArray[np.int64]) -> Array:
    """∫ rate dt, from zero again on every new spot."""
    total = np.cumsum(rate) * DT_S
    first = np.searchsorted(piece, piece, side="left")
    return np.asarray(total - np.where(first > 0, total[first - 1], 0.0), dtype=np.float64)


def _since_advance(piece: NDArray[np.int64]) -> Array:
    return np.asarray((np.arange(len(piece)) - np.searchsorted(piece, piece, side="left")) * DT_S, dtype=np.float64)


def _steps(t: Array, attenuation: Array) -> Array:
    """Attenuation gained per second since the row before; none for the first row and for a row written twice."""
    gap = np.diff(t, prepend=t[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.diff(attenuation, prepend=attenuation[0]) / gap
    for row in np.flatnonzero(gap <= 1e-6):
        step[row] = step[row - 1] if row else np.nan
    return np.asarray(step, dtype=np.float64)


def _faults(lost: NDArray[np.int32], advances: list[float], new_spot: Array) -> NDArray[np.int32]:
    """Flag bits per second: the start, the moving tape and the second after it hold no reading."""
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
