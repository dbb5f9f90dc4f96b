"""The page and the printed tables of `pc2dae calibrate`: beside a reference, in known gas, pooled."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pc2dae.cli import app

SUITE = """name = "box"
rate_hz = 0.016666666666666666
[environment]
air_temperature = "t"
relative_humidity = "rh"
[[family]]
name = "gas"
[[family.channel]]
name = "o3_a"
column = "cell"
units = "nA"
valid_min = -1000
"""
GAS = """start,end,channel,value,uncertainty
2025-10-01T00:00Z,2025-10-01T03:59Z,o3_a,0,0.5
2025-10-01T04:00Z,2025-10-01T07:59Z,o3_a,80,1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two days of a cell of −2 nA/ppb beside its reference; and eight hours of zero air, then 80 ppb."""
    home = tmp_path_factory.mktemp("box")
    rng = np.random.default_rng(0)
    time = np.datetime64("2025-10-01T00:00") + np.arange(2880) * np.timedelta64(1, "m")
    hours = np.arange(2880) / 60
    ozone = 40 + 25 * np.sin(2 * np.pi * hours / 11) + 2 * np.sin(2 * np.pi * hours)
    warmth = 15 + 8 * np.sin(2 * np.pi * hours / 24)
    cell = 30 - 2.0 * ozone + 1.5 * (warmth - 15) + rng.normal(0, 2, 2880)
    rows = [f"{t}:00Z,{c:.3f},{o:.3f},{w:.2f},{50 + 3 * np.sin(h):.1f}"
            for t, c, o, w, h in zip(time, cell, ozone, warmth, hours, strict=True)]  # fmt: skip
    (home / "box.csv").write_text("\n".join(["time,cell,o3_ppb,t,rh", *rows]) + "\n")
    gas = 30 - 2.0 * np.where(np.arange(480) < 240, 0, 80) + rng.normal(0, 2, 480)
    rows = [f"{t}:00Z,{c:.3f},,15,50" for t, c in zip(time[:480], gas, strict=True)]
    (home / "gas.csv").write_text("\n".join(["time,cell,o3_ppb,t,rh", *rows]) + "\n")
    (home / "known.csv").write_text(GAS)
    (home / "box.toml").write_text(SUITE)
    (home / "dry.toml").write_text(SUITE.replace('relative_humidity = "rh"', ""))
    return home


def calibrate(folder: Path, out: str, *arguments: str) -> tuple[str, str]:
    """What the command prints, and the text of the page it writes."""
    done = CliRunner().invoke(app, ["calibrate", *arguments, "-o", str(folder / out)], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    html = (folder / out).with_suffix(".html").read_text("utf-8")
    body = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
    return done.output, body


def beside(folder: Path, out: str, *more: str, suite: str = "box.toml") -> tuple[str, str]:
    record = str(folder / "box.csv")
    return calibrate(
        folder, out, record, "--suite", str(folder / suite), "--reference", record, "--pair", "o3_a=o3_ppb:ppb", *more
    )


def test_beside_a_reference(folder: Path) -> None:
    printed, body = beside(folder, "beside.json", "--test-from", "2025-10-01T21:00Z")
    assert all(len(line) <= 80 for line in printed.splitlines() if not line.startswith(("written", "next")))
    assert re.search(r"^o3_a +gain +−2\.0\d+ ± 0\.\d+ +nA per ppb *$", printed, re.MULTILINE)
    assert re.search(r"^o3_a ppb +(1\.0|0\.99)\d*±\S+ .* met +\d+ \(30\) *$", printed, re.MULTILINE)
    assert "Scored on 2025-10-01 21:00 to 2025-10-02 23:58 UTC, which the fit has not seen." in body
    for drawn in ("series", "scatter", "uncertainty", "residuals"):
        assert f'id="{drawn}-o3_a"' in body
    assert "relative humidity [%]" in body
    assert "EU objective, 30 % at 60 ppb" in body
    assert "made for fixed sites" in body
    assert re.search(r"SHA-256 of box\.csv</dt><dd>[0-9a-f]{64}<", body)


def test_without_a_test_period_blocks_are_held_out(folder: Path) -> None:
    _, body = beside(folder, "blocks.json", suite="dry.toml")
    assert "Scored on 6 blocks of this period" in body
    assert "temperature [°C]" in body
    assert "humidity [%]" not in body


def test_in_known_gas(folder: Path) -> None:
    record, suite = str(folder / "gas.csv"), str(folder / "box.toml")
    known = ("--intervals", str(folder / "known.csv"), "--pair", "o3_a=:ppb")
    printed, body = calibrate(folder, "gas.json", record, "--suite", suite, *known)
    assert re.search(r"reading at 40\.0 ppb +−(50|49)\.\d+ ± ", printed)
    assert 'id="plateaus-o3_a"' in body
    assert "80.0 ± 1.0 ppb" in body
    assert 'id="scores"' not in body


def test_pooled_has_tables_only(folder: Path) -> None:
    both = [str(folder / f"{name}.json") for name in ("first", "second")]
    beside(folder, "first.json")
    beside(folder, "second.json", "--to", "2025-10-02")
    _, body = calibrate(folder, "pool.json", "--like", both[0], "--like", both[1])
    assert "1 channel calibrated from payloads of its kind" in body
    assert "nA per ppb" in body
    assert "<svg" not in body


def test_the_file_may_not_have_the_name_of_the_page(folder: Path) -> None:
    done = CliRunner().invoke(app, ["calibrate", str(folder / "box.csv"), "-o", "box.html"])
    assert "box.json" in str(done.exception)
