"""Synthetic co-locations with known coefficients, for tests."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import xarray as xr

from pc2dae.arrays import Array
from pc2dae.calibration.curve import Calibration, Curve
from pc2dae.calibration.pairs import Pairs
from pc2dae.flight.schema import new_flight
from pc2dae.suite import Suite
from suites import make_suite

START = np.datetime64("2025-06-01T00:00:00", "ns")
# An OX cell answers to O3 and NO2, an NO2 cell to NO2 alone [nA/ppb]; zeros [nA].
GAIN, CROSS, ZERO = {"o3": 0.5, "no2": 0.3}, 0.4, {"o3": 12.0, "no2": -4.0}
TEMPERATURE = 0.2  # nA/K of the O3 cell


def slow_noise(rng: np.random.Generator, count: int, memory: float = 0.95) -> Array:
    """A first-order autoregressive series of unit variance."""
    from scipy.signal import lfilter

    white = rng.normal(0, 1, count + 200)
    return np.asarray(lfilter([np.sqrt(1 - memory**2)], [1, -memory], white)[200:])


def make_air(rng: np.random.Generator, count: int, step_s: float) -> dict[str, Array]:
    """O3 and NO2 [ppb], temperature [degC] and relative humidity [%] of some days."""
    day = 2 * np.pi * np.arange(count) * step_s / 86_400
    return {
        "o3": np.maximum(30 - 12 * np.cos(day) + 6 * slow_noise(rng, count), 0),
        "no2": np.maximum(15 + 6 * np.cos(day) + 5 * slow_noise(rng, count), 0),
        "temperature": 18 - 5 * np.cos(day - 0.5) + 2 * slow_noise(rng, count),
        "humidity": 60 + 12 * slow_noise(rng, count, 0.9),
    }


def make_pairs(seed: int = 0, *, count: int = 600, step_s: float = 600.0, noise: float = 3.0) -> Pairs:
    """Readings of both cells with `noise` [nA] beside a perfect reference; humidity has nothing to do with them."""
    rng = np.random.default_rng(seed)
    air = make_air(rng, count, step_s)
    rest = {name: ZERO[name] + noise * slow_noise(rng, count, 0.5) for name in GAIN}
    readings = {
        "o3": GAIN["o3"] * air["o3"] + CROSS * air["no2"] + TEMPERATURE * air["temperature"] + rest["o3"],
        "no2": GAIN["no2"] * air["no2"] + rest["no2"],
    }
    return Pairs(
        time=START + np.arange(count) * np.timedelta64(int(step_s), "s"),
        step_s=step_s,
        readings=readings,
        air={name: air[name] for name in readings},
        gas={"o3": "ref_o3", "no2": "ref_no2"},
        units=dict.fromkeys(readings, "ppb"),
        terms={name: air[name] for name in ("temperature", "humidity")},
        rivals={"o3": ("no2",), "no2": ("o3",)},
    )


def cell_suite(*, units: str = "nA", rate_hz: float = 1 / 60, **keys: object) -> Suite:
    """The suite of both cells."""
    bound = {"lower_bound": -1e3} if units == "nA" else {}
    return make_suite({"gas": {name: {"units": units, **bound, **keys} for name in GAIN}}, rate_hz=rate_hz)


def make_flight(pairs: Pairs, *, suite: Suite | None = None) -> xr.Dataset:
    """A record with the readings of pairs at their times."""
    measured = suite or cell_suite(rate_hz=1 / pairs.step_s)
    environment = {"air_temperature": pairs.terms["temperature"], "relative_humidity": pairs.terms["humidity"]}
    return new_flight(pairs.time, pairs.readings | environment, measured)


def doubling(name: str, units: str) -> Calibration:
    """A calibration of a channel that reads twice the concentration [ppb]."""
    curve = Curve(units="ppb", reading_units=units, terms={"gain": 2.0, "zero": 0.0}, centre={"air": 0.0},
                  range={"air": (0.0, 1e4)}, covariance=((1e-4, 0.0), (0.0, 1.0)), residual=1.0, slow=1.0,
                  wander=0.5, ageing=0.8)  # fmt: skip
    period = (datetime(2025, 9, 1, tzinfo=UTC), datetime(2025, 9, 2, tzinfo=UTC))
    return Calibration(method="co-location", period=period, channels={name: curve})
