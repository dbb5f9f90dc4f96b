from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from pc2dae.cli import app
from pc2dae.cli import demo as room
from pc2dae.registry import SHIPPED


@pytest.mark.slow
def test_demo_goes_from_files_to_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_FLIGHTS", 1)
    monkeypatch.setattr(room, "_MINUTES", 4)
    monkeypatch.setattr(room, "_RIVALS", ("savgol",))
    monkeypatch.setattr("pc2dae.registry.SHIPPED", ("adaptive", "lean"))  # one of each kind
    done = CliRunner().invoke(app, ["demo", "-o", str(tmp_path / "demo")])
    assert done.exit_code == 0, done.output
    for command in ("simulate", "ingest", "inspect", "denoise"):
        assert f"$ pc2dae {command}" in done.stdout
    for method in ("adaptive", "lean", "savgol", "raw", "constant", "truth"):
        assert method in done.stdout
    for name in ("report.html", "clean_001.nc", "first_look.png", "scores.csv", "campaign/flight_001.png"):
        assert (tmp_path / "demo" / name).exists()
    assert str(tmp_path / "demo" / "report.html") in done.stdout.replace("\n", "")


def test_the_score_table_is_whole_in_eighty_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = [(m, "all", "all", k, 93.3, "f") for m in (*SHIPPED, "constant") for k in room._COLUMNS]
    room._show(pd.DataFrame(rows, columns=["method", "channel", "family", "metric", "value", "flight"]))
    assert capsys.readouterr().out.count("93.3") == len(rows)
