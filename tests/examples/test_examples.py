"""Every numbered example runs, prints its result and saves its picture."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PRINTED = {
    "01_denoise": "denoised bc, gas, co2 with adaptive",
    "02_own_csv": "",
    "03_live": "largest difference between stream and file: ",
    "04_archive": "3 flights: 3 denoised, 0 done before, 0 failed",
    "05_train": "denoised bc, gas, co2 with lean",
    "06_plumes": "mce",
}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", PRINTED)
def test_example(name: str, tmp_path: Path) -> None:
    steps = ["10"] if name == "05_train" else []
    command = [sys.executable, EXAMPLES / f"{name}.py", tmp_path, *steps]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=250)
    assert done.returncode == 0, done.stderr
    assert PRINTED[name] in done.stdout
    assert (tmp_path / f"{name}.png").stat().st_size > 5000


def test_every_example_is_tested_and_in_the_gallery() -> None:
    gallery = (EXAMPLES.parent / "docs" / "examples.md").read_text(encoding="utf-8")
    assert sorted(PRINTED) == sorted(path.stem for path in EXAMPLES.glob("*.py"))
    for name in PRINTED:
        assert f"images/examples/{name}.png" in gallery
        assert f"{name}.py" in gallery
