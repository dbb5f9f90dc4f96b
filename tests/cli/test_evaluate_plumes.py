import json
import re
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from rich.console import Console
from typer.testing import CliRunner

from pc2dae.cli import app
from pc2dae.cli.evaluate import _show
from pc2dae.denoising import denoise
from pc2dae.flight.schema import new_flight
from pc2dae.flight.store import read_flight, write_flight
from pc2dae.suite import load_suite
from suites import make_suite

SUITE = load_suite("black-kite").only(["gas", "co2"])
T = np.arange(700)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    smoke = np.exp(-0.5 * ((T - 350) / 15) ** 2)
    height = {"co": 5000, "co2": 80}
    values = {
        c.name: c.lower_bound
        + 100
        + height.get(c.name.split("_")[0], 60) * smoke
        + rng.normal(0, c.noise_sigma, len(T))
        for c in SUITE.channels
    }
    time = np.datetime64("2025-10-14T18:00:00", "ns") + T * np.timedelta64(1, "s")
    path = tmp_path_factory.mktemp("flight") / "clean.nc"
    write_flight(denoise(new_flight(time, values, SUITE, level="compensated"), model="ma5"), path)
    return path


def test_evaluate_shows_the_yardsticks_and_gives_json(clean: Path) -> None:
    shown = CliRunner().invoke(app, ["evaluate", str(clean)])
    assert shown.exit_code == 0
    for word in ("smoothness", "constant", "raw", "pass --truth"):
        assert word in shown.output
    rows = json.loads(CliRunner().invoke(app, ["evaluate", str(clean), "--json"]).stdout)
    assert {"method", "channel", "family", "metric", "value"} == set(rows[0])
    assert {row["method"] for row in rows} == {"ma5", "raw", "clip", "constant"}


def test_evaluate_prints_the_error_budget(clean: Path, tmp_path: Path) -> None:
    flight = read_flight(clean)
    parts = {"response": 0.0, "instant": 30.0, "ambient": 50.0}
    truth = xr.Dataset(
        {f"{n}_{kind}": ("time", flight[n].values + by) for n in SUITE.names for kind, by in parts.items()},
        {"time": flight["time"]},
    )
    truth.to_netcdf(tmp_path / "truth.nc")
    command = ["evaluate", str(clean), "--truth", str(tmp_path / "truth.nc")]
    shown = CliRunner().invoke(app, command).output
    assert re.search(r"co_a, ppb\s+[\d.]+\s+30\.0\s+20\.0\s+30\.0", shown)  # noise, lag, calibration, left
    rows = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert {row["method"] for row in rows if row["metric"] == "budget_lag"} == {"raw"}
    assert {row["method"] for row in rows if row["metric"] == "budget_left"} >= {"ma5", "raw"}


def test_units_in_brackets_are_shown_not_taken_for_markup() -> None:
    console = Console(file=StringIO(), width=100)
    _show(console, pd.DataFrame({"gas": [0.5]}, index=["edge_error"]), ["gas"], title="ma5")
    assert "plume edge error [s]" in console.file.getvalue()


def test_plumes_tells_apart_what_began_before_the_record(clean: Path, tmp_path: Path) -> None:
    write_flight(read_flight(clean).isel(time=slice(350, None)), tmp_path / "late.nc")
    shown = CliRunner().invoke(app, ["plumes", str(tmp_path / "late.nc")]).output
    assert "no emission ratio: no encounter" in shown
    assert re.search(r"co_a is elevated from its first sample \(\+[45],\d+ ppb for \d+ s\): smoke before", shown)
    found = json.loads(CliRunner().invoke(app, ["plumes", str(tmp_path / "late.nc"), "--json"]).stdout)
    assert "co_a" in [row["channel"] for row in found["begun"]]
    assert "co_a" not in [row["channel"] for row in found["encounters"]]


def test_plumes_shows_ratios_and_gives_json(clean: Path) -> None:
    shown = CliRunner().invoke(app, ["plumes", str(clean)])
    assert shown.exit_code == 0
    assert "ΔCO / ΔCO2" in shown.output
    assert "co_a" in shown.output
    found = json.loads(CliRunner().invoke(app, ["plumes", str(clean), "--matched", "--json"]).stdout)
    ratio = next(r for r in found["ratios"] if r["ratio"] == "co/co2" and r["method"] == "integral")
    assert ratio["value"] == pytest.approx(5000 / 80_000, rel=0.1)


def test_emission_factors_follow_the_fuel(clean: Path) -> None:
    command = ["plumes", str(clean), "--json", "--fuel-carbon-uncertainty", "0"]
    results = [CliRunner().invoke(app, [*command, *fuel]).stdout for fuel in ([], ["--fuel-carbon", "0.25"])]
    rows = [json.loads(text)["emission_factors"] for text in results]
    half, quarter = ({r["species"]: r["value"] for r in found if r["scope"] == "flight"} for found in rows)
    share = 5 / 85  # of CO in the carbon
    assert half["co"] == pytest.approx(500 * 28.010 / 12.011 * share, rel=0.1)
    assert quarter["co2"] == pytest.approx(half["co2"] / 2)


def test_several_flights_are_a_campaign(clean: Path) -> None:
    shown = CliRunner().invoke(app, ["plumes", str(clean), str(clean)]).output
    assert "carbon-weighted" in shown
    found = json.loads(CliRunner().invoke(app, ["plumes", str(clean), str(clean), "--json"]).stdout)
    assert [one["flight"] for one in found["flights"]] == [str(clean)] * 2
    co = {row["scope"]: row for row in found["campaign"] if row["species"] == "co"}
    once = next(r["value"] for r in found["flights"][0]["emission_factors"] if r["species"] == "co")
    assert [row["value"] for row in co.values()] == [pytest.approx(once)] * 2
    assert co["campaign, mean of flights"]["random_sigma"] == 0.0  # the same flight twice


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--background", "runing"], "unknown background 'runing'; known: running"),
        (["--background", "percentile:101"], "invalid percentile '101'"),
        (["--clean-air", "18:00"], "--clean-air 18:00 is not START/END"),
        (["--clean-air", "2025-10-14T18:00/2025-10-14T18:01"], "has no time zone"),
        (["--fuel-carbon", "48"], "a carbon fraction of 48"),
        (["-o", "plumes.xls"], "'plumes.xls' is not a known format of plumes"),
    ],
)
def test_a_wrong_option_is_one_line(clean: Path, options: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["plumes", str(clean), *options])
    assert said in str(result.exception)


def test_plumes_of_nothing_say_nothing(tmp_path: Path) -> None:
    """Constant CO₂, and CO whose every sample is impossible: no encounter, no ratio, no uncertainty of zero."""

    suite = make_suite({"gas": {"co": {"units": "ppm", "valid_min": 5000.0}, "co2": "ppm", "no": "ppm"}}, name="s")
    rng = np.random.default_rng(0)
    time = np.datetime64("2025-10-14T18:00:00", "ns") + T * np.timedelta64(1, "s")
    smoke = np.exp(-0.5 * ((T - 350) / 15) ** 2)
    values = {"co": 1000 + 900 * smoke, "co2": np.full(len(T), 415.3), "no": rng.normal(5, 1, len(T))}
    write_flight(denoise(new_flight(time, values, suite), model="ma5"), tmp_path / "clean.nc")
    shown = CliRunner().invoke(app, ["plumes", str(tmp_path / "clean.nc")])
    assert shown.exit_code == 0
    assert "no emission ratio" in shown.output
    assert "no channel rises above its background" in shown.output
    found = json.loads(CliRunner().invoke(app, ["plumes", str(tmp_path / "clean.nc"), "--json"]).stdout)
    (whole,) = found.pop("table")
    assert whole["scope"] == "flight"
    empty = {"encounters": [], "begun": [], "ratios": [], "emission_factors": [], "assumed_gains": {}, "notes": []}
    background = found.pop("background")
    assert (background["kind"], background["is_good"]) == ("running", True)
    assert found.pop("covariance") == []
    assert found == {"flight": str(tmp_path / "clean.nc")} | empty
