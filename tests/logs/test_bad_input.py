from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from bad_files import CATALOGUE, HEADER, ROWS, SUITE, Bad, table

from pc2dae.cli import main
from pc2dae.errors import Pc2daeError
from pc2dae.ingestion import ingest


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(SUITE)
    return path


def put(folder: Path, bad: Bad) -> Path:
    path = folder / f"flight{bad.suffix}"
    path.write_bytes(bad.content if isinstance(bad.content, bytes) else bad.content.encode())
    return path


def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    """Exit code, output and errors of the command line."""
    monkeypatch.setattr(sys, "argv", ["pc2dae", *arguments])
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("bad", CATALOGUE, ids=lambda b: b.name)
def test_library_and_command_line_give_the_same_verdict(bad, tmp_path, suite, monkeypatch, capsys):
    path = put(tmp_path, bad)
    suite.write_text(bad.suite)
    code, out, err = command(monkeypatch, capsys, "ingest", str(path), "--suite", str(suite), "--json")
    if bad.refused is not None:
        with pytest.raises(Pc2daeError) as caught:
            ingest([path], suite=suite)
        message = str(caught.value)
        assert bad.refused in message
        assert "\n" not in message
        assert (code, out) == (2, "")
        assert bad.refused in err
        assert err.count("\n") == 1
        assert "Traceback" not in err
        return
    flight, intake = ingest([path], suite=suite)
    (source,) = intake.sources
    said = json.loads(out)["sources"][0]
    assert code == 0
    assert said["repairs"] == list(source.repairs)
    if bad.rows >= 0:
        assert source.rows_used == flight.sizes["row"] == bad.rows
    if bad.listed is None:
        assert source.repairs == ()
    else:
        assert any(bad.listed in repair for repair in source.repairs), source.repairs


@pytest.mark.parametrize("cut", range(1, len(ROWS[-1]) + 2))
def test_a_last_line_cut_anywhere_never_gives_a_different_number(cut, tmp_path, suite):
    """At every byte: the last row comes whole, without its last cell, or not at all; and whatever is lost is listed."""
    whole = table()
    path = tmp_path / "cut.csv"
    path.write_text(whole[:-cut])
    flight, intake = ingest([path], suite=suite)
    kept = flight.sizes["row"]
    values = flight["co2"].values[flight["row_index"].values]
    expected = np.array([float(row.split(",")[2]) for row in ROWS])
    seen = np.isfinite(values)
    assert kept in (89, 90)
    assert np.array_equal(values[seen], expected[:kept][seen])
    lost = (kept < 90 and cut < len(ROWS[-1]) + 1) or not seen.all()
    assert lost == bool(intake.sources[0].repairs)


def test_a_last_integer_cut_is_not_believed(tmp_path, suite):
    path = tmp_path / "cut.csv"
    path.write_text("\n".join([HEADER, *(f"2024-04-10T13:48:{i:02d}Z,{100 + i},4{i:02d}" for i in range(50))])[:-1])
    flight, intake = ingest([path], suite=suite)
    assert np.isnan(flight["co2"].values[-1])  # 449 became 44
    assert "may be truncated" in intake.sources[0].repairs[0]


def test_a_folder_with_nothing_readable_is_refused(tmp_path, monkeypatch, capsys):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "notes.txt").write_text("windy today\n")
    for folder in ("logs", "empty"):
        (tmp_path / folder).mkdir(exist_ok=True)
        code, _, err = command(monkeypatch, capsys, "ingest", str(tmp_path / folder))
        assert code == 2
        assert "nothing readable" in err
        assert err.count("\n") == 1


def test_a_path_that_is_not_there_is_refused(tmp_path, monkeypatch, capsys):
    code, _, err = command(monkeypatch, capsys, "ingest", str(tmp_path / "nowhere"))
    assert code == 2
    assert "there is no file or folder" in err
