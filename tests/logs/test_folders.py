from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from pc2dae.cli import app
from pc2dae.flight.schema import suite_of
from pc2dae.ingestion import ingest, open_flight
from pc2dae.logs import read_logs
from pc2dae.simulate import plan_campaign, write_campaign

DATA = Path(__file__).parents[3] / "shared" / "data"
FOLDERS = {  # folder → zone, instruments, rows
    "bengaluru_car": ("+05:30", {"ae51": 11838, "licor": 11622}),
    "arisense_we_ae": (None, {"quantaq": 60}),
    "helikite_balloon": (None, {"flight_computer": 19714, "stap": 10187}),
    "konza_uav_burn/greenbox": (None, {"greenbox": 4306}),
    "act_america_icartt": (None, {"icartt": 3727}),
}


@pytest.mark.skipif(not DATA.exists(), reason="the real files of ../shared/data are not here")
@pytest.mark.parametrize("folder", FOLDERS)
def test_real_folders(folder):
    zone, rows = FOLDERS[folder]
    flight, intake = ingest([DATA / folder], zone=zone)
    assert {source.instrument: source.rows_used for source in intake.sources} == rows
    assert np.all(np.diff(flight["time"].values) == flight["time"].values[1] - flight["time"].values[0])


@pytest.mark.skipif(not DATA.exists(), reason="the real files of ../shared/data are not here")
def test_real_pairs_in_a_zip():
    first, second = read_logs([DATA / "li840a_pairs"], zone="-07:00").streams
    assert (first.key, second.key) == ("li840a/1", "li840a/2")
    assert len(first.time) == 252571


@pytest.fixture(scope="module")
def flight_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("campaign")
    for _ in write_campaign(plan_campaign(7, flights=1, minutes=12), folder):
        pass
    return folder


def test_a_simulated_flight_comes_on_the_time_axis_of_its_truth(flight_folder):
    flight, intake = ingest([flight_folder / "flight_001"])
    with xr.open_dataset(flight_folder / "flight_001.truth.nc") as truth:
        assert np.array_equal(flight["time"].values, truth["time"].values)
        offsets = json.loads(truth.attrs["clock_offset_s"])
    assert intake.suite == "black-kite"
    assert not intake.ignored
    known = {s.instrument: s.clock_offset_s for s in intake.sources if s.clock_offset_s is not None}
    assert {"ardupilot", "bme280", "li830", "ma200"} <= set(known)
    for name, offset in known.items():
        assert offset == pytest.approx(offsets[name], abs=0.5)
    for source in intake.sources:
        assert source.rows_used <= source.rows
        left_out = source.rows - source.rows_used
        assert left_out == 0 or any("left out" in repair for repair in source.repairs)


def test_gases_need_their_sheet_and_say_so(flight_folder, tmp_path):
    folder = tmp_path / "bare"
    folder.mkdir()
    for path in (flight_folder / "flight_001").iterdir():
        if path.name != "afe_b.calibration.json":
            (folder / path.name).write_bytes(path.read_bytes())
    flight, intake = ingest([folder])
    assert np.isnan(flight["co_b"].values).all()
    assert np.isfinite(flight["co_a"].values).any()
    assert np.isfinite(flight["afe_b_co_we"].values).any()
    assert "co_b" in intake.notes[0]
    flight, _ = ingest([folder], calibration=flight_folder / "flight_001" / "afe_b.calibration.json")
    assert np.isfinite(flight["co_b"].values).any()


def test_the_papers_equation_can_be_chosen(flight_folder, tmp_path):
    folder, out = shutil.copytree(flight_folder / "flight_001", tmp_path / "logs"), tmp_path / "flight.nc"
    command = ["ingest", str(folder), "-o", str(out), "--compensation", "equation-1"]
    refused = str(CliRunner().invoke(app, command).exception)
    assert refused.startswith("no_a: compensation equation-1 needs kappa_0_ppb")
    for path in folder.glob("*.calibration.json"):
        sheet = json.loads(path.read_text())
        for cell in sheet["sensors"]:
            gain = 1 / cell["we_sensitivity_mv_ppb"]
            cell["equation_1"] = {"kappa_0_ppb": 30.0, "kappa_1_ppb_per_degc": 0.0, "reference_degc": 20.0,
                                  "beta_ppb_per_mv": gain}  # fmt: skip
        path.write_text(json.dumps(sheet))
    assert CliRunner().invoke(app, command).exit_code == 0
    chosen, usual = open_flight(out), ingest([folder])[0]
    assert suite_of(chosen).compensation == "equation-1"
    for name in ("co_a", "no2_b"):  # cells whose recommended algorithm is 1, which Eq. (1) raises by κ0
        np.testing.assert_allclose(chosen[name].values, usual[name].values + 30.0, atol=1e-3)


@pytest.mark.slow
def test_clocks_of_twenty_simulated_flights(tmp_path):
    """At least 95 % of offsets within 0.5 s of the truth, or declared not found."""
    from pc2dae.align.clocks import find_clocks

    verdicts = []
    for _ in write_campaign(plan_campaign(11, flights=20, minutes=8), tmp_path):
        pass
    for number in range(1, 21):
        streams = read_logs([tmp_path / f"flight_{number:03d}"]).streams
        with xr.open_dataset(tmp_path / f"flight_{number:03d}.truth.nc") as truth:
            offsets = json.loads(truth.attrs["clock_offset_s"])
        verdicts += [not fit.found or abs(fit.offset_s - offsets[fit.key]) <= 0.5 for fit in find_clocks(streams)]
    assert np.mean(verdicts) >= 0.95
