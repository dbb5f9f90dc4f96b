"""Flights as zipped Zarr v3 stores: round trip, the same bytes, and archives of the earlier layout."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
import xarray as xr
from zarr.storage import ZipStore

from pc2dae.archive.layout import Archive, open_archive
from pc2dae.archive.sources import find_sources, open_source
from pc2dae.denoising import denoise
from pc2dae.errors import FlightError
from pc2dae.flight import read_flight
from pc2dae.flight.zarr import write_zipped


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "day" / "a.zarr.zip"


def test_flags_attributes_and_history_come_back(place: Path, flight: xr.Dataset) -> None:
    clean = denoise(flight, model="savgol")
    clean["row_stamp"] = ("row", np.array(["5.10.2025 9:00", "ö"], dtype=object))
    write_zipped(clean, place)
    after = read_flight(place)
    xr.testing.assert_identical(after, clean)
    assert after["qc_co"].dtype == np.int32
    assert after["qc_co"].attrs["flag_masks"].dtype == np.int32
    assert after.attrs["history"].count("\n") == clean.attrs["history"].count("\n") >= 2


def test_it_opens_with_plain_xarray(place: Path, flight: xr.Dataset) -> None:
    write_zipped(flight, place)
    opened = xr.open_zarr(ZipStore(place), chunks=None)
    np.testing.assert_array_equal(opened["co"].values, flight["co"].values)
    assert opened["co"].attrs["units"] == "ppb"
    assert opened.attrs["id"] == "f1"
    assert opened.attrs["Conventions"].startswith("CF-1.11")


def test_the_same_flight_gives_the_same_bytes_and_leaves_nothing_behind(place: Path, flight: xr.Dataset) -> None:
    write_zipped(flight, place)
    before = place.read_bytes()
    write_zipped(flight, place)
    assert place.read_bytes() == before
    write_zipped(flight.isel(time=slice(0, 50)), place)
    assert read_flight(place).sizes["time"] == 50
    assert list(place.parent.iterdir()) == [place]


def test_a_variable_is_one_chunk_however_long_the_flight(place: Path, flight: xr.Dataset) -> None:
    seconds = np.arange(300_000)
    long = flight.isel(time=seconds % flight.sizes["time"])
    write_zipped(long.assign_coords(time=flight["time"].values[0] + seconds * np.timedelta64(1, "s")), place)
    with ZipFile(place) as packed:
        assert [name for name in packed.namelist() if name.startswith("co/")] == ["co/c/0", "co/zarr.json"]


def test_a_damaged_store_is_one_line(place: Path, flight: xr.Dataset) -> None:
    write_zipped(flight, place)
    whole = place.read_bytes()
    chunk = whole.index(b"co/c/0") + 50
    for damaged in (b"", whole[: len(whole) // 2], whole[:chunk] + b"????" + whole[chunk + 4 :]):
        place.write_bytes(damaged)
        with pytest.raises(FlightError, match=r"a\.zarr\.zip.* cannot be read") as caught:
            read_flight(place)
        assert "\n" not in str(caught.value)


def test_a_zip_that_unpacks_to_more_than_its_size_is_refused(place: Path) -> None:
    place.parent.mkdir()
    with ZipFile(place, "w", ZIP_DEFLATED) as packed:
        packed.writestr("zarr.json", bytes(1 << 20))
    with pytest.raises(FlightError, match=r"a\.zarr\.zip is compressed or damaged"):
        read_flight(place)


def test_zipped_flights_of_a_tree_are_sources(place: Path, flight: xr.Dataset, tmp_path: Path) -> None:
    write_zipped(flight, place)
    (source,) = find_sources(tmp_path)
    assert source.name == "day/a"
    xr.testing.assert_identical(open_source(source), flight)


def test_an_archive_of_the_earlier_layout_is_refused_and_still_a_source(flight: xr.Dataset, tmp_path: Path) -> None:
    store = tmp_path / "old.zarr"
    flight.to_zarr(store, group="day/a", zarr_format=3, consolidated=False)
    for opening in (Archive, open_archive):
        with pytest.raises(FlightError, match="a Zarr store with a folder per flight") as caught:
            opening(store)
        assert "\n" not in str(caught.value)
    (source,) = find_sources(store)
    xr.testing.assert_identical(open_source(source), flight)
