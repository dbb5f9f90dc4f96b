"""The ingest report is also stored in the flight."""

from __future__ import annotations

import os
from pathlib import Path

from pc2dae.flight.store import read_flight, write_flight
from pc2dae.ingestion import ingest
from pc2dae.suite import parse_suite

ONE = '{"name": "one", "family": [{"name": "gas", "channel": [{"name": "co", "units": "ppb"}]}]}'


def test_repairs_and_ignored_files_stand_in_the_history_of_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    rows = "".join(f"2026-01-01T00:00:{s:02d}Z,{s}\n" for s in (*range(10), 9, *range(10, 20)))
    (folder / "log.csv").write_text("time,co\n" + rows)
    (folder / os.fsdecode(b"n\xf6tes\n.txt")).write_text("clouds from noon on\n")  # Latin-1 and a line break
    flight, intake = ingest([folder], suite=parse_suite(ONE, where="test"))
    write_flight(flight, tmp_path / "flight.nc")
    history = [
        line.partition(" pc2dae: ")[2] for line in read_flight(tmp_path / "flight.nc").attrs["history"].split("\n")
    ]
    assert history[0] == "aligned 1 records to 1 Hz"
    assert history[1] == "log.csv: 1 rows with the time stamp of another row: averaged within the cell"
    assert history[2] == "ignored n?tes .txt: there is no time column 'time'"
    assert history[3].startswith("screened")
    assert len(intake.repair_lines()) == 2
