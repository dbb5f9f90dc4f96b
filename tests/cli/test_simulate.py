import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pc2dae.cli import app
from pc2dae.errors import Pc2daeError

runner = CliRunner()


def test_simulate_writes_flights_truth_and_pictures(tmp_path: Path) -> None:
    done = runner.invoke(
        app, ["simulate", str(tmp_path / "c"), "--flights", "1", "--minutes", "3", "--seed", "3", "--draw"]
    )
    assert done.exit_code == 0
    assert "1 flights, 180 samples" in done.stdout
    assert (tmp_path / "c" / "flight_001.truth.nc").exists()
    assert (tmp_path / "c" / "flight_001.png").exists()
    assert len(list((tmp_path / "c" / "flight_001").iterdir())) == 11

    check = runner.invoke(app, ["simulate", "--check", str(tmp_path / "c"), "--json"])
    assert check.exit_code == 1  # three minutes are not the paper's campaign
    lines = {line["what"]: line for line in json.loads(check.stdout)}
    assert lines["samples at 1 Hz"]["simulated"] == 180
    assert not lines["samples at 1 Hz"]["holds"]
    assert lines["negative, co2"]["holds"]

    table = runner.invoke(app, ["simulate", "--check", str(tmp_path / "c")])
    assert "published" in table.stdout
    assert "66.8" in table.stdout


@pytest.mark.parametrize(("arguments", "words"), [
    (["--suite", "kolibri"], "black-kite"),
    (["--flights", "0"], "--flights"),
    (["--check"], "no truth file"),
])  # fmt: skip
def test_what_cannot_be_done_is_said(tmp_path: Path, arguments: list[str], words: str) -> None:
    result = runner.invoke(app, ["simulate", str(tmp_path), *arguments])
    assert isinstance(result.exception, Pc2daeError)
    assert words in str(result.exception)


def test_known_air_is_written_beside_the_flights(tmp_path: Path) -> None:
    short = ["--flights", "1", "--minutes", "3", "--seed", "3"]
    known = ["--zero-checks", "--colocation", "0.25", "--span-gas"]
    assert runner.invoke(app, ["simulate", str(tmp_path), *short, *known]).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "flight_001", "flight_001.truth.nc", "flight_001.zero.csv",
        "colocation", "colocation.truth.nc", "colocation.reference.csv",
        "span_gas", "span_gas.truth.nc", "span_gas.intervals.csv",
    }  # fmt: skip
    lines = json.loads(runner.invoke(app, ["simulate", "--check", str(tmp_path), "--json"]).stdout)
    assert lines[0]["simulated"] == 540  # only the flight is compared with the paper
