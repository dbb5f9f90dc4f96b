"""The built wheel, installed in an environment without torch."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import pc2dae

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
WITHOUT = ("torch", "safetensors", "onnx", "onnxscript")  # the extra [train]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this source tree."""
    out = tmp_path_factory.mktemp("dist")
    pytest.importorskip("build", reason="building the wheel needs the package 'build'")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment: the wheel itself, the dependencies through a path file, and no torch."""
    home = tmp_path_factory.mktemp("venv")
    venv.create(home, with_pip=False)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install", "--quiet", "--no-deps",
         "--no-index", "--disable-pip-version-check", str(wheel)],
        check=True,
    )  # fmt: skip
    # Appended after its own packages, so that the wheel comes before the source tree's editable install.
    (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\nimport no_torch\n")
    refusal = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {WITHOUT!r}:
            raise ModuleNotFoundError(f"No module named '{{name}}'", name=name)
sys.meta_path.insert(0, Absent())
"""
    (site / "no_torch.py").write_text(refusal)
    return home


def run(home: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.defpath, "OMP_NUM_THREADS": "1", "COLUMNS": "120"}
    return subprocess.run(
        [str(home / "bin" / arguments[0]), *arguments[1:]],
        cwd=cwd, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"pc2dae", f"pc2dae-{pc2dae.__version__}.dist-info"}
    assert "pc2dae/suite/presets/black-kite.toml" in names
    assert wheel.stat().st_size < 5_000_000


def test_it_is_the_wheel_that_runs_and_torch_is_absent(installed: Path, tmp_path: Path) -> None:
    code = "import pc2dae; print(pc2dae.__file__)\ntry:\n    import torch\nexcept ImportError:\n    print('no torch')"
    result = run(installed, "python", "-c", code, cwd=tmp_path)
    file, absent = result.stdout.splitlines()
    assert Path(file).is_relative_to(installed)
    assert absent == "no torch"


def test_the_console_script_answers(installed: Path, tmp_path: Path) -> None:
    version = run(installed, "pc2dae", "--version", cwd=tmp_path)
    assert (version.stdout, version.stderr, version.returncode) == (f"pc2dae {pc2dae.__version__}\n", "", 0)
    helped = run(installed, "pc2dae", "--help", cwd=tmp_path)
    assert helped.returncode == 0
    assert "simulate" in helped.stdout


def test_the_console_script_works(installed: Path, tmp_path: Path) -> None:
    """From nothing to a denoised flight without torch."""
    for arguments in (
        ["simulate", "campaign", "--flights", "1", "--minutes", "4"],
        ["ingest", "campaign/flight_001", "-o", "flight.nc"],
        ["denoise", "flight.nc", "-o", "clean.csv", "--model", "savgol"],
    ):
        result = run(installed, "pc2dae", *arguments, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    assert (tmp_path / "clean.csv").read_text().startswith("time,")


def test_what_needs_torch_says_so_in_one_line(installed: Path, tmp_path: Path) -> None:
    result = run(installed, "pc2dae", "train", "--describe", cwd=tmp_path)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert "pc2dae[train]" in result.stderr
