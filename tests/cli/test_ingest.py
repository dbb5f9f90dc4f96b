"""`pc2dae ingest` names a spent filter and corrects it when asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import pc2dae
from pc2dae.cli import app


def drive(folder: Path) -> Path:
    """A minute of an AE51 whose filter is loaded to attenuations of 100 to 106."""
    head = "AethLabs\nTimebase = 1 s\n\nDate,Time,Ref,Sen,ATN,Flow,PCB temp,Status,Battery,BC\n\n"
    rows = (f"2019/09/16,09:57:{s:02d},884149,920135,{100 + s / 10},99,27,0,83,{900 + s % 7 * 30}" for s in range(60))
    path = folder / "drive.csv"
    path.write_text(head + "\n".join(rows) + "\n")
    return path


def test_a_spent_filter_is_named_and_corrected_when_asked(tmp_path: Path) -> None:
    log = drive(tmp_path)
    words = ["ingest", str(log), "--zone", "UTC", "-o"]
    shown = CliRunner().invoke(app, [*words, str(tmp_path / "logged.nc")]).stdout
    assert "filter loaded (black carbon reads too low, see --correct-loading): bc 100 %" in " ".join(shown.split())
    shown = CliRunner().invoke(app, [*words, str(tmp_path / "corrected.nc"), "--correct-loading"]).stdout
    assert "filter loading corrected: bc = BC / (0.88 exp(-ATN/100) + 0.12)" in " ".join(shown.split())
    assert "filter loaded" not in shown
    logged, corrected = (pc2dae.open_flight(tmp_path / f"{name}.nc")["bc"] for name in ("logged", "corrected"))
    atn = 100 + np.arange(60) / 10
    np.testing.assert_allclose(corrected / logged, 1 / (0.88 * np.exp(-atn / 100) + 0.12))


def test_stated_offset_and_metadata_are_reported_and_kept(tmp_path: Path) -> None:
    log, out = drive(tmp_path), tmp_path / "drive.nc"
    words = ["ingest", str(log), "--zone", "UTC", "--offset", "ae51=95", "--meta", "institution=EPFL, EERL"]
    shown = " ".join(CliRunner().invoke(app, [*words, "-o", str(out)]).stdout.split())
    assert "+95.00" in shown
    assert "ae51: clock by stated offset" in shown
    flight = pc2dae.open_flight(out)
    assert str(flight["time"].values[0])[:19] == "2019-09-16T09:55:25"
    assert flight.attrs["clock_offset_s"] == '{"ae51": 95.0}'
    assert "clock of ae51: stated to be 95 s ahead" in flight.attrs["history"]
    assert flight.attrs["institution"] == "EPFL, EERL"
    clean = tmp_path / "clean.ict"
    CliRunner().invoke(app, ["denoise", str(out), "-o", str(clean), "--model", "savgol", "--meta", "project=BURN"])
    assert clean.read_text().splitlines()[2:5:2] == ["EPFL, EERL", "BURN"]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--offset", "ae15=95"), "clock offset of 'ae15': no such instrument; known: ae51"),
        (
            ("--offset", "ae51"),
            "--offset 'ae51' is not INSTRUMENT=SECONDS; seconds that the instrument's clock",
        ),
        (("--meta", "project"), "--meta 'project' is not KEY=VALUE"),
        (("--meta", "project="), "metadata 'project' is empty"),
    ],
)
def test_what_cannot_be_stated_is_one_line(tmp_path: Path, option: tuple[str, str], said: str) -> None:
    result = CliRunner().invoke(app, ["ingest", str(drive(tmp_path)), "--zone", "UTC", *option])
    assert result.exception is not None
    assert said in str(result.exception)


def test_rows_of_a_plain_csv_follow_a_stated_offset(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("time,co\n2024-04-09T20:00:00-05:00,1\n2024-04-09T20:00:01-05:00,2\n")
    (tmp_path / "one.toml").write_text(
        'name = "one"\n[[family]]\nname = "gas"\n[[family.channel]]\nname = "co"\nunits = "ppm"\n'
    )
    flight = pc2dae.open_flight(tmp_path / "log.csv", suite=tmp_path / "one.toml", offsets={"csv": 60})
    assert flight["row_time"].values.astype("datetime64[s]").astype(str).tolist() == [
        "2024-04-10T00:59:00",
        "2024-04-10T00:59:01",
    ]
    assert "row_stamp" not in flight
    assert flight["co"].values.tolist() == [1, 2]


def test_metadata_of_the_suite_reaches_the_file_unless_overridden(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("time,co\n2024-04-09T20:00:00Z,1\n2024-04-09T20:00:01Z,2\n")
    (tmp_path / "one.toml").write_text(
        'name = "one"\n[metadata]\ncreator_name = "A. Author"\nproject = "BURN"\n'
        '[[family]]\nname = "gas"\n[[family.channel]]\nname = "co"\nunits = "ppm"\n'
    )
    words = ["ingest", str(tmp_path / "log.csv"), "--suite", str(tmp_path / "one.toml"), "--meta", "project=OTHER"]
    CliRunner().invoke(app, [*words, "-o", str(tmp_path / "flight.nc")])
    with xr.open_dataset(tmp_path / "flight.nc") as written:
        said = {key: written.attrs[key] for key in ("creator_name", "project", "institution")}
    assert said == {"creator_name": "A. Author", "project": "OTHER", "institution": "not stated"}


def test_electrodes_without_a_sheet_are_named(tmp_path: Path) -> None:
    head = ",id,timestamp,timestamp_local,sn,temp,co2_raw,co_we,co_ae,no_we,no_ae,device_state\n"
    rows = (f"{i},{i},2019-12-13T20:{i:02d}:07Z,x,SN000-063,39,666,762,590.9,,,ACTIVE\n" for i in range(9))
    (tmp_path / "arisense.csv").write_text(head + "".join(rows))
    shown = CliRunner().invoke(app, ["ingest", str(tmp_path / "arisense.csv")]).stdout
    said = "no calibration sheet: quantaq_co kept in millivolts only, see pc2dae calibrate"
    assert said in " ".join(shown.split())
