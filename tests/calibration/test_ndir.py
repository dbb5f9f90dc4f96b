"""Pressure and humidity of NDIR CO2: by hand, in a flight, and once only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import pc2dae
from pc2dae.calibration.compensate import compensate
from pc2dae.calibration.ndir import correct_ndir, dry_factor, pressure_factor
from pc2dae.errors import SuiteError
from pc2dae.flags import MISSING, OUT_OF_RANGE, OUTSIDE_CALIBRATION, STALE
from pc2dae.flight.schema import new_flight
from pc2dae.flight.store import write_flight
from pc2dae.ingestion import prepare
from pc2dae.qc import screen
from pc2dae.suite import Channel, Suite, parse_suite

ROWS = 200
SUITE = """
name = "box"
[[family]]
name = "co2"
[[family.channel]]
name = "co2"
units = "ppm"
lower_bound = 300.0
valid_min = 300.0
valid_max = 20000.0
standard_name = "mole_fraction_of_carbon_dioxide_in_air"
"""
TIME = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(ROWS) * np.timedelta64(1, "s")


def suite(*keys: str) -> Suite:
    return parse_suite(SUITE + "\n".join(keys), where="box.toml")


def flight(air: dict[str, np.ndarray], *keys: str, reading: np.ndarray | None = None) -> xr.Dataset:
    """A flight that reads 420 ppm as it would at 716 hPa, in whole ppm with noise."""
    noise = np.round(np.random.default_rng(0).normal(0, 2, ROWS))
    return new_flight(TIME, {"co2": 241.0 + noise if reading is None else reading} | air, suite(*keys))


def test_only_plausible_air_corrects() -> None:
    pressure = np.array([1013.25, 506.625, 299.0, 1101.0, np.nan, -9999.0])
    np.testing.assert_allclose(pressure_factor(pressure, 2.0), [1, 4, np.nan, np.nan, np.nan, np.nan])
    dry = dry_factor([20, 20, 80, 20, np.nan], [100, -5, 50, 150, 50], 1000.0)
    np.testing.assert_allclose(dry, [1 / (1 - 0.02333), *[np.nan] * 4], rtol=1e-5)  # 23.33 hPa at 20 degC


def test_each_correction_is_made_where_its_air_is_known() -> None:
    channel = Channel(name="co2", units="ppm", pressure_exponent=1.0, dry=True)
    air = np.array([[20.0, np.nan, 20.0], [100.0, 100.0, 100.0], [1013.25 / 2, 1013.25 / 2, np.nan]])
    value, known = correct_ndir(np.full(3, 200.0), air, channel)
    np.testing.assert_allclose(value, [400 / (1 - 23.33 / 506.625), 400, 200], rtol=1e-5)
    assert known.tolist() == [True, False, False]


def test_a_reading_below_the_valid_range_is_valid_at_standard_pressure() -> None:
    logged = flight({"air_pressure": np.full(ROWS, 716.0)}, "pressure_exponent = 1.6")
    done = prepare(logged)
    assert np.median(done["co2"]) == pytest.approx(420, abs=1)
    assert not (done["qc_co2"].values & (OUT_OF_RANGE | OUTSIDE_CALIBRATION)).any()
    np.testing.assert_array_equal(done["co2_uncalibrated"], logged["co2"])
    assert done["co2"].attrs["pressure_exponent"] == 1.6
    assert "co2 corrected for pressure, ·(1013.25 hPa/P)^1.6" in done.attrs["history"]
    np.testing.assert_allclose(done["co2_calibration_uncertainty"] / done["co2"], 0.15 * np.log(1013.25 / 716))


def test_nothing_is_corrected_unasked() -> None:
    done = prepare(flight({"air_pressure": np.full(ROWS, 716.0)}))
    assert "co2_uncalibrated" not in done
    assert np.median(done["co2"]) == 241


def test_repeats_are_found_before_the_pressure_makes_them_differ() -> None:
    held = np.repeat(np.round(np.random.default_rng(1).normal(241, 9, ROWS // 2)), 2)
    pressure = np.linspace(710.0, 720.0, ROWS)
    done = prepare(flight({"air_pressure": pressure}, "pressure_exponent = 1.6", "native_rate_hz = 0.5", reading=held))
    assert np.mean((done["qc_co2"].values & STALE) != 0) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("pressure", [None, np.full(ROWS, np.nan), np.full(ROWS, 0.0)])
def test_without_pressure_the_reading_is_left_and_flagged(pressure: np.ndarray | None) -> None:
    logged = flight({} if pressure is None else {"air_pressure": pressure}, "pressure_exponent = 1.6")
    done = compensate(screen(logged))
    np.testing.assert_array_equal(done["co2"], logged["co2"])
    assert (done["qc_co2"].values & OUTSIDE_CALIBRATION).all()
    assert "co2 not corrected: no pressure of the air" in done.attrs["history"]


def test_pressure_is_corrected_without_the_humidity_for_dry_air() -> None:
    logged = flight({"air_pressure": np.full(ROWS, 716.0)}, "pressure_exponent = 1.6", "dry = true")
    done = prepare(logged)
    assert np.median(done["co2"]) == pytest.approx(420, abs=1)
    assert "not converted to dry mole fraction: no temperature and humidity" in done.attrs["history"]


def test_a_gap_in_the_pressure_makes_no_step_and_is_flagged() -> None:
    pressure = np.full(ROWS, 716.0)
    pressure[[10, *range(50, 100)]] = np.nan
    done = prepare(flight({"air_pressure": pressure}, "pressure_exponent = 1.6"))
    assert np.ptp(done["co2"].values) < 40
    flagged = np.flatnonzero(done["qc_co2"].values & OUTSIDE_CALIBRATION)
    assert flagged.tolist() == list(range(55, 95))  # more than 5 s from the nearest pressure


def test_sentinels_and_wrapped_integers_stay_missing() -> None:
    reading = np.tile([240.0, 241.0, 242.0, 243.0, 244.0], ROWS // 5)
    reading[[20, 60, 61]] = [-9999.0, 65494.0, 65535.0]
    done = prepare(flight({"air_pressure": np.full(ROWS, 716.0)}, "pressure_exponent = 1.6", reading=reading))
    assert np.isnan(done["co2"].values[[20, 60, 61]]).all()
    assert (done["qc_co2"].values[[20, 60, 61]] & MISSING).all()
    assert np.nanmax(done["co2"]) < 430


def test_dry_mole_fraction_has_its_own_standard_name() -> None:
    air = {"air_temperature": np.full(ROWS, 20.0), "relative_humidity": np.full(ROWS, 50.0)}
    moist = flight(air | {"air_pressure": np.full(ROWS, 1000.0)}, "dry = true", reading=np.linspace(400, 500, ROWS))
    done = prepare(moist)
    np.testing.assert_allclose(done["co2"] / done["co2_uncalibrated"], 1 / (1 - 11.665 / 1000), rtol=1e-5)
    assert done["co2"].attrs["standard_name"] == "mole_fraction_of_carbon_dioxide_in_dry_air"
    assert "co2 converted to dry mole fraction" in done.attrs["history"]
    without = prepare(moist.drop_vars("relative_humidity"))
    np.testing.assert_array_equal(without["co2"], moist["co2"])
    assert without["co2"].attrs["standard_name"] == "mole_fraction_of_carbon_dioxide_in_air"


@pytest.mark.parametrize("suffix", ["nc", "csv", "ict"])
def test_a_written_flight_is_not_corrected_again(tmp_path: Path, suffix: str) -> None:
    pressure = "pressure_exponent = 1.6"
    done = prepare(flight({"air_pressure": np.full(ROWS, 716.0)}, pressure))
    write_flight(done, tmp_path / f"flight.{suffix}")
    again = prepare(pc2dae.open_flight(tmp_path / f"flight.{suffix}", suite=suite(pressure)))
    np.testing.assert_allclose(again["co2"], done["co2"], rtol=1e-6)


def test_dry_needs_a_mole_fraction() -> None:
    with pytest.raises(SuiteError, match="channel 'pm': dry needs a mole fraction, such as ppm, not ug m-3"):
        Channel(name="pm", units="ug m-3", dry=True)
