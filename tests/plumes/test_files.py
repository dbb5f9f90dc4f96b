"""Tables of plumes for spreadsheets and maps, read with the tools' own readers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyogrio
import pytest
import xarray as xr
from typer.testing import CliRunner

from pc2dae.cli import app
from pc2dae.errors import FlightError
from pc2dae.flight import write_flight
from pc2dae.flight.schema import new_flight
from pc2dae.plumes import Survey, survey
from pc2dae.plumes.files import write_plumes
from pc2dae.plumes.table import FIXED, encounter_table
from suites import make_suite

NS = {"k": "http://www.opengis.net/kml/2.2"}
ROWS = 900
PEAKS = (300, 600)  # samples


def smoky(*, track: bool = True) -> xr.Dataset:
    """Two plumes with ΔCO/ΔCO₂ = 0.05 on a track to the north."""
    rng, t = np.random.default_rng(8), np.arange(ROWS)
    smoke = sum(np.exp(-0.5 * ((t - peak) / 10.0) ** 2) for peak in PEAKS)
    values = {"co": 0.2 + 20.0 * smoke + rng.normal(0, 0.05, ROWS), "co2": 420 + 400.0 * smoke + rng.normal(0, 1, ROWS)}
    if track:
        values |= {"latitude": 39 + t * 1e-5, "longitude": np.full(ROWS, -96.5), "altitude": np.full(ROWS, 400.0)}
        values["latitude"][PEAKS[0]] = np.nan
    suite = make_suite({"gas": {"co": "ppm", "co2": "ppm"}})
    time = np.datetime64("2024-04-10T18:48:00", "ns") + t * np.timedelta64(1, "s")
    return new_flight(time, values, suite, level="compensated", flight_id="f1")


@pytest.fixture(scope="module")
def results() -> list[tuple[xr.Dataset, Survey]]:
    flight = smoky()
    return [(flight, survey(flight))]


def test_the_table_has_a_row_for_the_flight_and_for_each_encounter(results: list[tuple[xr.Dataset, Survey]]) -> None:
    table = encounter_table(*results[0])
    assert tuple(table.columns[: len(FIXED)]) == FIXED
    assert list(table["scope"]) == ["flight", "encounter 1", "encounter 2"]
    assert list(table["peak_time"][1:].dt.strftime("%H:%M")) == ["18:53", "18:58"]  # 300 s and 600 s after 18:48
    np.testing.assert_allclose(table["latitude"][1:], [39.003, 39.006], atol=5e-5)
    np.testing.assert_allclose(table["co_per_co2"], 0.05, rtol=0.05)
    # √(2π)·10 s × 20 ppm = 501.3 ppm s, and twice that for both.
    np.testing.assert_allclose(table["co_excess"], [1002.7, 501.3, 501.3], rtol=0.02)
    np.testing.assert_allclose(table["co_excess"] / table["co2_excess"], table["co_per_co2"], rtol=1e-6)
    np.testing.assert_allclose(np.hypot(table["mce_random_sigma"], table["mce_systematic_sigma"]), table["mce_sigma"])
    # EF = 1000 · 0.5 · 28.01/12.011 · ΔCO/(ΔCO + ΔCO₂) = 55.5 g per kg of dry fuel.
    np.testing.assert_allclose(table["ef_co"], 55.5, rtol=0.05)


def test_a_channel_without_observations_in_an_encounter_has_no_excess(
    results: list[tuple[xr.Dataset, Survey]],
) -> None:
    (flight, found), co2 = results[0], results[0][1].signals["co2"]
    early = np.arange(ROWS) < found.intervals[1][0]
    blind = replace(found, signals=found.signals | {"co2": replace(co2, seen=early)})
    table = encounter_table(flight, blind)
    assert list(table["co2_excess"].notna()) == [False, True, False]
    assert table["co_excess"].notna().all()


def test_csv_needs_no_options(results: list[tuple[xr.Dataset, Survey]], tmp_path: Path) -> None:
    write_plumes(results, tmp_path / "p.csv")
    read, table = pd.read_csv(tmp_path / "p.csv"), encounter_table(*results[0])
    assert list(read.columns) == list(table.columns)
    assert read["onset"][0] == "2024-04-10T18:48:00Z"
    assert read["co_units"][0] == "ppm"
    np.testing.assert_array_equal(read["co_per_co2_sigma"], table["co_per_co2_sigma"])


def test_geojson_has_the_track_and_a_line_for_each_encounter(
    results: list[tuple[xr.Dataset, Survey]], tmp_path: Path
) -> None:
    write_plumes(results, tmp_path / "p.geojson")
    track, first, _ = json.loads((tmp_path / "p.geojson").read_text())["features"]
    assert track["geometry"]["coordinates"][0] == [-96.5, 39.0]
    assert len(track["geometry"]["coordinates"]) == ROWS - 1
    start, stop = results[0][1].intervals[0]
    assert len(first["geometry"]["coordinates"]) == stop - start - 1  # a sample has no position
    assert set(first["properties"]) == set(encounter_table(*results[0]).columns)
    assert (track["properties"]["number"], first["properties"]["number"]) == (None, 1)
    info = pyogrio.read_info(tmp_path / "p.geojson")
    assert (info["features"], info["geometry_type"], info["crs"]) == (3, "LineString", "EPSG:4326")


def test_kml_has_a_balloon_for_each_encounter(results: list[tuple[xr.Dataset, Survey]], tmp_path: Path) -> None:
    write_plumes(results, tmp_path / "p.kml")
    marks = ElementTree.parse(tmp_path / "p.kml").findall(".//k:Placemark", NS)
    assert [mark.findtext("k:name", namespaces=NS) for mark in marks] == [
        "f1, flight",
        "f1, encounter 1",
        "f1, encounter 2",
    ]
    assert "<td>co_per_co2</td><td>0.0" in str(marks[1].findtext("k:description", namespaces=NS))
    data = {d.get("name"): d.findtext("k:value", namespaces=NS) for d in marks[1].iterfind(".//k:Data", NS)}
    assert data["co_units"] == "ppm"
    longitude, latitude, altitude = str(marks[2].findtext(".//k:Point/k:coordinates", namespaces=NS)).split(",")
    assert (float(longitude), float(altitude)) == (-96.5, 400.0)
    assert abs(float(latitude) - 39.006) < 5e-5
    assert pyogrio.read_info(tmp_path / "p.kml")["features"] == 3


def test_without_position_only_a_table_is_written(tmp_path: Path) -> None:
    flight = smoky(track=False)
    found = [(flight, survey(flight))]
    write_plumes(found, tmp_path / "p.csv")
    assert pd.read_csv(tmp_path / "p.csv")["latitude"].isna().all()
    for suffix in (".geojson", ".kml"):
        with pytest.raises(FlightError, match="the flight has no position"):
            write_plumes(found, tmp_path / f"p{suffix}")


def test_command_line(tmp_path: Path) -> None:
    write_flight(smoky(), tmp_path / "f.nc")
    run, out = CliRunner().invoke, tmp_path / "p.csv"
    for _ in range(2):  # its own file may be overwritten
        result = run(app, ["plumes", str(tmp_path / "f.nc"), "-o", str(out)])
        assert result.exit_code == 0
        assert f"written: {out}" in result.output
    out.write_text("mine,not yours\n1,2\n")
    refused = run(app, ["plumes", str(tmp_path / "f.nc"), "-o", str(out)])
    assert "was not written by pc2dae" in str(refused.exception)
    odd = run(app, ["plumes", str(tmp_path / "f.nc"), "-o", str(tmp_path / "p.xlsx")])
    assert str(odd.exception) == "'p.xlsx' is not a known format of plumes; use one of .csv, .geojson, .kml"
