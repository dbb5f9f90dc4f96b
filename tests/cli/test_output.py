"""What a command may overwrite: its own earlier output, other files only with --force, its input never."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from pc2dae.cli import app
from pc2dae.cli.output import check_folder, check_output
from pc2dae.errors import Pc2daeError
from pc2dae.flight.schema import new_flight
from pc2dae.flight.store import write_flight
from pc2dae.simulate import plan_campaign, write_campaign
from pc2dae.suite import load_suite

SUITE = 'name = "one"\n[[family]]\nname = "co2"\n[[family.channel]]\nname = "co2"\nunits = "ppm"\n'
IS_INPUT = "is the input and would be overwritten; give -o another name"
NOT_OURS = "exists and was not written by pc2dae; give -o another name, or add --force"


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None:
        raise result.exception
    return result.output


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one log and a note."""
    monkeypatch.chdir(tmp_path)
    folder = Path("f")
    folder.mkdir()
    rows = [f"2024-04-10T13:{48 + i // 60}:{i % 60:02d}Z,{410 + (i * 7) % 13 / 4},21,40" for i in range(300)]
    text = "\n".join(["timestamp,scd30_co2_ppm,scd30_temperature_c,scd30_humidity_pct", *rows])
    (folder / "scd30.csv").write_text(text + "\n")
    (folder / "notes.txt").write_text("windy\n")
    return folder


@pytest.fixture
def flight(tmp_path: Path) -> xr.Dataset:
    (tmp_path / "one.toml").write_text(SUITE)
    time = np.datetime64("2025-10-05T12:00:00", "ns") + np.arange(100) * np.timedelta64(1, "s")
    return new_flight(time, {"co2": np.linspace(400.0, 420.0, 100)}, load_suite(tmp_path / "one.toml"))


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("name", ["f/scd30.csv", "linked.csv", "f/old.csv"])
def test_a_log_that_is_read_is_never_overwritten(logs: Path, name: str, force: list[str]) -> None:
    before = (logs / "scd30.csv").read_bytes()
    Path("linked.csv").symlink_to(logs / "scd30.csv")
    shutil.copy(logs / "scd30.csv", logs / "old.csv")
    for command in ("ingest", "denoise"):
        with pytest.raises(Pc2daeError) as caught:
            run(command, logs, "-o", name, *force)
        assert str(caught.value) == f"{name} {IS_INPUT}"
    assert (logs / "scd30.csv").read_bytes() == (logs / "old.csv").read_bytes() == before


def test_a_file_of_somebody_else_needs_force(logs: Path) -> None:
    Path("out.nc").write_bytes(b"mine")
    with pytest.raises(Pc2daeError) as caught:
        run("ingest", logs, "-o", "out.nc")
    assert str(caught.value) == f"out.nc {NOT_OURS}"
    assert Path("out.nc").read_bytes() == b"mine"
    run("ingest", logs, "-o", "out.nc", "--force")
    run("inspect", "out.nc")


@pytest.mark.parametrize("suffix", [".nc", ".csv", ".ict", ".zarr"])
def test_an_earlier_answer_is_overwritten_and_not_taken_for_a_log(logs: Path, suffix: str) -> None:
    for target in (logs / f"flight{suffix}", logs / f"clean{suffix}"):
        command = ["ingest"] if target.stem == "flight" else ["denoise", "--model", "ma5"]
        for _ in range(2):
            run(*command, logs, "-o", target)
    said = " ".join(run("ingest", logs).split())
    assert "scd30.csv scd30 300 300" in said
    for name in ("flight", "clean"):
        assert f"ignored {name}{suffix}: a " in said
        assert f"{name}{suffix} " not in said.partition("clock")[0].partition("gaps, s")[2]


def test_pages_and_pictures_are_recognised_as_our_own(
    flight: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_flight(flight, "f.nc")
    for _ in range(2):
        run("inspect", "f.nc", "--picture", "f.png")
        run("report", "f.nc", "-o", "f.html", "--pdf")
    for command in (["inspect", "f.nc", "--picture", "mine.png"], ["report", "f.nc", "-o", "mine.html"]):
        Path(command[-1]).write_text("mine")
        with pytest.raises(Pc2daeError, match="was not written by pc2dae"):
            run(*command)


def test_empty_files_may_be_overwritten(tmp_path: Path) -> None:
    (tmp_path / "flight.nc").touch()
    check_output(tmp_path / "flight.nc")


def test_a_folder_of_somebody_else_needs_force(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(Pc2daeError, match="is not empty and was not made by this command"):
        check_folder(tmp_path, "results.parquet")
    check_folder(tmp_path, "results.parquet", force=True)
    (tmp_path / "results.parquet").touch()
    check_folder(tmp_path, "results.parquet")


def test_an_archive_does_not_overwrite_its_source_or_a_folder_of_somebody_else(
    flight: xr.Dataset, tmp_path: Path
) -> None:
    write_flight(flight, tmp_path / "raw" / "f.nc")
    for target, words in (
        ([tmp_path / "raw"], "is not empty"),
        ([tmp_path / "raw", "--force"], "is the input"),
    ):
        with pytest.raises(Pc2daeError, match=words):
            run("archive", "denoise", tmp_path / "raw" / "f.nc", *target, "--model", "ma5")


def test_a_campaign_is_simulated_once(tmp_path: Path) -> None:
    list(write_campaign(plan_campaign(3, flights=1, minutes=3), tmp_path))
    words = ("simulate", tmp_path, "--flights", 1, "--minutes", 3, "--seed", 4)
    before = (tmp_path / "flight_001" / "scd30.csv").read_bytes()
    with pytest.raises(Pc2daeError, match="flight_001 is simulated already; name another folder, or add --force"):
        run(*words)
    assert (tmp_path / "flight_001" / "scd30.csv").read_bytes() == before
    run(*words, "--force")
    assert (tmp_path / "flight_001" / "scd30.csv").read_bytes() != before
    (tmp_path / "flight_001.truth.nc").unlink()  # as if the logs were measured
    with pytest.raises(Pc2daeError, match="it was not simulated"):
        run(*words, "--force")
