"""`pc2dae inspect` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pc2dae.cli import app
from pc2dae.flight import write_flight
from pc2dae.flight.schema import new_flight
from pc2dae.suite import load_suite

runner = CliRunner()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    suite, rng = load_suite("black-kite").only(["bc", "co2"]), np.random.default_rng(0)
    plume = 1.0 * (np.arange(600) % 150 > 120)
    values = {c.name: c.lower_bound + 300 * plume + rng.normal(0, c.noise_sigma or 1, 600) for c in suite.channels}
    values |= {"latitude": 52 + np.arange(600) * 1e-6, "longitude": np.full(600, -105.0)}
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(600) * np.timedelta64(1, "s")
    target = tmp_path_factory.mktemp("inspect") / "f.nc"
    write_flight(new_flight(time, values, suite, flight_id="burn_3"), target)
    return target


def test_tables(path: Path) -> None:
    result = runner.invoke(app, ["inspect", str(path)])
    assert result.exit_code == 0, result.output
    assert "burn_3" in result.output
    assert "co2 kept" in result.output
    assert "…" not in result.output.split("all flights together")[0]  # nothing is cut at 80 columns


def test_json_only(path: Path, tmp_path: Path) -> None:
    result = runner.invoke(app, ["inspect", str(path), "--json", "-p", str(tmp_path / "look.png")])
    whole = json.loads(result.stdout)
    assert whole["flights"][0]["rows"] == 600
    assert whole["together"]["samples"] == 600
    assert (tmp_path / "look.png").read_bytes()[:4] == b"\x89PNG"


def test_several_flights_draw_into_a_folder(path: Path, tmp_path: Path) -> None:
    result = runner.invoke(app, ["inspect", str(path), str(path), "-p", str(tmp_path / "looks"), "--json"])
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)["flights"]) == 2
    assert list((tmp_path / "looks").glob("*.png"))


def test_help_has_an_example() -> None:
    assert "Example: pc2dae inspect" in " ".join(runner.invoke(app, ["inspect", "--help"]).output.split())


def test_a_picture_of_no_known_kind_is_refused(path: Path, tmp_path: Path) -> None:
    result = runner.invoke(app, ["inspect", str(path), "-p", str(tmp_path / "look.xyz")])
    assert str(result.exception) == "'look.xyz' is not a picture format; use one of .png, .svg"
