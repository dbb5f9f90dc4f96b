"""Concentrations per volume at standard conditions."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import pc2dae
from pc2dae.errors import FlightError
from pc2dae.flags import MISSING
from pc2dae.flight.conditions import at_standard_conditions
from pc2dae.flight.schema import new_flight, suite_of
from pc2dae.suite import parse_suite

SUITE = """
name = "smoke"
[[family]]
name = "particles"
[[family.channel]]
name = "pm25"
units = "ug m-3"
background = 10.0
[[family.channel]]
name = "bc"
units = "ng m-3"
reference_temperature_c = 25.0
reference_pressure_hpa = 1013.25
[[family]]
name = "gas"
[[family.channel]]
name = "co"
units = "ppb"
"""
ROWS = 400
START = np.datetime64("2025-10-05T14:00:00", "ns")


def flight(**more: np.ndarray) -> xr.Dataset:
    """A flight at 20 degC and 710 hPa, with PM2.5 around 30, black carbon around 1000 and CO around 300."""
    rng = np.random.default_rng(4)
    values = {"pm25": 30.0, "bc": 1000.0, "co": 300.0}
    columns = {n: v * (1 + 0.05 * rng.standard_normal(ROWS)) for n, v in values.items()}
    columns |= {"air_temperature": np.full(ROWS, 20.0), "air_pressure": np.full(ROWS, 710.0)} | more
    time = START + np.arange(ROWS) * np.timedelta64(1, "s")
    return new_flight(time, columns, parse_suite(SUITE, where="smoke.toml"))


def test_masses_are_brought_to_standard_conditions_and_say_so() -> None:
    before = flight()
    after = at_standard_conditions(before)
    # 1013.25/710·293.15/273.15 = 1.5316056 from the air, 298.15/273.15 = 1.091525 from 25 degC
    np.testing.assert_allclose(after["pm25"].values / before["pm25"].values, 1.5316056, rtol=1e-6)
    np.testing.assert_allclose(after["bc"].values / before["bc"].values, 1.091525, rtol=1e-6)
    np.testing.assert_array_equal(after["co"].values, before["co"].values)
    assert after["pm25"].attrs["long_name"] == "pm25 at 273.15 K and 1013.25 hPa"
    assert suite_of(after)["pm25"].reference == suite_of(after)["bc"].reference == (0.0, 1013.25)
    assert suite_of(after)["co"].reference is None
    assert suite_of(after)["pm25"].background == pytest.approx(15.316056)
    assert "pm25, bc given at 273.15 K and 1013.25 hPa" in after.attrs["history"]
    xr.testing.assert_identical(at_standard_conditions(after), after)


def test_denoised_masses_and_uncertainties_are_at_standard_conditions() -> None:
    ambient, standard = (pc2dae.denoise(flight(), model="savgol", standard_conditions=on) for on in (False, True))
    for name in ("pm25", "pm25_raw", "pm25_unbounded"):
        np.testing.assert_allclose(standard[name].values, 1.5316056 * ambient[name].values, rtol=1e-6)
        assert standard[name].attrs["reference_pressure_hpa"] == 1013.25
        assert "reference_pressure_hpa" not in ambient[name].attrs


def test_without_pressure_standard_conditions_are_refused_in_one_line() -> None:
    with pytest.raises(FlightError) as refused:
        at_standard_conditions(flight().drop_vars("air_pressure"))
    assert str(refused.value) == (
        "'pm25' cannot be given at 273.15 K and 1013.25 hPa: no pressure of the air; add air_temperature and"
        " air_pressure, or state reference_temperature_c and reference_pressure_hpa"
    )


def test_values_far_from_any_pressure_are_missing_at_standard_conditions() -> None:
    pressure = np.where(np.arange(ROWS) < 200, 710.0, np.nan)
    after = at_standard_conditions(flight(air_pressure=pressure))
    missing = np.arange(ROWS) > 259  # 60 s after the last pressure
    np.testing.assert_array_equal(np.isnan(after["pm25"].values), missing)
    np.testing.assert_array_equal(after["qc_pm25"].values & MISSING != 0, missing)
    assert not np.isnan(after["bc"].values).any()  # its own reference is stated
    assert "within 60 s, now missing: 140 of pm25" in after.attrs["history"]
