"""`pc2dae archive` on the command line; clusters are in tests/archive."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pc2dae.archive.layout import Archive
from pc2dae.archive.run import pending
from pc2dae.archive.task import denoise_one, order_of
from pc2dae.cli import app
from pc2dae.errors import FlightError, ModelError
from pc2dae.flight import write_flight
from pc2dae.flight.schema import new_flight
from pc2dae.suite import Channel, Family, Suite

runner = CliRunner()


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """Two flights, one of which cannot be read."""
    root = tmp_path_factory.mktemp("archive")
    suite = Suite(name="one", family=(Family(name="gas", channel=(Channel(name="co", units="ppb"),)),))
    time = np.datetime64("2025-10-05T12:00:00", "ns") + np.arange(200) * np.timedelta64(1, "s")
    noise = np.random.default_rng(0).normal(100.0, 5.0, 200)
    write_flight(new_flight(time, {"co": noise}, suite), root / "source" / "a.nc")
    (root / "source" / "b.nc").write_bytes(b"torn")
    made, order = Archive(root / "clean"), order_of("savgol")
    made.prepare()
    for source in pending(root / "source", made, order)[0]:
        denoise_one(source, order, made)
    return made


def test_the_index_is_rebuilt_and_told(archive: Archive) -> None:
    told = runner.invoke(app, ["archive", "index", str(archive.root)])
    assert told.stdout.startswith("2 flights (1 done, 1 failed): ")
    rows = json.loads(runner.invoke(app, ["archive", "index", str(archive.root), "--json"]).stdout)
    assert [(row["flight"], row["status"], row["rows"]) for row in rows] == [("a", "done", 200), ("b", "failed", None)]
    assert archive.index.is_file()


def test_verify_says_what_is_wrong_and_ends_with_1(archive: Archive) -> None:
    told = runner.invoke(app, ["archive", "verify", str(archive.root)])
    assert told.exit_code == 1
    assert "1 flights intact, 1 problems" in told.stdout
    found = json.loads(runner.invoke(app, ["archive", "verify", str(archive.root), "--json"]).stdout)
    assert found["whole"] == 1
    assert [(f["kind"], f["what"]) for f in found["findings"]] == [("missing", "b")]


def test_summary_writes_the_page(archive: Archive, tmp_path: Path) -> None:
    told = runner.invoke(app, ["archive", "summary", str(archive.root), "-o", str(tmp_path / "s.html")])
    assert told.exit_code == 0
    assert "Campaign clean" in (tmp_path / "s.html").read_text("utf-8")


def test_mistakes_are_told_before_any_worker_starts(archive: Archive, tmp_path: Path) -> None:
    wrong = runner.invoke(app, ["archive", "denoise", str(tmp_path / "no"), str(tmp_path / "c"), "--model", "savgol"])
    assert isinstance(wrong.exception, FlightError)
    folds = ["archive", "train", str(archive.root.parent / "source"), "-o", str(tmp_path / "t"), "--folds", "9"]
    assert isinstance(runner.invoke(app, folds).exception, ModelError)
    assert isinstance(runner.invoke(app, ["archive", "verify", str(tmp_path)]).exception, FlightError)
