"""One small denoised flight, made by hand."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from pc2dae.denoising import denoise
from pc2dae.flags import STALE, STARTUP
from pc2dae.flight.schema import new_flight
from pc2dae.suite import Suite, parse_suite

SUITE = """{"name": "hand", "family": [
  {"name": "gas", "channel": [
    {"name": "co", "units": "ppb", "long_name": "carbon <monoxide>"},
    {"name": "no2", "units": "ppb", "detection_limit": 3}]},
  {"name": "co2", "channel": [{"name": "co2", "units": "ppm", "lower_bound": 300, "native_rate_hz": 0.5}]}]}"""


@pytest.fixture(scope="session")
def suite() -> Suite:
    return parse_suite(SUITE, where="test")


@pytest.fixture(scope="session")
def measured(suite: Suite) -> xr.Dataset:
    """600 s with two plumes on a straight track; ten seconds of start-up; CO₂ repeats every other sample."""
    rng = np.random.default_rng(1)
    seconds = np.arange(600)
    smoke = sum(np.exp(-0.5 * ((seconds - at) / 6.0) ** 2) for at in (200, 420))
    co2 = 420 + 30 * smoke + rng.normal(0, 0.8, 600)
    co2[1::2] = co2[::2]
    values = {
        "co": 120 + 900 * smoke + rng.normal(0, 10, 600),
        "no2": 12 * smoke + rng.normal(0, 5, 600),
        "co2": co2,
        "latitude": 46.0 + seconds * 1e-5,
        "longitude": np.full(600, 8.0),
        "altitude": 500.0 + seconds / 10,
        "ground_speed": np.full(600, 1.1),
    }
    start = np.zeros(600, np.int32)
    start[:10] = STARTUP
    flags = {"co": start, "co2": np.where(seconds % 2 == 1, STALE, 0).astype(np.int32)}
    time = np.datetime64("2025-10-01T12:00:00") + seconds * np.timedelta64(1, "s")
    return new_flight(time, values, suite, flags=flags, flight_id="hand_made", level="compensated")


@pytest.fixture(scope="session")
def clean(measured: xr.Dataset) -> xr.Dataset:
    return denoise(measured, model="rts")
