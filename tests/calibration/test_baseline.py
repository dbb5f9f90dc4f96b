"""A new zero, only where an offset is negative, and only from clean air."""

from __future__ import annotations

import numpy as np
import xarray as xr

from pc2dae.calibration.baseline import clean_air, clean_level, rezero
from pc2dae.flight.schema import new_flight
from suites import make_suite

SUITE = make_suite({"gas": {"co": "ppb", "no2": "ppb", "so2": "ppb"}}, name="two")
PLUME = 1.0 * (np.arange(1500) % 300 > 250)


def flight() -> xr.Dataset:
    rng = np.random.default_rng(0)
    drift = np.linspace(-30, -50, 1500)
    values = {
        "co": 120 + 3000 * PLUME + rng.normal(0, 10, 1500),
        "no2": drift + 60 * PLUME + rng.normal(0, 8, 1500),
        "so2": rng.normal(0, 8, 1500),
    }
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(1500) * np.timedelta64(1, "s")
    return new_flight(time, values, SUITE)


def test_a_negative_offset_is_lifted_and_plumes_keep_their_height() -> None:
    done = rezero(flight())
    air = PLUME == 0
    assert abs(np.mean(done["no2"].values[air])) < 2.0
    assert abs(np.mean(done["no2"].values[~air]) - 60) < 4.0
    np.testing.assert_array_equal(done["co"].values, flight()["co"].values)  # its offset is not negative
    np.testing.assert_array_equal(done["so2"].values, flight()["so2"].values)  # its negatives are noise
    last = done.attrs["history"].splitlines()[-1]
    assert "no2 by +4" in last
    assert "ppb" in last


def test_only_chosen_channels_move() -> None:
    done = rezero(flight(), ["so2"])
    np.testing.assert_array_equal(done["no2"].values, flight()["no2"].values)
    assert "no channel required it" in done.attrs["history"]


def test_clean_air_is_where_the_best_witness_sees_none() -> None:
    made = flight()
    values = np.array([made[n].values for n in SUITE.names])
    clean = clean_air(values, np.ones_like(values, bool), np.array([10.0, 8.0, 8.0]))
    inside = (np.arange(1500) % 300 > 253) & (np.arange(1500) % 300 < 297)
    assert not clean[inside].any()
    assert clean[(np.arange(1500) % 300 > 10) & (np.arange(1500) % 300 < 240)].mean() > 0.95


def test_clean_level_goes_straight_across_smoke() -> None:
    clean = np.ones(1500, bool)
    clean[600:700] = False
    level = clean_level(np.where(clean, 5.0, 1000.0), clean)
    np.testing.assert_allclose(level, 5.0)
