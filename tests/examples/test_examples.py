"""Every numbered example runs, prints its result and saves its picture."""

from __future__ import annotations

import runpy
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from pc2dae.cli import app

EXAMPLES = Path(__file__).parents[2] / "examples"
PRINTED = {
    "01_denoise": "denoised bc, gas, co2 with adaptive",
    "02_own_csv": "",
    "03_live": "largest difference between stream and file: ",
    "04_archive": "3 flights: 3 denoised, 0 done before, 0 failed",
    "05_train": "denoised bc, gas, co2 with lean",
    "06_plumes": "mce",
}


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that an example starts run here, an archive as a plain loop: tests/archive has real clusters."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(subprocess, "run", lambda words, check: app(words[3:], standalone_mode=False))
    monkeypatch.setattr("pc2dae.archive.cluster.connected", lambda **_: nullcontext())
    monkeypatch.setattr("pc2dae.archive.run.each", lambda _, work, jobs: ((name, work(*given)) for name, given in jobs))


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("name", PRINTED)
def test_example(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    steps = []
    if name == "05_train":
        request.getfixturevalue("traced_once")
        steps = ["10"]
    monkeypatch.setattr(sys, "argv", [f"{name}.py", str(tmp_path), *steps])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert PRINTED[name] in capsys.readouterr().out
    assert (tmp_path / f"{name}.png").stat().st_size > 5000


def test_an_example_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, EXAMPLES / "02_own_csv.py", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "02_own_csv.png").stat().st_size > 5000


def test_every_example_is_tested_and_in_the_gallery() -> None:
    gallery = (EXAMPLES.parent / "docs" / "examples.md").read_text(encoding="utf-8")
    assert sorted(PRINTED) == sorted(path.stem for path in EXAMPLES.glob("*.py"))
    for name in PRINTED:
        assert f"images/examples/{name}.png" in gallery
        assert f"{name}.py" in gallery
