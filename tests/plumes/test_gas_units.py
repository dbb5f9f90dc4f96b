"""Gases in mass beside gases as mole fractions: ratios are those of molecules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import pc2dae
from pc2dae.plumes import Survey, survey
from pc2dae.plumes.gas_units import gases_in_ppb
from pc2dae.suite import Suite, parse_suite

SUITE = """
name = "box"
[environment]
air_temperature = "T"
air_pressure = "P"
relative_humidity = "RH"
[[family]]
name = "gas"
[[family.channel]]
name = "co"
units = "{units}"
column = "CO"
[[family.channel]]
name = "co2"
units = "ppm"
column = "CO2"
{keys}
"""
ROWS = 900


def columns() -> dict[str, np.ndarray]:
    """CO [ppm] and CO₂ [ppm] with three plumes in a climb from 960 to 720 hPa."""
    rng, t = np.random.default_rng(22), np.arange(ROWS)
    plume = sum(np.exp(-0.5 * ((t - at) / 15.0) ** 2) for at in (200, 450, 700))
    co, co2 = 0.15 + 4.0 * plume + 0.01 * rng.standard_normal(ROWS), 420 + 60 * plume + 0.5 * rng.standard_normal(ROWS)
    return {"CO": co, "CO2": co2, "T": 25.0 - t / 60, "P": 960.0 - 240.0 * t / ROWS, "RH": np.full(ROWS, 60.0)}


def opened(folder: Path, table: dict[str, np.ndarray], *, units: str, keys: str = "") -> tuple[xr.Dataset, Suite]:
    suite = parse_suite(SUITE.format(units=units, keys=keys), where="box.toml")
    time = np.datetime_as_string(np.datetime64("2025-10-05T14:00:00") + np.arange(ROWS))
    rows = [f"{stamp}Z,{','.join(repr(float(v[i])) for v in table.values())}" for i, stamp in enumerate(time)]
    (folder / "in.csv").write_text("\n".join([f"time,{','.join(table)}", *rows, ""]))
    return pc2dae.open_flight(folder / "in.csv", suite=suite), suite


def mce(found: Survey) -> float:
    ratios = found.ratios
    return float(ratios[(ratios["scope"] == "flight") & (ratios["ratio"] == "mce")]["value"].iloc[0])


def in_mass(table: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The table with CO in ug m-3, by the gas law written out."""
    per_ppm = 28.010 * 100 * table["P"] / (8.314462618 * (table["T"] + 273.15))
    return table | {"CO": table["CO"] * per_ppm}


def test_mce_is_the_same_from_mass_and_from_mole_fraction(tmp_path: Path) -> None:
    table = columns()
    molar, _ = opened(tmp_path, table, units="ppm")
    mass, _ = opened(tmp_path, in_mass(table), units="ug m-3")
    expected = mce(survey(molar))
    assert expected == pytest.approx(60 / 64, abs=0.005)
    found = survey(mass)
    assert mce(found) == pytest.approx(expected, abs=1e-6)
    assert set(found.encounters[found.encounters["channel"] == "co"]["units"]) == {"ug m-3"}  # as it was measured


def test_without_pressure_there_is_no_mce_but_a_line_that_says_why(tmp_path: Path) -> None:
    table = in_mass(columns())
    flight, _ = opened(tmp_path, table | {"P": np.full(ROWS, np.nan)}, units="ug m-3")
    found = survey(flight)
    assert not (found.ratios["ratio"] == "mce").any()
    assert not (found.ratios["ratio"] == "co/co2").any()
    assert "co in ug m-3 not converted to ppb, no pressure of the air" in found.notes[0]


def test_moist_gases_are_dried_beside_a_dry_one(tmp_path: Path) -> None:
    key = 'standard_name = "mole_fraction_of_carbon_dioxide_in_dry_air"'
    flight, suite = opened(tmp_path, columns(), units="ppm", keys=key)
    dried, _, notes = gases_in_ppb(flight, suite)
    # e = 0.6·6.112·exp(17.62·25/268.12) = 18.96 hPa of 960 hPa
    assert dried["co"].values[0] / flight["co"].values[0] == pytest.approx(1 / (1 - 18.96 / 960), rel=1e-4)
    np.testing.assert_array_equal(dried["co2"].values, flight["co2"].values)
    assert notes == ()
    assert "humidity is not known" in gases_in_ppb(flight.drop_vars("relative_humidity"), suite)[2][0]
