"""A written flight passes the checker of the conventions it claims."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import netCDF4
import numpy as np
import pytest
import xarray as xr

from pc2dae.errors import FlightError
from pc2dae.flight import read_flight, write_flight
from pc2dae.flight.conventions import with_conventions
from pc2dae.flight.netcdf import read_netcdf
from pc2dae.flight.schema import new_flight
from pc2dae.suite import load_suite


def flight(*, track: bool) -> xr.Dataset:
    suite, rng = load_suite("black-kite"), np.random.default_rng(3)
    values = {name: rng.normal(100.0, 1.0, 50) for name in suite.names}
    values |= {"air_temperature": rng.normal(20, 1, 50), "afe_a_co_we": rng.normal(300, 1, 50)}
    if track:
        values |= {"latitude": np.full(50, 52.0), "longitude": np.full(50, -105.0), "altitude": np.full(50, 500.0)}
        values["latitude"][3] = np.nan
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(50) * np.timedelta64(1, "s")
    made = new_flight(time, values, suite)
    made["co_b_uncertainty"] = ("time", np.full(50, 2.0))
    made["row_index"] = ("row", np.arange(20))
    made["row_time"] = ("row", time[:20] + np.timedelta64(4, "ms"))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("track", [True, False])
def test_compliance_checker_finds_no_error(tmp_path: Path, track: bool) -> None:
    pytest.importorskip("compliance_checker")
    write_flight(flight(track=track), tmp_path / "f.nc")
    command = [str(Path(sys.executable).parent / "compliance-checker"), "-f", "json", "-o", str(tmp_path / "r.json")]
    subprocess.run(
        [*command, "-t", "cf:1.11", "-t", "acdd:1.3", str(tmp_path / "f.nc")], capture_output=True, check=False
    )
    report = json.loads((tmp_path / "r.json").read_text())
    cf, acdd = report["cf:1.11"], report["acdd:1.3"]
    assert [p["msgs"] for p in cf["all_priorities"] if p["value"][0] != p["value"][1]] == []
    # Millivolts and brown carbon have no CF standard name, and a payload without GPS no bounds: nothing else may lack.
    lacking = {m for p in acdd["high_priorities"] for m in p["msgs"]} - {"standard_name", "units"}
    assert lacking == set()
    if track:
        assert [p["msgs"] for p in acdd["medium_priorities"] if p["value"][0] != p["value"][1]] == []


def test_a_track_makes_it_a_trajectory() -> None:
    described = with_conventions(flight(track=True))
    assert described.attrs["featureType"] == "trajectory"
    assert described["trajectory"].attrs["cf_role"] == "trajectory_id"
    assert described["co_b"].encoding["coordinates"] == "time latitude longitude altitude trajectory"
    assert described["bc_uv_1"].encoding["coordinates"].endswith("wavelength_375")
    assert described["wavelength_375"].item() == 375.0
    assert described.attrs["geospatial_lat_max"] == 52.0
    assert described.attrs["time_coverage_duration"] == "PT49S"
    assert described.attrs["time_coverage_resolution"] == "PT1S"
    assert "featureType" not in with_conventions(flight(track=False)).attrs


def test_what_the_owner_says_wins() -> None:
    said = flight(track=True).assign_attrs(license="CC-BY-4.0", title="Burn 3")
    described = with_conventions(said)
    assert (described.attrs["license"], described.attrs["title"]) == ("CC-BY-4.0", "Burn 3")


def test_uncertainty_has_the_standard_error_name() -> None:
    assert with_conventions(flight(track=True))["co_b_uncertainty"].attrs["standard_name"] == (
        "mole_fraction_of_carbon_monoxide_in_air standard_error"
    )


def test_dressing_leaves_the_flight_alone() -> None:
    before = flight(track=True)
    copy = before.copy(deep=True)
    with_conventions(before)
    xr.testing.assert_identical(before, copy)


def test_a_file_that_is_not_there_is_not_called_broken(tmp_path: Path) -> None:
    with pytest.raises(FlightError, match=r"there is no .*absent\.nc; check the path"):
        read_netcdf(tmp_path / "absent.nc")


def test_a_damaged_piece_is_an_error_that_names_its_variable(tmp_path: Path) -> None:
    path = tmp_path / "f.nc"
    write_flight(flight(track=True), path)
    data = path.read_bytes()
    time = (np.datetime64("2025-10-05T14:00:00", "s") + np.arange(50)).astype(np.int64).tobytes()
    at = data.find(time)
    assert at > 0
    path.write_bytes(data[: at + 8] + bytes([data[at + 8] ^ 1]) + data[at + 9 :])
    with pytest.raises(FlightError, match=r"f\.nc.*HDF error.*is the file complete\?"):
        read_flight(path)


def test_an_empty_heap_is_refused_before_the_library_loops_over_it(tmp_path: Path) -> None:
    path = tmp_path / "f.nc"
    write_flight(flight(track=True), path)
    data = path.read_bytes()
    at = data.find(b"GCOL") + 16
    path.write_bytes(data[:at] + bytes(4000) + data[at + 4000 :])
    with pytest.raises(FlightError, match=r"f\.nc is damaged at byte [\d,]+; is the file complete\?"):
        read_flight(path)


def test_declared_sizes_are_checked_before_anything_is_read(tmp_path: Path) -> None:
    path = tmp_path / "f.nc"
    write_flight(flight(track=True), path)
    with netCDF4.Dataset(path, "a") as file:
        file.createDimension("huge", 10**12)
        file.createVariable("huge", "f8", ("huge",), zlib=True)
    with pytest.raises(FlightError, match=r"f\.nc holds 1,000,000,.* values: too many for one flight"):
        read_flight(path)
    with netCDF4.Dataset(path, "a") as file:
        file.delncattr("suite")
    suite = load_suite("black-kite")
    assert read_flight(path, suite).sizes["time"] == 50  # a file of another origin may hold anything else


def test_a_file_may_be_open_elsewhere_in_the_process(tmp_path: Path) -> None:
    path = tmp_path / "f.nc"
    write_flight(flight(track=True), path)
    with xr.open_dataset(path):
        for _ in range(3):  # HDF5 crashes at the second
            read_flight(path)


def test_a_refused_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "f.nc"
    write_flight(flight(track=True), path)
    with netCDF4.Dataset(path, "a") as file:
        file.variables["time"].units = "seconds since yesterday"
    with pytest.raises(FlightError, match=r"cannot be read|is not a date"):
        read_flight(path)
    netCDF4.Dataset(path, "a").close()  # HDF5 locks what is open
