"""A disk that is full or broken at any moment of a write: the old file is intact, and the error names it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest


@pytest.mark.skipif(shutil.which("cc") is None or sys.platform != "linux", reason="needs a C compiler and LD_PRELOAD")
def test_every_write_may_fail(tmp_path: Path) -> None:
    script, source = (Path(__file__).with_name(f"write_faults{suffix}") for suffix in (".py", ".c"))
    shim = str(tmp_path / "shim.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, str(source), "-ldl"], check=True)
    environment = os.environ | {"LD_PRELOAD": shim, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], env=environment, capture_output=True, text=True, check=True
    )
    attempts = [json.loads(line) for line in run.stdout.splitlines()]
    runs = [list(part) for _, part in groupby(attempts, lambda a: (a["target"], a["error"]))]
    assert len(runs) == 5
    for part in runs:
        *failed, synced, whole = part  # the last call that can fail syncs the folder: the new file is in place by then
        assert failed
        assert [a["first"] for a in (*failed, synced, whole)] == [0.0] * len(failed) + [1.0, 1.0]
        assert whole["raised"] == ""
        for attempt in (*failed, synced):
            assert attempt["named"] == attempt["target"]
            assert attempt["errno"] == attempt["error"]
            assert ("no space left on the device" in attempt["raised"]) == (attempt["error"] == 28)
        assert all(a["inside"] == [Path(a["target"]).name] for a in part)
    assert any("bytes are needed" in a["raised"] for a in attempts if a["target"].endswith(".nc"))
