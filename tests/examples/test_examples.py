"""Every numbered example runs and says what it promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_01_denoise():
    done = subprocess.run(
        [sys.executable, EXAMPLES / "01_denoise.py", "10"], capture_output=True, text=True, check=False, timeout=550
    )
    assert done.returncode == 0, done.stderr
    assert "CO, first ten seconds, clean:" in done.stdout
    assert "denoised bc, gas, co2 with lean" in done.stdout
