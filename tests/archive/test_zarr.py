"""Flights in a Zarr v3 store: round trip, and each can be read on its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from pc2dae.archive.zarr import make_store, write_group
from pc2dae.errors import FlightError
from pc2dae.flight.store import read_zarr
from pc2dae.pipeline import denoise


@pytest.fixture
def store(tmp_path: Path) -> Path:
    make_store(tmp_path / "c.zarr")
    return tmp_path / "c.zarr"


def put(flight: xr.Dataset, store: Path, name: str) -> None:
    write_group(flight, store, name, scratch=store.parent / "scratch")


def test_flags_attributes_and_history_come_back(store: Path, flight: xr.Dataset) -> None:
    clean = denoise(flight, model="savgol")
    clean["row_stamp"] = ("row", np.array(["5.10.2025 9:00", "ö"], dtype=object))
    put(clean, store, "day/a")
    after = read_zarr(store / "day" / "a")
    xr.testing.assert_identical(after, clean)
    assert after["qc_co"].dtype == np.int32
    assert after["qc_co"].attrs["flag_masks"].dtype == np.int32
    assert after.attrs["history"].count("\n") == clean.attrs["history"].count("\n") >= 2


def test_it_opens_with_plain_xarray(store: Path, flight: xr.Dataset) -> None:
    put(flight, store, "day/a")
    assert json.loads((store / "day" / "a" / "zarr.json").read_text())["zarr_format"] == 3
    for opened in (
        xr.open_zarr(store / "day" / "a", chunks=None),
        xr.open_zarr(store, group="day/a", chunks=None, consolidated=False),
    ):
        np.testing.assert_array_equal(opened["co"].values, flight["co"].values)
        assert opened["co"].attrs["units"] == "ppb"
        assert opened.attrs["id"] == "f1"


def test_one_flight_is_read_without_the_others(store: Path, flight: xr.Dataset) -> None:
    put(flight, store, "a")
    put(flight, store, "b")
    shutil.rmtree(store / "a")
    (store / "a").write_text("torn")
    xr.testing.assert_identical(read_zarr(store / "b"), flight)


def test_writing_again_replaces_the_group_and_leaves_nothing_behind(store: Path, flight: xr.Dataset) -> None:
    put(flight, store, "a")
    put(flight.isel(time=slice(0, 50)), store, "a")
    assert read_zarr(store / "a").sizes["time"] == 50
    assert list((store.parent / "scratch").iterdir()) == []


def test_a_torn_group_is_one_line(store: Path, flight: xr.Dataset) -> None:
    put(flight, store, "a")
    (store / "a" / "zarr.json").unlink()
    with pytest.raises(FlightError, match="a cannot be read as Zarr") as caught:
        read_zarr(store / "a")
    assert "\n" not in str(caught.value)


def test_a_variable_is_one_file_beside_its_metadata_however_long_the_flight(store: Path, flight: xr.Dataset) -> None:
    seconds = np.arange(300_000)
    long = flight.isel(time=seconds % flight.sizes["time"])
    put(long.assign_coords(time=flight["time"].values[0] + seconds * np.timedelta64(1, "s")), store, "long")
    assert sorted(p.name for p in (store / "long" / "co").iterdir()) == ["c.0", "zarr.json"]


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
def test_a_flight_from_a_store_in_many_pieces_is_written_in_one(
    store: Path, flight: xr.Dataset, tmp_path: Path
) -> None:
    put(flight, store, "a")
    pieces = xr.open_zarr(store / "a", chunks=None).load().drop_encoding()
    in_pieces = {"co": {"chunks": (60,), "shards": (120,)}}
    pieces.to_zarr(tmp_path / "pieces.zarr", zarr_format=3, consolidated=True, encoding=in_pieces)
    put(read_zarr(tmp_path / "pieces.zarr"), store, "b")
    assert sorted(p.name for p in (store / "b" / "co").iterdir()) == ["c.0", "zarr.json"]
    xr.testing.assert_identical(read_zarr(store / "b"), flight)
