"""Flights for mapping tools, read with the tools' own readers."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyogrio
import pytest
import xarray as xr

from pc2dae.errors import FlightError
from pc2dae.flags import SATURATED
from pc2dae.flight import read_flight, write_flight
from pc2dae.flight.kml import MOST_POINTS
from pc2dae.flight.schema import new_flight
from pc2dae.flight.store import WRITE_ONLY, check_target
from suites import make_suite

NS = {"k": "http://www.opengis.net/kml/2.2"}


def flight(rows: int = 4, *, track: bool = True) -> xr.Dataset:
    suite = make_suite({"gas": {"co": "ppm"}})
    co = np.linspace(0.0, 8.0, rows)
    co[1] = np.nan
    values = {"co": co, "co_uncertainty": np.full(rows, 0.5), "afe_we": np.full(rows, 300.0)}
    if track:
        latitude = np.linspace(39.0, 39.003, rows)
        latitude[2] = np.nan
        values |= {"latitude": latitude, "longitude": np.full(rows, -96.5), "altitude": np.linspace(400, 430, rows)}
    flags = {"co": np.where(np.arange(rows) == rows - 1, SATURATED, 0)}
    time = np.datetime64("2024-04-10T18:48:00", "ns") + np.arange(rows) * np.timedelta64(1, "s")
    return new_flight(time, values, suite, flags=flags, flight_id="f1")


def test_geojson_has_a_point_for_each_sample(tmp_path: Path) -> None:
    write_flight(flight(), tmp_path / "f.geojson")
    found = json.loads((tmp_path / "f.geojson").read_text())
    first, second, third, last = found["features"]
    assert first["geometry"] == {"type": "Point", "coordinates": [-96.5, 39.0]}
    assert first["properties"]["time"] == "2024-04-10T18:48:00Z"
    assert second["properties"]["co"] is None
    assert third["geometry"] is None
    assert (last["properties"]["co"], last["properties"]["co_uncertainty"]) == (8.0, 0.5)
    assert last["properties"]["qc_co"] == SATURATED
    assert "afe_we" not in first["properties"]
    assert found["pc2dae"]["units"]["co"] == "ppm"
    info = pyogrio.read_info(tmp_path / "f.geojson")
    assert (info["features"], info["geometry_type"], info["crs"]) == (4, "Point", "EPSG:4326")


def test_kml_is_a_line_coloured_by_smoke(tmp_path: Path) -> None:
    write_flight(flight(), tmp_path / "f.kml")
    pieces = ElementTree.parse(tmp_path / "f.kml").findall(".//k:Placemark", NS)
    styles = [piece.findtext("k:styleUrl", namespaces=NS) for piece in pieces]
    # The second point is coloured by the sample after it, which has 5.3 ppm and no position; the last is its end.
    assert styles == ["#c0", "#c5"]
    line = pieces[0].findtext("k:LineString/k:coordinates", namespaces=NS)
    assert line == "-96.5,39.0,400.0 -96.5,39.001,410.0"
    assert pieces[0].findtext("k:LineString/k:altitudeMode", namespaces=NS) == "absolute"
    assert pieces[0].findtext("k:TimeSpan/k:begin", namespaces=NS) == "2024-04-10T18:48:00Z"
    assert pyogrio.read_info(tmp_path / "f.kml")["features"] == 2


def test_a_long_track_is_thinned_and_keeps_its_peak(tmp_path: Path) -> None:
    long = flight(10 * MOST_POINTS)
    long["co"][:] = 0.0
    long["co"][777:900] = 50.0
    write_flight(long, tmp_path / "f.kml")
    text = (tmp_path / "f.kml").read_text()
    assert text.count("-96.5,") <= MOST_POINTS + 10
    assert "<styleUrl>#c7</styleUrl>" in text


def test_height_above_ground_is_relative_to_it_in_kml(tmp_path: Path) -> None:
    low = flight()
    low["altitude"].attrs["standard_name"] = "height"
    write_flight(low, tmp_path / "f.kml")
    assert "relativeToGround" in (tmp_path / "f.kml").read_text()


@pytest.mark.parametrize("suffix", WRITE_ONLY)
def test_same_flight_same_bytes(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1760000000")
    for name in ("a", "b"):
        write_flight(flight(), tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", [".geojson", ".kml"])
def test_no_position_is_one_line(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(FlightError, match="the flight has no position"):
        write_flight(flight(track=False), tmp_path / f"f{suffix}")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_read_back_says_so(tmp_path: Path) -> None:
    (tmp_path / "f.kml").touch()
    with pytest.raises(FlightError, match=r"f\.kml: \.kml files cannot be read back"):
        read_flight(tmp_path / "f.kml")
    with pytest.raises(FlightError, match=r"use one of .*\.geojson, \.kml"):
        check_target(tmp_path / "f.mat")
