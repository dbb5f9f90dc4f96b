"""Simulated SCD30, LI-830, PMS5003, BME280 and autopilot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array
from pc2dae.flags import MISSING, SATURATED, STALE, STARTUP
from pc2dae.flight.stream import Stream
from pc2dae.simulate.atmosphere import GROUND_M, Air
from pc2dae.simulate.clocks import GPS_CLOCK, lost_seconds, on_seconds, own_clock, response_on_seconds, sampling
from pc2dae.simulate.path import Path, latitude_longitude
from pc2dae.simulate.plan import UTC_OFFSET_MIN, FlightPlan
from pc2dae.simulate.plumes import Smoke
from pc2dae.simulate.processes import at, lagged, second_means, wander
from pc2dae.simulate.record import InstrumentRecord

SCD30_T90_S = 20.0 * np.log(10.0)  # time constant 20 s (data sheet)
PMS_WARM_UP_S = 8
PMS_LIMIT = 1000.0  # ug m-3; saturation of the sensor


def fly_scd30(plan: FlightPlan, air: Air, smoke: Smoke) -> InstrumentRecord:
    """Simulate the SCD30: measured every 2 s but logged every second, so that every second row is a repeat."""
    rng = plan.rng(30)
    clock = own_clock(rng)
    rows = sampling(rng, plan.samples, rate_hz=plan.row_rate_hz(1.0), jitter_s=0.01, gaps_per_hour=3.0)
    t = rows.times_s
    phase = t[0] - 0.15  # the sensor is free-running; the logger polls slightly later
    taken = np.floor((rows.every_s - phase) / 2.0) * 2.0 + phase  # measurement time of the value in each row
    measured = taken[rows.kept]
    zero, span = rng.normal(0, 8.0), rng.normal(1, 0.012)
    inside = air.lagged(smoke.species["co2"], t90_s=SCD30_T90_S)
    clean = zero + 420.0 + span * (air.at(taken, inside) - 420.0)
    warm = air.lagged(air.chamber_temperature, t90_s=8.0) + float(rng.uniform(1.5, 3.0))
    damp = air.lagged(air.chamber_humidity, t90_s=2.0) * 0.9 + 0.08 * air.swell(rng, tau_s=90)
    pick = np.unique(measured, return_inverse=True)[1]  # one noise value per measurement, not per row
    columns = {
        "co2": np.round(clean[rows.kept] + rng.normal(0, 3.0, pick.max() + 1)[pick], 4),
        "temperature": np.round(air.at(measured, warm) + rng.normal(0, 0.02, pick.max() + 1)[pick], 4),
        "humidity": np.round(air.at(measured, damp) + rng.normal(0, 0.05, pick.max() + 1)[pick], 4),
    }
    starting = t < 4.0  # no measurement ready yet
    columns = {name: np.where(starting, np.nan, values) for name, values in columns.items()}
    bits = lost_seconds(rows, plan.samples)
    bits[:4] |= STARTUP | MISSING
    repeat = np.flatnonzero(np.diff(measured, prepend=-9.0) == 0)
    bits[t[repeat].astype(int)] |= STALE
    stream = _stream("scd30", "", clock.shows(plan.start, t), columns, serial="SCD30-7F21")
    return InstrumentRecord(
        stream,
        clock,
        response={"co2_scd30": response_on_seconds(rows, clean, plan.samples)},
        instant={"co2_scd30": air.second_means(zero + 420.0 + span * (smoke.species["co2"] - 420.0))},
        faults={"co2_scd30": bits},
        t90_s={"co2_scd30": SCD30_T90_S},
    )


def fly_li830(plan: FlightPlan, air: Air, smoke: Smoke) -> InstrumentRecord:
    """Simulate the pumped LI-830 at 2 Hz."""
    rng = plan.rng(31)
    clock = own_clock(rng)
    rows = sampling(rng, plan.samples, rate_hz=plan.row_rate_hz(2.0), jitter_s=0.01, gaps_per_hour=2.0)
    t = rows.times_s
    t90 = float(rng.uniform(1.6, 2.6))
    zero, span = rng.normal(0, 1.0), rng.normal(1, 0.004)
    drift = 0.3 * air.swell(rng, tau_s=500)
    reading, instant = (
        zero + 420.0 + span * (gas - 420.0) + drift
        for gas in (air.lagged(smoke.species["co2"], t90_s=t90), smoke.species["co2"])
    )
    columns = {
        "co2": air.at(t, reading) + rng.normal(0, 0.95, len(t)),
        "cell_temperature": 51.5 + rng.normal(0, 0.015, len(t)),
        "cell_pressure": air.at(t, air.lagged(air.pressure, t90_s=0.8)) - 1.4 + rng.normal(0, 0.05, len(t)),
        "flow": 0.75 + rng.normal(0, 0.004, len(t)),
    }
    stream = _stream("li830", "", clock.shows(plan.start, t), columns, serial="830-1022")
    return InstrumentRecord(
        stream,
        clock,
        response={"co2_li830": response_on_seconds(rows, air.at(rows.every_s, reading), plan.samples)},
        instant={"co2_li830": air.second_means(instant)},
        faults={"co2_li830": lost_seconds(rows, plan.samples)},
        t90_s={"co2_li830": t90},
    )


def fly_pms5003(plan: FlightPlan, smoke: Smoke, unit: str) -> InstrumentRecord:
    """Simulate one PMS5003: integer resolution, slow fan, signal-dependent noise, zeros during warm-up."""
    rng = plan.rng(32, int(unit))
    clock = own_clock(rng)
    rows = sampling(rng, plan.samples, jitter_s=0.08, gaps_per_hour=4.0, repeats_per_hour=2.0)
    t = rows.times_s
    t90 = float(rng.uniform(4.0, 6.5))
    span = float(np.exp(rng.normal(0, 0.08)))
    columns, response, instant, faults = {}, {}, {}, {}
    for size in ("pm1", "pm25", "pm10"):
        clean = span * at(rows.every_s, lagged(smoke.species[size], t90_s=t90))
        logged = clean[rows.kept]
        noisy = logged * (1 + rng.normal(0, 0.05, len(t))) + rng.normal(0, 0.7, len(t))
        columns[size] = np.where(t < PMS_WARM_UP_S, 0.0, np.rint(np.clip(noisy, 0.0, PMS_LIMIT)))
        name = f"{size}_{unit}"
        response[name] = response_on_seconds(rows, clean, plan.samples)
        instant[name] = second_means(span * smoke.species[size])
        faults[name] = lost_seconds(rows, plan.samples)
        faults[name][:PMS_WARM_UP_S] |= STARTUP
        faults[name][on_seconds(t, logged, plan.samples) > PMS_LIMIT] |= SATURATED  # flags refer to logged values
    stream = _stream("pms5003", unit, clock.shows(plan.start, t), columns, serial=f"PMS-{40 + int(unit):04d}")
    return InstrumentRecord(stream, clock, response, instant, faults, dict.fromkeys(response, t90))


def fly_bme280(plan: FlightPlan, air: Air) -> InstrumentRecord:
    """Simulate the BME280 in the flow chamber."""
    rng = plan.rng(33)
    clock = own_clock(rng)
    rows = sampling(rng, plan.samples, rate_hz=plan.row_rate_hz(1.0), jitter_s=0.01, gaps_per_hour=2.0)
    t = rows.times_s
    columns = {
        "temperature": np.round(
            air.at(t, air.lagged(air.chamber_temperature, t90_s=2.0))
            + rng.normal(0, 0.15)
            + rng.normal(0, 0.01, len(t)),
            2,
        ),
        "humidity": np.round(
            air.at(t, air.lagged(air.chamber_humidity, t90_s=2.0)) + rng.normal(0, 0.6) + rng.normal(0, 0.03, len(t)), 2
        ),
        "pressure": np.round(air.at(t, air.pressure) + rng.normal(0, 0.4) + rng.normal(0, 0.015, len(t)), 3),
    }
    return InstrumentRecord(_stream("bme280", "", clock.shows(plan.start, t), columns, serial="BME280-76"), clock)


def fly_autopilot(plan: FlightPlan, path: Path, air: Air) -> InstrumentRecord:
    """Simulate the autopilot at 5 Hz: GPS position and speed, EKF speed and barometer, with GPS time."""
    rng = plan.rng(34)
    t = np.arange(plan.samples * 5) / 5.0
    count = len(t)
    latitude, longitude = latitude_longitude(path, plan)
    east, north = (wander(rng, count, tau_s=20.0, sigma=0.6, dt_s=0.2) for _ in range(2))
    # GPS and EKF share most of their error, so that both report the same speed for a hovering aircraft.
    errors = [wander(rng, count, tau_s=2.0, sigma=0.018, dt_s=0.2) for _ in range(2)]
    scale = float(rng.normal(1.0, 0.0007))
    gps = np.hypot(
        *(at(t, v) + e + rng.normal(0, 0.004, count) for v, e in zip((path.vx, path.vy), errors, strict=True))
    )
    ekf = np.hypot(
        *(
            scale * at(t - 0.1, v) + e + rng.normal(0, 0.003, count)
            for v, e in zip((path.vx, path.vy), errors, strict=True)
        )
    )
    columns = {
        "latitude": at(t, latitude) + north / 111_195.0,
        "longitude": at(t, longitude) + east / 66_700.0,
        "altitude": GROUND_M + at(t, path.z) + wander(rng, count, tau_s=40.0, sigma=0.7, dt_s=0.2),
        "ground_speed": gps,
        "ekf_speed": ekf,
        "baro_pressure": at(t, air.pressure) + rng.normal(0, 0.3) + rng.normal(0, 0.03, count),
        "baro_temperature": at(t, lagged(air.temperature, t90_s=200.0)) + 9.0 + rng.normal(0, 0.02, count),
    }
    stream = _stream("ardupilot", "", GPS_CLOCK.shows(plan.start, t), columns, clock="gps", serial="CubeOrange")
    return InstrumentRecord(stream, GPS_CLOCK)


UNITS = {
    "co2": "ppm", "temperature": "degC", "humidity": "%", "pressure": "hPa", "speed": "m s-1", "altitude": "m",
    "latitude": "degrees_north", "longitude": "degrees_east", "flow": "L min-1",
    "pm1": "ug m-3", "pm25": "ug m-3", "pm10": "ug m-3",
}  # fmt: skip


def _stream(
    instrument: str,
    unit: str,
    time: NDArray[np.datetime64],
    columns: dict[str, Array],
    *,
    serial: str,
    clock: str = "rtc",
) -> Stream:
    units = {name: UNITS[name.rsplit("_", 1)[-1]] for name in columns}
    notes = {"utc_offset_min": UTC_OFFSET_MIN}
    return Stream(instrument, unit, time, columns, units, clock=clock, rows_read=len(time), serial=serial, notes=notes)
