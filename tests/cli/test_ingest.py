"""`pc2dae ingest` names a spent filter and corrects it when asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import pc2dae
from pc2dae.cli import app


def drive(folder: Path) -> Path:
    """A minute of an AE51 whose filter is loaded to attenuations of 100 to 106."""
    head = "AethLabs\nTimebase = 1 s\n\nDate,Time,Ref,Sen,ATN,Flow,PCB temp,Status,Battery,BC\n\n"
    rows = (f"2019/09/16,09:57:{s:02d},884149,920135,{100 + s / 10},99,27,0,83,{900 + s % 7 * 30}" for s in range(60))
    path = folder / "drive.csv"
    path.write_text(head + "\n".join(rows) + "\n")
    return path


def test_a_spent_filter_is_named_and_corrected_when_asked(tmp_path: Path) -> None:
    log = drive(tmp_path)
    words = ["ingest", str(log), "--zone", "UTC", "-o"]
    shown = CliRunner().invoke(app, [*words, str(tmp_path / "logged.nc")]).stdout
    assert "filter loaded (black carbon reads too low, see --correct-loading): bc 100 %" in " ".join(shown.split())
    shown = CliRunner().invoke(app, [*words, str(tmp_path / "corrected.nc"), "--correct-loading"]).stdout
    assert "filter loading corrected: bc = BC / (0.88 exp(-ATN/100) + 0.12)" in " ".join(shown.split())
    assert "filter loaded" not in shown
    logged, corrected = (pc2dae.open_flight(tmp_path / f"{name}.nc")["bc"] for name in ("logged", "corrected"))
    atn = 100 + np.arange(60) / 10
    np.testing.assert_allclose(corrected / logged, 1 / (0.88 * np.exp(-atn / 100) + 0.12))
