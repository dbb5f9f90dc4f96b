"""Round trip of files; writing twice gives identical bytes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from pc2dae.errors import FlightError
from pc2dae.flags import SATURATED
from pc2dae.flight import read_flight, write_flight
from pc2dae.flight.schema import new_flight
from pc2dae.inspection import inspect_flight
from pc2dae.suite import Channel, Family, Suite, load_suite

SECOND = np.timedelta64(1, "s")
START = np.datetime64("2025-10-05T14:00:00", "ns")


def flight(rows: int = 60, *, track: bool = True) -> xr.Dataset:
    suite, rng = load_suite("black-kite"), np.random.default_rng(7)
    values = {name: rng.normal(100.0, 1 / 3, rows) for name in suite.names}
    values["co_a"][3:6] = np.nan
    values |= {"air_temperature": rng.normal(20, 1, rows), "ground_speed": rng.uniform(0, 8, rows)}
    if track:
        values |= {"latitude": 52 + rng.normal(0, 1e-4, rows), "longitude": -105 + rng.normal(0, 1e-4, rows)}
        values |= {"altitude": rng.uniform(500, 600, rows)}
    values["afe_a_co_we"] = rng.normal(300, 1, rows)
    made = new_flight(START + np.arange(rows) * SECOND, values, suite, flags={"no_a": np.full(rows, SATURATED)})
    made["afe_a_co_we"].attrs["units"] = "mV"
    made["co_b_raw"] = ("time", rng.normal(0, 1, rows).astype(np.float32))
    made["co_b_uncertainty"] = ("time", np.full(rows, 1 / 7))
    made.attrs |= {"calibration": '{"afe/a": {"type": "810-0023-00"}}', "clock_offset_s": 1.5}
    return made


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
@pytest.mark.parametrize("track", [True, False])
def test_everything_comes_back(tmp_path: Path, suffix: str, track: bool) -> None:
    before = flight(track=track)
    write_flight(before, tmp_path / f"f{suffix}")
    after = read_flight(tmp_path / f"f{suffix}")
    xr.testing.assert_identical(before, after)
    assert {n: v.dtype for n, v in before.variables.items()} == {n: v.dtype for n, v in after.variables.items()}
    assert after["qc_co_a"].attrs["flag_masks"].dtype == np.int32
    assert isinstance(after.attrs["clock_offset_s"], float)


@pytest.mark.parametrize("suffix", [".nc", ".csv", ".ict"])
def test_same_flight_same_bytes(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1760000000")
    for name in ("a", "b"):
        write_flight(flight(), tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_writing_again_over_a_zarr_replaces_it(tmp_path: Path) -> None:
    write_flight(flight(30), tmp_path / "f.zarr")
    write_flight(flight(20), tmp_path / "f.zarr")
    assert read_flight(tmp_path / "f.zarr").sizes["time"] == 20
    assert os.listdir(tmp_path) == ["f.zarr"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    write_flight(flight(), tmp_path / "f.nc")
    before = (tmp_path / "f.nc").read_bytes()
    broken = flight().drop_attrs()
    with pytest.raises(FlightError, match="does not name its suite"):
        write_flight(broken, tmp_path / "f.nc")
    assert (tmp_path / "f.nc").read_bytes() == before
    assert os.listdir(tmp_path) == ["f.nc"]


def test_csv_has_the_promised_columns_and_exact_numbers(tmp_path: Path) -> None:
    before = flight()
    write_flight(before, tmp_path / "f.csv")
    table = pd.read_csv(tmp_path / "f.csv")
    head = list(table.columns)
    assert head[:3] == ["time", "bc_uv_1", "qc_bc_uv_1"]
    assert head[head.index("co_b") :][:3] == ["co_b", "co_b_uncertainty", "qc_co_b"]
    assert table["time"][0] == "2025-10-05T14:00:00Z"
    after = read_flight(tmp_path / "f.csv")
    for name in ("co_a", "co_b", "co_b_uncertainty", "qc_no_a", "latitude"):
        np.testing.assert_array_equal(after[name].values, before[name].values)


def test_csv_gives_back_the_rows_of_the_file_it_came_from(tmp_path: Path) -> None:
    made = flight(5)
    made["row_index"] = ("row", np.array([0, 2, 2, 4]))
    made["row_time"] = ("row", START + np.array([0, 2000, 2400, 4000]) * np.timedelta64(1, "ms"))
    write_flight(made, tmp_path / "f.csv")
    table = pd.read_csv(tmp_path / "f.csv")
    assert list(table["time"]) == [
        "2025-10-05T14:00:00.000Z",
        "2025-10-05T14:00:02.000Z",
        "2025-10-05T14:00:02.400Z",
        "2025-10-05T14:00:04.000Z",
    ]
    np.testing.assert_array_equal(table["co_b"], made["co_b"].values[[0, 2, 2, 4]])
    made["row_stamp"] = ("row", np.array(["5.10.2025 9:00:00", "a", "b", "c"], dtype=object))
    write_flight(made, tmp_path / "g.nc")
    write_flight(read_flight(tmp_path / "g.nc"), tmp_path / "g.csv")
    assert list(pd.read_csv(tmp_path / "g.csv")["time"]) == ["5.10.2025 9:00:00", "a", "b", "c"]


def test_stamps_finer_than_a_second_survive_netcdf(tmp_path: Path) -> None:
    suite = load_suite("black-kite").model_copy(update={"rate_hz": 10.0})
    made = flight(3).assign_coords(time=START + np.array([0, 100_001, 200_002]) * np.timedelta64(1, "us"))
    made.attrs["suite"] = suite.model_dump_json(exclude_defaults=True)
    write_flight(made, tmp_path / "f.nc")
    np.testing.assert_array_equal(read_flight(tmp_path / "f.nc")["time"].values, made["time"].values)


def test_a_standard_name_that_contradicts_its_units_is_dropped_with_a_line(tmp_path: Path) -> None:
    suite = Suite(name="s", family=(Family(name="gas", channel=(Channel(name="co", units="ppb"),)),))
    time = START + np.arange(30) * SECOND
    air = {"air_temperature": np.full(30, 10.0), "air_pressure": np.full(30, 710.0)}
    made = new_flight(time, {"co": np.linspace(200, 260, 30), **air}, suite)
    made["co"].attrs |= {"units": "ug m-3", "standard_name": "mole_fraction_of_carbon_monoxide_in_air"}
    made.to_netcdf(tmp_path / "f.nc")
    flight = read_flight(tmp_path / "f.nc")
    assert "standard_name" not in flight["co"].attrs
    line = "co: standard_name mole_fraction_of_carbon_monoxide_in_air contradicts its units ug m-3 and is dropped"
    assert line in flight.attrs["history"]
    assert line in inspect_flight(flight)["warnings"]


def test_a_strangers_height_above_ground_keeps_its_name(tmp_path: Path) -> None:
    suite = Suite(name="s", family=(Family(name="gas", channel=(Channel(name="co", units="ppb"),)),))
    time = START + np.arange(30) * SECOND
    height = ("time", np.full(30, 100.0), {"units": "feet", "standard_name": "height"})
    xr.Dataset({"co": ("time", np.linspace(200, 260, 30)), "altitude": height}, {"time": time}).to_netcdf(
        tmp_path / "f.nc"
    )
    flight = read_flight(tmp_path / "f.nc", suite)
    assert flight["altitude"].attrs["standard_name"] == "height"
    np.testing.assert_allclose(flight["altitude"].values, 30.48)


def test_a_strangers_netcdf_is_read_by_a_suite(tmp_path: Path) -> None:
    stamps = START + np.arange(3) * SECOND
    stranger = xr.Dataset({"CO_ppm": ("time", [1.0, np.nan, 3.0])}, coords={"time": stamps})
    stranger.to_netcdf(tmp_path / "s.nc")
    with pytest.raises(FlightError, match="pass --suite"):
        read_flight(tmp_path / "s.nc")
    gas = Family(name="gas", channel=(Channel(name="co", units="ppm", column="CO_ppm"),))
    read = read_flight(tmp_path / "s.nc", Suite(name="kolibri", family=(gas,)))
    np.testing.assert_array_equal(read["co"].values, [1.0, np.nan, 3.0])
    np.testing.assert_array_equal(read["qc_co"].values, [0, 1, 0])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("f.txt", "", "not a known flight format"),
        ("f.nc", "not netCDF", "cannot be read as netCDF"),
        ("f.csv", "", "not a flight's CSV"),
        ("f.csv", "a,b\n1,2\n", "no column 'time'"),
        ("f.csv", "time,x\n2025-01-01T00:00:00Z,2\n", "pass --suite"),
        ("f.ict", "time,x\n", "not a complete ICARTT"),
    ],
)
def test_errors_say_what_is_wrong_in_one_line(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(FlightError, match=message) as caught:
        read_flight(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FlightError, match="there is no"):
        read_flight(tmp_path / "nowhere.nc")
