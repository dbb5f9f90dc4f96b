"""Columns in other units than the suite's: converted with a line, or refused in one."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import pc2dae
from pc2dae.align.grid import align
from pc2dae.errors import LogError
from pc2dae.flight.stream import Stream
from pc2dae.suite import Channel, Family, Source, Suite

SUITE = """
name = "box"
{top}
[motion]
altitude = "{altitude}"
[environment]
air_temperature = "T"
air_pressure = "P"
[[family]]
name = "gas"
[[family.channel]]
name = "{name}"
units = "{units}"
column = "{co}"
{keys}
"""
ROWS = 60
UG_PER_PPB = 28.010e-3 * 71000 / (8.314462618 * 283.15)  # CO at 10 degC and 710 hPa


def ingested(
    tmp_path: Path, *, co: str = "CO (ug/m3)", units: str = "ppb", altitude: str = "Alt", keys: str = "",
    air: bool = True, name: str = "co", top: str = "", divided_by: float = 1.0
) -> tuple[xr.Dataset, str]:  # fmt: skip
    """A flight at 10 degC and 710 hPa, with CO of 200 to 259 in its column's unit."""
    (tmp_path / "box.toml").write_text(
        SUITE.format(co=co, units=units, altitude=altitude, keys=keys, name=name, top=top)
    )
    rows = [
        f"2025-10-05T14:00:{s:02d}Z,{(200 + s) / divided_by},{1000 + s}" + (",10,710" if air else ",,")
        for s in range(ROWS)
    ]
    (tmp_path / "in.csv").write_text("\n".join([f"time,{co},{altitude},T,P", *rows, ""]))
    flight, report = pc2dae.ingest([tmp_path / "in.csv"], suite=tmp_path / "box.toml")
    return flight, "\n".join(report.repair_lines())


def test_a_gas_in_mass_is_converted_at_the_air_of_the_flight(tmp_path: Path) -> None:
    flight, lines = ingested(tmp_path)
    np.testing.assert_allclose(flight["co"].values, (200 + np.arange(ROWS)) / UG_PER_PPB, rtol=1e-9)
    assert "'co' is in ug m-3: converted to ppb at the temperature and pressure of the air" in lines


def test_a_mole_fraction_is_converted_to_mass(tmp_path: Path) -> None:
    flight, _ = ingested(tmp_path, co="CO (ppb)", units="mg m-3")
    np.testing.assert_allclose(flight["co"].values, (200 + np.arange(ROWS)) * UG_PER_PPB * 1e-3, rtol=1e-9)


def test_stated_reference_conditions_come_before_those_of_the_air(tmp_path: Path) -> None:
    keys = "reference_temperature_c = 20.0\nreference_pressure_hpa = 1013.25"
    flight, lines = ingested(tmp_path, keys=keys, air=False)
    per_ppb = 28.010e-3 * 101325 / (8.314462618 * 293.15)
    np.testing.assert_allclose(flight["co"].values, (200 + np.arange(ROWS)) / per_ppb, rtol=1e-9)
    assert "converted to ppb at 20 degC and 1013.25 hPa" in lines


def test_without_temperature_and_pressure_a_gas_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(LogError) as refused:
        ingested(tmp_path, air=False)
    assert str(refused.value) == (
        "in.csv: 'co' is in ug m-3, the suite's unit is ppb: the conversion needs the temperature and pressure of the"
        " air; add air_temperature and air_pressure, or state reference_temperature_c and reference_pressure_hpa"
    )


@pytest.mark.parametrize("unit", ["pphb", "mV", "V", "counts", "ppbC"])
def test_a_unit_that_cannot_be_converted_is_refused(tmp_path: Path, unit: str) -> None:
    with pytest.raises(
        LogError, match=rf"in.csv: column 'CO \({unit}\)' is in {unit}, but 'co' in ppb; correct .*units"
    ):
        ingested(tmp_path, co=f"CO ({unit})")
    flight, _ = ingested(tmp_path, co=f"CO ({unit})", top=f'column_units = {{"CO ({unit})" = "ppb"}}')
    assert flight["co"].values[0] == 200.0


def test_mole_per_mole_is_converted(tmp_path: Path) -> None:
    flight, _ = ingested(tmp_path, co="CO (mol/mol)", divided_by=1e9)
    np.testing.assert_allclose(flight["co"].values, 200.0 + np.arange(ROWS), rtol=1e-9)


@pytest.mark.parametrize("column", ["CO2 (%)", "CO2 [%]", "CO2 %", "CO2_%", "CO2_pct", "CO2 (percent)", "CO2 (vol%)"])
def test_advice_on_percent_helps(tmp_path: Path, column: str) -> None:
    names = {"name": "co2", "units": "ppm", "divided_by": 5000.0}
    with pytest.raises(LogError, match=r"'co2' around 0.0459 is not ppm, but would fit %; write the unit into the col"):
        ingested(tmp_path, co="CO2", **names)  # type: ignore[arg-type]
    flight, lines = ingested(tmp_path, co=column, **names)  # type: ignore[arg-type]
    np.testing.assert_allclose(flight["co2"].values, (200.0 + np.arange(ROWS)) * 2, rtol=1e-9)
    assert f"column '{column}' is in %: converted to ppm" in lines


@pytest.mark.parametrize(
    ("column", "first", "name"),
    [
        ("Alt", 1000.0, "altitude"),
        ("Alt_ft", 304.8, "altitude"),
        ("altitude(feet)", 304.8, "altitude"),
        ("alt_agl_ft", 304.8, "height"),
        ("relative_alt", 1000.0, "height"),
        ("alt_ellipsoid", 1000.0, "height_above_reference_ellipsoid"),
    ],
)
def test_an_altitude_is_in_metres_and_says_what_it_is_above(
    tmp_path: Path, column: str, first: float, name: str
) -> None:
    flight, lines = ingested(tmp_path, co="CO", altitude=column)
    assert flight["altitude"].values[0] == pytest.approx(first)
    assert flight["altitude"].attrs["standard_name"] == name
    assert ("ground" in flight["altitude"].attrs["long_name"]) == (name == "height")
    assert bool(re.search("converted to m", lines)) == (first != 1000.0)
    assert bool(re.search("taken as height above", lines)) == (name != "altitude")


@pytest.mark.parametrize(("units", "first"), [("km", 1000.0), ("feet", 0.3048), ("furlong", None)])
def test_the_altitude_of_an_instrument_is_in_metres(units: str, first: float | None) -> None:
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(ROWS) * np.timedelta64(1, "s")
    columns = {"co": np.linspace(200.0, 260.0, ROWS), "altitude": np.linspace(1.0, 2.0, ROWS)}
    stream = Stream("icartt", "", time, columns, {"co": "ppb", "altitude": units}, source="f.ict")
    channel = Channel(name="co", units="ppm")
    sources = {name: Source("icartt", "", name) for name in columns}
    suite = Suite(name="s", family=(Family(name="gas", channel=(channel,)),), sources=sources)
    if first is None:
        with pytest.raises(LogError, match=r"f.ict: 'altitude' is in 'furlong', which is not known; write it in m"):
            align([stream], suite)
        return
    flight, placed = align([stream], suite)
    assert flight["altitude"].values[0] == pytest.approx(first)
    assert flight["co"].values[0] == 0.2
    assert f"column 'altitude' is in {units}: converted to m" in placed[0].repairs
