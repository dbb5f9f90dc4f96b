import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pc2dae import open_flight
from pc2dae.errors import Pc2daeError
from pc2dae.flags import STALE
from pc2dae.simulate import SimulatedFlight, plan_campaign, simulate_colocation, write_flight_files
from pc2dae.simulate.payload import make_cells

SEED = 5
CHANNELS = (*make_cells(SEED), "co2_scd30", "co2_li830")


@pytest.fixture(scope="module")
def beside() -> SimulatedFlight:
    return simulate_colocation(SEED, 1.0)


def air(beside: SimulatedFlight, name: str) -> np.ndarray:
    return beside.truth[f"{name}_ambient"].values


def test_it_ends_before_the_first_flight_and_covers_its_weather(beside: SimulatedFlight) -> None:
    plans = plan_campaign(SEED)
    assert beside.truth["time"].values[-1] < plans[0].start
    for name, values in (
        ("air_temperature", [plan.temperature_c for plan in plans]),
        ("relative_humidity", [plan.humidity_pct for plan in plans]),
    ):
        station = beside.truth[name].values
        assert station.min() < min(values)
        assert station.max() > max(values)


def test_exhaust_removes_ozone(beside: SimulatedFlight) -> None:
    assert np.corrcoef(air(beside, "no_a"), air(beside, "o3_a"))[0, 1] < -0.3
    assert np.corrcoef(air(beside, "no_a"), air(beside, "co_a"))[0, 1] > 0.7
    assert air(beside, "o3_a").min() >= 0


@pytest.mark.parametrize("name", ["co_a", "co_b", "no_a", "no_b"])
def test_gains_are_those_of_the_flights_within_their_ageing(beside: SimulatedFlight, name: str) -> None:
    slope = np.polyfit(air(beside, name), beside.truth[f"{name}_instant"].values, 1)[0]
    assert slope == pytest.approx(make_cells(SEED)[name].sensitivity, rel=0.06)


def test_the_reference_is_right_within_a_percent_once_its_clock_is(beside: SimulatedFlight) -> None:
    table = beside.tables["reference"]
    offset = np.timedelta64(beside.truth.attrs["reference_clock_offset_s"], "s")
    assert 90 <= abs(offset / np.timedelta64(1, "s")) < 300
    spans = json.loads(beside.truth.attrs["reference_span"])
    shown = pd.to_datetime(table["time"]).dt.tz_localize(None).to_numpy()

    def misfit(shift: np.timedelta64) -> float:
        begin = (shown - shift - beside.truth["time"].values[0]) / np.timedelta64(10, "s")
        rows = np.clip(begin[:, None].round().astype(int) + np.arange(6), 0, beside.truth.sizes["time"] - 1)
        return float(np.nanstd(table["co_ppb"] - spans["co"] * air(beside, "co_a")[rows].mean(axis=1)))

    assert misfit(offset) < 12  # noise 6 ppb, and minutes that begin between rows
    assert misfit(np.timedelta64(0, "s")) > 3 * misfit(offset)
    assert all(abs(span - 1) <= 0.01 for span in spans.values())
    assert len(table) < 1438  # gaps
    assert table.drop(columns="time").isna().any().any()


def test_the_folder_is_read_as_a_flight(beside: SimulatedFlight, tmp_path: Path) -> None:
    flight = open_flight(write_flight_files(beside, tmp_path))
    assert (tmp_path / "colocation.reference.csv").exists()
    for name in CHANNELS:
        measured = np.isfinite(flight[name].values)
        assert measured.sum() > 0.97 * 8640  # one row every 10 s
        assert not np.any(flight[f"qc_{name}"].values[measured] & STALE)


def test_impossible_lengths_are_refused() -> None:
    with pytest.raises(Pc2daeError, match="--colocation"):
        simulate_colocation(1, 0)
