"""Any change to the files of an archive is detected, and the index agrees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pc2dae.archive.index import write_index
from pc2dae.archive.layout import Archive, open_archive
from pc2dae.archive.run import pending
from pc2dae.archive.task import denoise_one, order_of
from pc2dae.archive.verify import verify
from pc2dae.atomic import replacing
from pc2dae.errors import FlightError

ORDER = order_of("savgol")
NAMES = ["day_0/flight_000", "day_0/flight_002", "day_1/flight_001"]


@pytest.fixture(params=["clean", "clean.zarr"])
def archive(tmp_path: Path, tree: Path, request: pytest.FixtureRequest) -> Archive:
    made = Archive(tmp_path / request.param)
    made.prepare()
    todo, sources = pending(tree, made, ORDER)
    assert [source.name for source in sources] == [source.name for source in todo] == NAMES
    for source in todo:
        denoise_one(source, ORDER, made)
    write_index(made)
    return made


def found(archive: Archive) -> set[tuple[str, str]]:
    return {(finding.kind, finding.what) for finding in verify(archive)[0]}


def test_a_whole_archive_is_clean_and_done(archive: Archive, tree: Path) -> None:
    counted: list[tuple[int, int]] = []
    assert verify(archive, report=lambda n, total: counted.append((n, total))) == ([], 3)
    assert counted == [(1, 3), (2, 3), (3, 3)]
    assert pending(tree, archive, ORDER)[0] == []


def test_torn_missing_and_foreign_files(archive: Archive, tree: Path) -> None:
    first, second = archive.output(NAMES[0]), archive.output(NAMES[1])
    data = bytearray(first.read_bytes())
    data[len(data) // 2] ^= 1  # one flipped bit
    first.write_bytes(data)
    archive.remove(NAMES[1])
    archive.marker(NAMES[2]).unlink()  # killed between output and marker
    foreign = ("foreign", f"{NAMES[2]}{archive.suffix}")
    assert found(archive) == {("torn", NAMES[0]), ("missing", NAMES[1]), foreign, ("missing", NAMES[2])}
    assert not second.exists()
    assert [source.name for source in pending(tree, archive, ORDER)[0]] == NAMES[1:]


def test_what_a_killed_writer_left_is_found_and_cleared(archive: Archive) -> None:
    half = archive.root / ".done" / ".x.json.k3j.json"
    half.write_text(archive.marker(NAMES[0]).read_text())  # whole, but not moved into its place
    assert len(list(archive.records())) == 3
    with replacing(archive.output(NAMES[1])) as temporary:
        other = temporary.with_stem(f"{temporary.stem}2")
        other.write_bytes(b"incomplete")
        temporary.write_bytes(archive.output(NAMES[1]).read_bytes())
    assert found(archive) == {("foreign", str(p.relative_to(archive.root))) for p in (half, other)}
    archive.prepare()
    assert found(archive) == set()


def test_a_changed_source_is_told_and_a_lost_one_is_no_fault(archive: Archive, tree: Path) -> None:
    place = tree / f"{NAMES[0]}.nc"
    place.write_bytes(place.read_bytes() + b" ")
    (tree / f"{NAMES[1]}.nc").unlink()
    assert found(archive) == {("changed", NAMES[0])}


def test_a_failed_flight_is_missing_with_its_reason(archive: Archive, tree: Path) -> None:
    (tree / "day_0" / "new.nc").write_bytes(b"torn")
    todo, _ = pending(tree, archive, ORDER)
    denoise_one(todo[0], ORDER, archive)
    (finding,) = verify(archive)[0]
    assert (finding.kind, finding.what) == ("missing", "day_0/new")
    assert finding.why.startswith("failed: new.nc cannot be read")
    row = write_index(archive).set_index("flight").loc["day_0/new"]
    assert row["status"] == "failed"
    assert "cannot be read" in row["error"]
    assert [source.name for source in pending(tree, archive, ORDER)[0]] == ["day_0/new"]  # tried again next time


def test_the_index_has_a_row_per_flight(archive: Archive) -> None:
    archive.remove(NAMES[2])
    archive.index.unlink()
    write_index(archive)
    table = pd.read_parquet(archive.index)
    assert table["flight"].tolist() == NAMES
    assert table["status"].tolist() == ["done", "done", "missing"]
    assert table["rows"].tolist() == [240, 240, 240]
    assert table["start"].iloc[2] == pd.Timestamp("2025-10-05T13:00:00Z")
    np.testing.assert_allclose(
        table["smoothness"].astype(float), table[["smoothness_gas", "smoothness_carbon"]].astype(float).mean(axis=1)
    )
    assert table["bc_co"].isna().all()  # the suite has no black carbon
    assert {"source_sha256", "model_sha256", "seconds", "mce_sigma", "families"} <= set(table.columns)


def test_one_run_at_a_time(archive: Archive) -> None:
    with archive.locked(), pytest.raises(FlightError, match="another run is using"), archive.locked():
        pass
    with archive.locked():
        pass


def test_a_torn_marker_counts_as_none(archive: Archive) -> None:
    archive.marker(NAMES[0]).write_text('{"flight": ')
    assert archive.record(NAMES[0]) is None
    assert len(list(archive.records())) == 2


def test_a_folder_that_is_no_archive(tmp_path: Path) -> None:
    with pytest.raises(FlightError, match="is not an archive"):
        open_archive(tmp_path)
