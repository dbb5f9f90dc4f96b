"""Which files are flights, and how changes are detected."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
import xarray as xr

from pc2dae.archive.sources import FlightSource, digest, find_sources, open_source, stamp
from pc2dae.errors import FlightError, Pc2daeError
from pc2dae.flight import write_flight
from pc2dae.suite import load_suite

BME280 = "timestamp,bme280_temperature_c,bme280_humidity_pct,bme280_pressure_hpa\n2025-10-05T12:00:00Z,20,50,950\n"
KOLIBRI = Path(__file__).parents[2] / "examples" / "kolibri.toml"


def names(found: list[FlightSource]) -> list[str]:
    return [source.name for source in found]


def test_a_tree_of_everything(tmp_path: Path, flight: xr.Dataset) -> None:
    for folder in ("logs/flight_001", "logs/flight_002/extra"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "README.txt").write_text("a campaign")
    (tmp_path / "logs" / "flight_001" / "bme280.csv").write_text(BME280)
    (tmp_path / "logs" / "flight_001.truth.nc").write_text("not a flight")
    (tmp_path / "logs" / "flight_002" / "bme280.csv").write_text(BME280)
    (tmp_path / "logs" / "flight_002" / "extra" / "bme280.csv").write_text(BME280)
    write_flight(flight, tmp_path / "files" / "a.nc")
    write_flight(flight, tmp_path / "files" / "b.csv")
    write_flight(flight, tmp_path / "files" / "c.zarr")
    write_flight(flight, tmp_path / "files" / ".half.nc")
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "map.png").write_bytes(b"")
    found = find_sources(tmp_path)
    assert names(found) == ["files/a", "files/b", "files/c", "logs/flight_001", "logs/flight_002"]
    assert found[3].place == tmp_path / "logs" / "flight_001"


def test_a_folder_of_which_nothing_is_readable_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "flight_001").mkdir()
    (tmp_path / "flight_001" / "broken.csv").write_bytes(b"\0\1\2")
    assert names(find_sources(tmp_path)) == ["flight_001"]


def test_tables_that_fit_the_suite_are_flights_of_their_own(tmp_path: Path) -> None:
    suite = load_suite(KOLIBRI)
    head = ",".join([suite.time.column, *(channel.column or channel.name for channel in suite.channels)])
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text(head + "\n")
    (tmp_path / "three.csv.gz").write_bytes(gzip.compress(head.encode() + b"\n"))
    assert names(find_sources(tmp_path, suite=suite)) == ["one", "three", "two"]


def test_a_store_has_a_flight_in_every_group(tmp_path: Path, flight: xr.Dataset) -> None:
    store = tmp_path / "campaign.zarr"
    for name in ("day_1/a", "b"):
        flight.to_zarr(store, group=name, zarr_format=3, consolidated=False)
    found = find_sources(store)
    assert names(found) == ["b", "day_1/a"]
    xr.testing.assert_identical(open_source(found[1]), flight)


def test_the_archive_itself_is_no_source(tree: Path, flight: xr.Dataset) -> None:
    write_flight(flight, tree / "clean" / "flight_000.nc")
    assert len(find_sources(tree, leave_out=tree / "clean")) == 3


def test_two_sources_of_one_name_are_refused(tree: Path) -> None:
    (tree / "day_0" / "flight_000.csv").write_text("time,co,qc_co\n")
    with pytest.raises(Pc2daeError, match="would both become 'day_0/flight_000'"):
        find_sources(tree)


@pytest.mark.parametrize(("place", "words"), [("nowhere", "does not exist"), ("empty", "no flight in")])
def test_nothing_to_do_is_said(tmp_path: Path, place: str, words: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(FlightError, match=words):
        find_sources(tmp_path / place)


def test_a_touched_file_has_another_stamp_and_the_same_hash(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    log = tmp_path / "f" / "bme280.csv"
    log.write_text(BME280)
    source = FlightSource("f", tmp_path / "f")
    before = stamp(source), digest(source.place)
    os.utime(log, ns=(1, 1))
    assert stamp(source) != before[0]
    assert digest(source.place) == before[1]
    log.rename(log.with_name("other.csv"))
    assert digest(source.place) != before[1]  # a log's name may say which unit it is


def test_the_hash_of_a_file_is_its_sha256(tmp_path: Path) -> None:
    (tmp_path / "f.nc").write_bytes(b"abc")  # FIPS 180-2, appendix B.1
    assert digest(tmp_path / "f.nc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_links_are_followed_once_and_after_what_they_lead_to(tree: Path, tmp_path: Path, flight: xr.Dataset) -> None:
    write_flight(flight, tmp_path / "elsewhere" / "far.nc")
    (tree / "a_loop").symlink_to(tree)
    (tree / "a_parent").symlink_to(tmp_path)
    (tree / "day_0" / "again").symlink_to(tree / "day_1")
    (tree / "day_1" / "latest.nc").symlink_to(tree / "day_0" / "flight_000.nc")
    (tree / "more").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(tree)
    assert names(find_sources(tree)) == ["day_0/flight_000", "day_0/flight_002", "day_1/flight_001", "more/far"]
