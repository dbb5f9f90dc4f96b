from __future__ import annotations

from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from pc2dae.cli import app
from pc2dae.flight.schema import new_flight
from pc2dae.flight.store import write_flight
from pc2dae.suite import parse_suite

SUITE = '{"name": "one", "family": [{"name": "gas", "channel": [{"name": "co", "units": "ppb"}]}]}'


def test_report_of_a_flight_and_the_next_step(tmp_path: Path) -> None:
    time = np.datetime64("2025-10-01T12:00:00") + np.arange(300) * np.timedelta64(1, "s")
    noise = np.random.default_rng(0).normal(100, 5, 300)
    write_flight(new_flight(time, {"co": noise}, parse_suite(SUITE, where="test")), tmp_path / "f.nc")
    done = CliRunner().invoke(app, ["report", str(tmp_path / "f.nc"), "-o", str(tmp_path / "r.html"), "--pdf"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "r.html").stat().st_size > 1e5
    assert (tmp_path / "r.pdf").exists()
    assert "next: pc2dae denoise" in done.stdout


def test_a_page_that_is_none_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["report", str(tmp_path), "-o", "report.pdf"])
    assert "--pdf" in str(done.exception)
