"""Copies, parts and versions of a log in one folder: every row is used once, or the folder is rejected."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from pc2dae.align.ingest_report import IngestReport
from pc2dae.errors import LogError
from pc2dae.ingestion import ingest
from pc2dae.logs import read_logs
from pc2dae.simulate import plan_campaign, write_campaign
from pc2dae.suite import load_suite

HEADER = "timestamp,scd30_co2_ppm,scd30_temperature_c,scd30_humidity_pct"
ROWS = [f"2024-04-10T13:48:{i:02d}Z,{410 + 0.37 * i:.2f},{21 + 0.011 * i:.3f},40.5" for i in range(60)]


def scd30(folder: Path, name: str, rows: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join([HEADER, *rows]) + "\n")


@pytest.fixture(scope="module")
def payload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs of all instruments of the simulated payload."""
    folder = tmp_path_factory.mktemp("campaign")
    list(write_campaign(plan_campaign(3, flights=1, minutes=3), folder))
    return folder / "flight_001"


@pytest.fixture(scope="module")
def plain(payload: Path) -> tuple[xr.Dataset, IngestReport]:
    """What the logs give when each is there once."""
    return ingest([payload])


def check_rows_used(flight: xr.Dataset, intake: IngestReport) -> None:
    """Every row that the table lists as used is in the flight, under the suite's names where the suite has any."""
    sources = load_suite("black-kite").sources
    for source in intake.sources:
        assert source.rows_used > 0
        assert int(flight[f"{source.instrument.replace('/', '_')}_samples"].sum()) == source.rows_used
        fed = [name for name, place in sources.items() if place.key == source.instrument]
        assert fed, source.instrument
        assert all(np.isfinite(flight[name].values).any() for name in fed), source.instrument


def copied(path: Path) -> None:
    shutil.copy(path, path.with_name(f"{path.stem} (1){path.suffix}"))
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))


def overlapping(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    head = next(i for i, line in enumerate(lines) if re.search(rb"2025-|^\d{10}", line))
    path.write_bytes(b"".join(lines[:100]))
    path.with_name(f"{path.stem}_2{path.suffix}").write_bytes(b"".join(lines[:head] + lines[60:]))


def cut(path: Path) -> None:
    data = path.read_bytes()
    path.with_name(f"a_{path.name}").write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize("change", [copied, overlapping, cut])
def test_no_copy_or_part_of_a_log_changes_the_flight(
    change: Callable[[Path], None], payload: Path, plain: tuple[xr.Dataset, IngestReport], tmp_path: Path
) -> None:
    folder = tmp_path / payload.name
    shutil.copytree(payload, folder)
    logs = [path for path in folder.iterdir() if path.suffix in (".csv", ".log", ".bin")]
    for path in logs:
        if change is not overlapping or path.suffix != ".bin":
            change(path)
    flight, intake = ingest([folder])
    check_rows_used(flight, intake)
    xr.testing.assert_equal(flight, plain[0])
    if change is overlapping:
        assert sum("used once" in line for source in intake.sources for line in source.repairs) == len(logs) - 1
    else:
        names = {path.name for path in folder.iterdir()} - {path.name for path in payload.iterdir()}
        assert {file for file, _ in intake.ignored} == names
        assert all(reason.endswith(": used once") for _, reason in intake.ignored)


def test_every_row_of_the_payload_reaches_a_variable(plain: tuple[xr.Dataset, IngestReport]) -> None:
    check_rows_used(*plain)
    kinds = {place.key for place in load_suite("black-kite").sources.values()}
    assert {source.instrument for source in plain[1].sources} == kinds


def test_versions_of_a_log_that_differ_are_refused_with_the_place(tmp_path: Path) -> None:
    scd30(tmp_path, "scd30.csv", ROWS)
    scd30(tmp_path, "scd30 (1).csv", [*ROWS[:40], ROWS[40].replace("40.5", "40.6"), *ROWS[41:]])
    with pytest.raises(
        LogError, match=r"59 equal rows, 1 that differ, the first at 2024-04-10T13:48:40.000Z"
    ) as caught:
        read_logs([tmp_path])
    assert "scd30 (1).csv and scd30.csv are two versions of one log" in str(caught.value)


def test_a_copy_made_while_logging_ends_in_a_cut_cell(tmp_path: Path) -> None:
    scd30(tmp_path, "scd30.csv", ROWS)
    (tmp_path / "early.csv").write_text("\n".join([HEADER, *ROWS[:30]])[:-1])  # 40.5 became 40.
    book = read_logs([tmp_path])
    assert [len(stream.time) for stream in book.streams] == [60]
    assert [one.file for one in book.ignored] == ["early.csv"]


def test_two_sensors_are_two_units_and_a_suite_must_name_one(tmp_path: Path) -> None:
    other = [re.sub(r",4\d\d", lambda match: f",{int(match[0][1:]) + 3}", row) for row in ROWS]
    scd30(tmp_path / "f", "one.csv", ROWS)
    scd30(tmp_path / "f", "two.csv", other)
    assert [stream.key for stream in read_logs([tmp_path / "f"]).streams] == ["scd30/1", "scd30/2"]
    text = (
        'name = "s"\n[[family]]\nname = "co2"\n[[family.channel]]\nname = "co2"\nunits = "ppm"\n[sources]\nco2 = "{}"\n'
    )
    suite = tmp_path / "s.toml"
    suite.write_text(text.format("scd30.co2"))
    with pytest.raises(LogError, match=r"2 instruments log as scd30 \(one.csv, two.csv\), but suite 's' reads only"):
        ingest([tmp_path / "f"], suite=suite)
    suite.write_text(text.format("scd30/2.co2"))
    flight, _ = ingest([tmp_path / "f"], suite=suite)
    assert flight["co2"].values[0] == pytest.approx(413.0)


def test_boards_of_one_name_cannot_be_two_instruments(payload: Path, tmp_path: Path) -> None:
    shutil.copy(payload / "afe_a.csv", tmp_path / "afe_a.csv")
    text = (payload / "afe_a.csv").read_text()
    (tmp_path / "shifted.csv").write_text(
        re.sub(r"(\d\d)\.(\d\d\d),", lambda m: f"{m[1]}.{(int(m[2]) + 7) % 1000:03},", text)
    )
    with pytest.raises(LogError, match=r"two versions of one log of afe/a: .* share no row"):
        read_logs([tmp_path])
    (tmp_path / "shifted.csv").write_text(text)
    for name, sheet in (("afe_a", "afe_a"), ("shifted", "afe_b")):
        shutil.copy(payload / f"{sheet}.calibration.json", tmp_path / f"{name}.calibration.json")
    with pytest.raises(LogError, match=r"both afe/a and have different calibration sheets"):
        read_logs([tmp_path])


def test_parts_that_meet_at_one_stamp_are_one_log(tmp_path: Path) -> None:
    scd30(tmp_path, "a.csv", ROWS[:30])
    scd30(tmp_path, "b.csv", [ROWS[29].replace("40.5", "40.6"), *ROWS[30:]])  # two samples in one second
    (stream,) = read_logs([tmp_path]).streams
    assert len(stream.time) == 61


def test_a_whole_log_replaces_its_parts(tmp_path: Path) -> None:
    for name, rows in (("a.csv", ROWS[:20]), ("b.csv", ROWS[20:]), ("c.csv", ROWS)):
        scd30(tmp_path, name, rows)
    book = read_logs([tmp_path])
    assert [(stream.key, stream.source, len(stream.time)) for stream in book.streams] == [("scd30", "c.csv", 60)]
    assert [one.file for one in book.ignored] == ["a.csv", "b.csv"]


def test_whole_numbers_that_agree_by_chance_are_still_two_counters(tmp_path: Path) -> None:
    for name, last in (("a.csv", 1), ("b.csv", 2)):
        values = [0] * 50 + [last] * 10
        scd30(tmp_path, name, [f"2024-04-10T13:48:{i:02d}Z,{400 + v},20,40" for i, v in enumerate(values)])
    assert [stream.key for stream in read_logs([tmp_path]).streams] == ["scd30/1", "scd30/2"]
