"""Zero checks and the suite's background: what moves, by how much, and what remains uncertain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from pc2dae.calibration.budget import Budget, budget_of
from pc2dae.calibration.intervals import Interval
from pc2dae.calibration.zero import clean_air, clean_level, rezeroed, zeroed
from pc2dae.errors import CalibrationError
from pc2dae.flags import BAD, BELOW_BOUND, SATURATED
from pc2dae.flight.schema import new_flight
from pc2dae.flight.store import read_flight, write_flight
from pc2dae.ingestion import calibrate_flight, prepare
from suites import make_suite

START = np.datetime64("2025-10-05T14:00:00", "ns")
SUITE = make_suite({"gas": {"co": "ppb", "no2": "ppb", "so2": "ppb"}}, name="two")
PLUME = 1.0 * (np.arange(1500) % 300 > 250)


def flight(**background: float) -> xr.Dataset:
    rng = np.random.default_rng(0)
    values = {
        "co": 120 + 3000 * PLUME + rng.normal(0, 10, 1500),
        "no2": np.linspace(-30, -50, 1500) + 60 * PLUME + rng.normal(0, 2, 1500),
        "so2": rng.normal(0, 8, 1500),
    }
    time = START + np.arange(1500) * np.timedelta64(1, "s")
    suite = SUITE
    if background:
        about = {n: {"units": "ppb"} for n in values}
        about["no2"] |= {"background": background["level"], "background_uncertainty": background["sigma"]}
        suite = make_suite({"gas": about})
    flags = {"no2": np.full(1500, BELOW_BOUND, np.int32)}
    return new_flight(time, values, suite, flags=flags)


def check(first: int, last: int, value: float = 2.0, uncertainty: float = 1.0, channel: str = "no2") -> Interval:
    return Interval(START + np.timedelta64(first, "s"), START + np.timedelta64(last, "s"), channel, value, uncertainty)


def test_two_checks_remove_a_zero_that_drifts() -> None:
    done = zeroed(flight(), [check(1310, 1440), check(10, 190)])
    air = PLUME == 0
    np.testing.assert_allclose(done["no2"].values[air] - 2, 0, atol=9)
    assert abs(np.mean(done["no2"].values[air]) - 2) < 0.5
    assert abs(np.mean(done["no2"].values[~air]) - 62) < 1.0
    np.testing.assert_array_equal(done["no2_uncalibrated"].values, flight()["no2"].values)
    np.testing.assert_array_equal(done["co"].values, flight()["co"].values)
    assert not (done["qc_no2"].values & BELOW_BOUND).any()
    assert done["no2"].attrs["calibration"] == "zero check"
    assert done["no2"].attrs["zero_checked"] == 1
    last = done.attrs["history"].splitlines()[-1]
    assert "zero set in known air: no2 by +33." in last
    assert " to +5" in last


def test_one_check_is_held() -> None:
    done = zeroed(flight(), [check(10, 190)])
    moved = done["no2"].values - flight()["no2"].values
    assert np.ptp(moved) < 1e-9
    assert moved[0] == pytest.approx(33.3, abs=1)


def test_the_budget_of_an_uncalibrated_channel() -> None:
    budget = budget_of(zeroed(flight(), [check(10, 190), check(1310, 1440)]), "no2")
    assert budget is not None
    assert budget.zero == pytest.approx(1.0, abs=0.1)  # of the air, noise averages out
    assert budget.drift == pytest.approx(17.0 / 4, abs=0.3)  # a quarter of the change
    assert (budget.gain, budget.anchor) == (0.15, 2.0)


def test_checks_replace_the_zero_of_a_calibration_and_keep_its_gain() -> None:
    before = flight()
    before["no2"].attrs |= {"calibration": "file"} | Budget(8.0, 1.5, 0.05, 20.0, {"co": 0.01}).attributes()
    once, twice = (zeroed(before, some) for some in ([check(10, 190)], [check(10, 190), check(200, 240)]))
    one, two = budget_of(once, "no2"), budget_of(twice, "no2")
    assert one is not None
    assert two is not None
    assert one.zero == pytest.approx(1.0, abs=0.1)
    assert one.drift == pytest.approx(2.4)  # 0.3 of the zero that nobody checked again
    assert two.drift == 1.5
    assert (one.gain, one.anchor, one.cross) == (0.05, 2.0, {"co": 0.01})
    assert once["no2"].attrs["calibration"] == "file; zero check"


def test_the_result_is_kept_in_a_file(tmp_path: Path) -> None:
    done = zeroed(flight(), [check(10, 190)])
    write_flight(done, tmp_path / "f.nc")
    again = read_flight(tmp_path / "f.nc")
    assert budget_of(again, "no2") == budget_of(done, "no2")
    assert again["no2"].attrs["calibration"] == "zero check"
    np.testing.assert_allclose(again["no2_uncalibrated"].values, done["no2_uncalibrated"].values, rtol=1e-6)


def test_unknown_channels_and_times_outside_are_named() -> None:
    with pytest.raises(CalibrationError, match=r"the flight has no channel 'no3'; .*no2"):
        zeroed(flight(), [check(10, 190, channel="no3")])
    with pytest.raises(CalibrationError, match=r"no2: 0 usable samples from 2025-10-05T15:40:00Z .* at least 10"):
        zeroed(flight(), [check(6000, 6100)])


def test_background_replaces_the_level_of_clean_air() -> None:
    done = rezeroed(flight(level=3.0, sigma=0.5))
    air = PLUME == 0
    assert abs(np.mean(done["no2"].values[air]) - 3) < 0.5
    assert abs(np.mean(done["no2"].values[~air]) - 63) < 1.5
    np.testing.assert_array_equal(done["so2"].values, flight()["so2"].values)
    budget = budget_of(done, "no2")
    assert budget is not None
    assert budget.zero == pytest.approx(0.5, abs=0.1)
    assert budget.anchor == 3.0
    assert "re-zeroed to the suite's background in clean air: no2 by +4" in done.attrs["history"]


def test_without_background_there_is_nothing_to_rezero_to() -> None:
    with pytest.raises(CalibrationError, match="suite 'two' states no background; add background"):
        rezeroed(flight())


def test_clean_air_is_where_the_strongest_channel_sees_no_plume() -> None:
    made = flight()
    values = np.array([made[n].values for n in SUITE.names])
    clean = clean_air(values, np.ones_like(values, bool), np.array([10.0, 8.0, 8.0]))
    inside = (np.arange(1500) % 300 > 253) & (np.arange(1500) % 300 < 297)
    assert not clean[inside].any()
    assert clean[(np.arange(1500) % 300 > 10) & (np.arange(1500) % 300 < 240)].mean() > 0.95


def test_shifted_readings_keep_their_own_flags() -> None:
    """Particles of clean air that are reported as 0 are neither stuck nor out of range when the zero is shifted."""
    rng, count = np.random.default_rng(1), np.arange(600)
    pm = np.where(count % 300 < 150, 0.0, np.round(np.abs(rng.normal(9, 3, 600)), 3))
    pm[400:403] = 2000.0
    suite = make_suite({"pm": {"pm25": {"units": "ug m-3", "valid_min": 0.0, "valid_max": 1000.0}}})
    logged = prepare(new_flight(START + count * np.timedelta64(1, "s"), {"pm25": pm}, suite))
    known = Interval(START, START + np.timedelta64(100, "s"), "pm25", -1.0)
    done = calibrate_flight(logged, zero=[known])
    assert np.nanmin(done["pm25"]) == -1.0
    for flight in (logged, done):
        assert not (flight["qc_pm25"].values & BAD).any()
        assert np.flatnonzero(flight["qc_pm25"].values & SATURATED).tolist() == [400, 401, 402]


def test_clean_level_of_a_record_of_minutes() -> None:
    np.testing.assert_allclose(clean_level(np.full(60, 5.0), np.ones(60, bool), rate_hz=1 / 60), 5.0)


def test_clean_level_is_interpolated_across_smoke() -> None:
    clean = np.ones(1500, bool)
    clean[600:700] = False
    level = clean_level(np.where(clean, 5.0, 1000.0), clean)
    np.testing.assert_allclose(level, 5.0)
