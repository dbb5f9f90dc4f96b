"""`pc2dae calibrate`, and `denoise` and `ingest` with its file, on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from typer.testing import CliRunner

from colocations import make_pairs
from pc2dae.calibration.budget import budget_of
from pc2dae.calibration.curve import read_calibration
from pc2dae.cli import app
from pc2dae.errors import CalibrationError, Pc2daeError
from pc2dae.flight.store import read_flight

SUITE = """
name = "box"
rate_hz = 0.016666666666666666
[environment]
air_temperature = "t"
[[family]]
name = "gas"
[[family.channel]]
name = "o3"
units = "nA"
lower_bound = -1000.0
[[family.channel]]
name = "no2"
units = "nA"
lower_bound = -1000.0
"""
PAIRS = ("--pair", "o3=o3_ref:ppb", "--pair", "no2=no2_ref:ppb")


def run(*words: object) -> Result:
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, np.ndarray], str]:
    """A folder with a record of 33 hours, its reference and its calibration; the air; what `calibrate` said."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("box"))
        patch.setenv("COLUMNS", "200")
        air = record()
        return Path.cwd(), air, calibrate().stdout


@pytest.fixture
def air(
    made: tuple[Path, dict[str, np.ndarray], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, np.ndarray]:
    """A copy of that folder to work in, and what the air was."""
    shutil.copytree(made[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return made[1]


def record() -> dict[str, np.ndarray]:
    """Write the record, its reference and its suite; the air."""
    pairs = make_pairs(count=2000, step_s=60.0, noise=0.5)
    stamps = [f"{t}Z" for t in np.datetime_as_string(pairs.time, unit="s")]
    reference = {f"{name}_ref": series for name, series in pairs.air.items()}
    pd.DataFrame({"time": stamps} | pairs.readings | {"t": pairs.terms["temperature"]} | reference).to_csv(
        "box.csv", index=False
    )
    Path("box.toml").write_text(SUITE)
    return pairs.air


def calibrate(*more: object, pairs: tuple[str, ...] = PAIRS, out: str = "box.json") -> Result:
    return run("calibrate", "box.csv", "--suite", "box.toml", "--reference", "box.csv", *pairs, "-o", out, *more)


def test_a_record_is_calibrated_and_denoised(
    made: tuple[Path, dict[str, np.ndarray], str], air: dict[str, np.ndarray]
) -> None:
    out = made[2]
    assert "co-location 2025-06-01T00:00Z" in out
    assert "no2" in out
    assert "next: pc2dae denoise flight.nc --calibration box.json -o clean.nc" in out
    assert set(read_calibration("box.json").channels) == {"o3", "no2"}
    options = ("--suite", "box.toml", "--model", "rts", "--calibration", "box.json")
    run("denoise", "box.csv", "-o", "clean.nc", *options)
    clean = read_flight(Path("clean.nc"))
    assert clean["o3"].attrs["units"] == "ppb"
    assert np.nanmean(np.abs(clean["o3"].values - air["o3"])) < 4
    assert clean["o3"].values.min() >= 0
    assert "calibrated o3, no2 with co-location" in clean.attrs["history"]
    assert {"o3_raw", "o3_uncalibrated", "o3_uncertainty"} <= set(clean.variables)
    assert clean["o3_uncalibrated"].attrs["units"] == "nA"
    assert budget_of(clean, "o3") is not None
    run("ingest", "box.csv", "--suite", "box.toml", "--calibration", "box.json", "-o", "flight.nc")
    assert read_flight(Path("flight.nc"))["o3"].attrs["units"] == "ppb"
    with pytest.raises(CalibrationError, match="no2 is calibrated already"):
        run("denoise", "flight.nc", "-o", "again.nc", "--model", "rts", "--calibration", "box.json")


def test_zero_checks_replace_the_zero(air: dict[str, np.ndarray]) -> None:
    value = air["no2"][:60].mean()
    check = f"no2={value}±0.5@2025-06-01T00:00Z/2025-06-01T00:59Z"
    options = ("--suite", "box.toml", "--model", "rts", "--calibration", "box.json")
    run("denoise", "box.csv", "-o", "clean.nc", *options, "--zero", check)
    clean = read_flight(Path("clean.nc"))
    assert "zero set in known air: no2 by" in clean.attrs["history"]
    assert clean["no2"].attrs["calibration"].endswith("; zero check")
    assert clean["no2"].attrs["zero_uncertainty"] == pytest.approx(0.5, abs=0.3)
    Path("checks.csv").write_text(
        f"start,end,channel,value,uncertainty\n{check[-35:-18]},{check[-17:]},no2,{value},0.5\n"
    )
    run("denoise", "box.csv", "-o", "other.nc", *options, "--zero", "checks.csv")
    np.testing.assert_allclose(read_flight(Path("other.nc"))["no2"].values, clean["no2"].values)


def test_json_and_similar_boxes(air: dict[str, np.ndarray]) -> None:
    one = PAIRS[:2]
    printed = json.loads(calibrate("--json", "--to", "2025-06-02", pairs=one, out="early.json").stdout)
    assert printed["kind"] == "pc2dae-calibration"
    run("calibrate", "--like", "box.json", "--like", "early.json", "-o", "like.json")
    assert read_calibration("like.json").method == "pooled"
    calibrate("--like", "box.json", "--like", "early.json", pairs=one, out="helped.json")
    calibrate("--test-from", "2025-06-02", pairs=one, out="box.json")  # its own earlier output may be replaced


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--pair", "o3:ppb"), r"--pair o3:ppb is not CHANNEL=COLUMN:UNITS; as in"),
        (("--pair", "o3=o3_ref"), r"--pair o3=o3_ref names no unit; write o3=o3_ref:ppb"),
        (("--pair", "so2=o3_ref:ppb"), r"the record has no channel 'so2'"),
        (("--pair", "o3=o4_ref:ppb"), r"o4_ref"),
        (
            ("--pair", "o3=o3_ref:ppb", "--from", "yesterday"),
            r"'yesterday' is not a time",
        ),
        (("--pair", "o3=o3_ref:ppb", "--from", "2025-06-02", "--to", "2025-06-01"), r"no data from 2025-06-02 to"),
        ((), r"no channel is paired with a column; add --pair"),
    ],
)
def test_bad_options_are_one_line(air: dict[str, np.ndarray], words: tuple[str, ...], message: str) -> None:
    with pytest.raises(Pc2daeError, match=message) as error:
        run("calibrate", "box.csv", "--suite", "box.toml", "--reference", "box.csv", "-o", "x.json", *words)
    assert "\n" not in str(error.value)
    assert not Path("x.json").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"none.json cannot be opened|No such file|does not exist"),
        ("{", r"bad.json"),
        ('{"kind": "pc2dae-calibration"}', r"bad.json: "),
        ('{"sensors": []}', r"bad.json"),
    ],
)
def test_a_bad_calibration_is_one_line(air: dict[str, np.ndarray], content: str | None, message: str) -> None:
    name = "none.json" if content is None else "bad.json"
    if content is not None:
        Path(name).write_text(content)
    for source in ("box.csv", "box.nc"):
        if source == "box.nc":
            run("ingest", "box.csv", "--suite", "box.toml", "-o", "box.nc")
        with pytest.raises(Pc2daeError, match=message) as error:
            run("denoise", source, "-o", "clean.nc", *(("--suite", "box.toml") if source == "box.csv" else ()),
                "--model", "rts", "--calibration", name)  # fmt: skip
        assert "\n" not in str(error.value)
