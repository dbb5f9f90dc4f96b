"""One flight: processed once, again only after a change, and a failure is one line."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from zarr.storage import ZipStore

from colocations import doubling
from pc2dae.archive import task
from pc2dae.archive.layout import Archive
from pc2dae.archive.sources import FlightSource, digest, find_sources
from pc2dae.archive.task import denoise_one, denoise_within, is_done, order_of
from pc2dae.denoising import denoise
from pc2dae.errors import ModelError
from pc2dae.flight import read_flight, write_flight
from pc2dae.simulate import plan_campaign, write_campaign


@pytest.fixture(params=["clean", "clean.zarr"])
def archive(tmp_path: Path, request: pytest.FixtureRequest) -> Archive:
    made = Archive(tmp_path / request.param)
    made.prepare()
    return made


@pytest.fixture
def source(tree: Path) -> FlightSource:
    return find_sources(tree)[0]


SAVGOL = order_of("savgol")


def test_a_flight_is_what_denoise_gives(archive: Archive, source: FlightSource) -> None:
    record = denoise_one(source, SAVGOL, archive)
    assert (record["status"], record["rows"], record["families"]) == ("done", 240, "gas,carbon")
    assert record["start"] == "2025-10-05T12:00:00.000Z"
    assert record["span_s"] == 240.0
    assert record["plumes"] == 1
    assert record["co_co2"] == pytest.approx(800 / 60e3, rel=0.1)  # how the flight was made: ppb per ppb
    assert record["output_sha256"] == digest(archive.output(source.name))
    alone = denoise(read_flight(source.path), model="savgol")
    place = archive.output(source.name)
    made = xr.load_dataset(place) if place.suffix == ".nc" else xr.open_zarr(ZipStore(place), chunks=None)
    np.testing.assert_array_equal(made["co"].values, alone["co"].values)
    assert made.attrs["pc2dae_source_sha256"] == digest(source.path)


def test_another_calibration_is_another_order_and_one_that_does_not_fit_is_one_line(
    archive: Archive, source: FlightSource, tmp_path: Path
) -> None:
    paths = [tmp_path / "co.json", tmp_path / "mv.json"]
    for path, units in zip(paths, ("ppb", "mV"), strict=True):
        doubling("co", units).write(path)
    fits, other = (order_of("savgol", calibration=[path]) for path in paths)
    assert len({SAVGOL.key, fits.key, other.key}) == 3
    plain, record = denoise_one(source, SAVGOL, archive), denoise_one(source, fits, archive)
    assert (plain["calibrated"], record["calibrated"]) == ("", "co")
    assert record["co_co2"] == pytest.approx(plain["co_co2"] / 2, rel=1e-3)
    refused = denoise_one(source, other, archive)
    assert refused["status"] == "failed"
    assert refused["error"] == "co: the calibration is of readings in mV, the flight has ppb"


def test_what_is_done_stays_until_something_changes(archive: Archive, source: FlightSource, flight: xr.Dataset) -> None:
    assert not is_done(source, SAVGOL, archive)
    first = denoise_one(source, SAVGOL, archive)
    assert is_done(source, SAVGOL, archive)

    os.utime(source.path, ns=(1, 1))  # touched, not changed: known anew, not made anew
    assert not is_done(source, SAVGOL, archive)
    assert denoise_one(source, SAVGOL, archive)["seconds"] == first["seconds"]
    assert is_done(source, SAVGOL, archive)

    assert not is_done(source, order_of("ma5"), archive)
    assert denoise_one(source, order_of("ma5"), archive)["model"] == "ma5"

    write_flight(flight, source.path)
    assert not is_done(source, order_of("ma5"), archive)
    again = denoise_one(source, order_of("ma5"), archive)
    assert again["source_sha256"] != first["source_sha256"]
    assert again["start"] == "2025-10-05T13:00:00.000Z"


def test_another_target_is_another_order() -> None:
    keys = {order_of("adaptive", target=target).key for target in (None, "ambient", "response")}
    assert len(keys) == 3
    with pytest.raises(ModelError, match="'savgol' estimates the reading"):
        order_of("savgol", target="ambient")


def test_a_flight_whose_worker_died_after_its_marker_is_left_alone(archive: Archive, source: FlightSource) -> None:
    first = denoise_one(source, SAVGOL, archive)
    places = (archive.output(source.name), archive.marker(source.name))
    before = [(p.stat().st_ino, p.stat().st_mtime_ns) for p in places]
    assert denoise_one(source, SAVGOL, archive) == first
    assert [(p.stat().st_ino, p.stat().st_mtime_ns) for p in places] == before


def test_a_lost_output_is_made_again(archive: Archive, source: FlightSource) -> None:
    denoise_one(source, SAVGOL, archive)
    archive.remove(source.name)
    assert not is_done(source, SAVGOL, archive)
    denoise_one(source, SAVGOL, archive)
    assert is_done(source, SAVGOL, archive)


def test_a_failure_is_one_line_and_leaves_no_old_answer(archive: Archive, source: FlightSource) -> None:
    denoise_one(source, SAVGOL, archive)
    source.path.write_bytes(b"torn")
    record = denoise_one(source, SAVGOL, archive)
    assert record["status"] == "failed"
    assert "cannot be read as netCDF" in record["error"]
    assert "\n" not in record["error"]
    assert not archive.output(source.name).exists()
    assert archive.record(source.name) == record


def test_a_worker_with_other_weights_refuses(archive: Archive, source: FlightSource) -> None:
    record = denoise_one(source, replace(order_of("adaptive"), model_sha256="0" * 64), archive)
    assert "'adaptive' of this worker differs from the client's" in record["error"]


def test_a_folder_of_logs(tmp_path: Path) -> None:
    list(write_campaign(plan_campaign(3, flights=1, minutes=3), tmp_path / "campaign"))
    (source,) = find_sources(tmp_path / "campaign")
    archive = Archive(tmp_path / "clean")
    archive.prepare()
    record = denoise_one(source, SAVGOL, archive)
    assert (record["flight"], record["error"], record["rows"]) == ("flight_001", None, 180)
    assert set(record["families"].split(",")) >= {"gas", "co2"}
    assert record["smoothness_gas"] > 0


def test_a_flight_that_never_ends_stops_its_worker_once(tmp_path: Path, source: FlightSource) -> None:
    """As a worker of its own: code in C that holds the interpreter is ended, and the next worker says why."""
    archive = Archive(tmp_path / "clean")
    archive.prepare()
    denoise_one(source, SAVGOL, archive)
    pid = os.fork()
    if pid == 0:  # the worker
        task.denoise_one = lambda *_: re.match("(a+)+$", "a" * 60 + "b")  # takes years
        denoise_within(0.2, source, SAVGOL, archive)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
    record = denoise_within(0.2, source, SAVGOL, archive)
    assert record["status"] == "failed"
    assert record["error"] == "not finished after 0.00333333 min; check the flight, or raise --limit-min"
    assert archive.record(source.name) == record
    assert not archive.output(source.name).exists()
    archive.prepare()  # the next run tries again
    assert denoise_within(600, source, SAVGOL, archive)["status"] == "done"
