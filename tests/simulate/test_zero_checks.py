import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pc2dae.simulate import SimulatedFlight, simulate_flight, true_grid, write_flight_files


@pytest.fixture(scope="module")
def checked() -> SimulatedFlight:
    return simulate_flight(5, 4, zero_checks=True)


def test_the_aircraft_is_parked_in_clean_air_before_and_after(checked: SimulatedFlight) -> None:
    truth = checked.truth
    periods = json.loads(truth.attrs["zero_checks"])
    assert periods == [[0, 180], [420, 600]]
    assert truth.sizes["time"] == 600
    for begin, end in periods:
        assert truth["ground_speed"].values[begin:end].max() == 0
        settled = slice(begin + 12, end - 12)
        assert truth["co_a_ambient"].values[settled].max() < 200
        assert truth["pm25_1_ambient"].values[settled].max() < 7
    assert truth["co_a_ambient"].values[180:420].max() > 500


def test_known_air_is_near_the_truth_and_gives_the_zero(checked: SimulatedFlight, tmp_path: Path) -> None:
    write_flight_files(checked, tmp_path)
    table = pd.read_csv(tmp_path / "flight_001.zero.csv", parse_dates=["start", "end"])
    assert set(table["channel"]) == {
        "no_a", "no_b", "no2_a", "no2_b", "o3_a", "o3_b", "so2_a", "co_a", "co_b", "co2_scd30", "co2_li830",
    }  # fmt: skip
    assert len(table) == 2 * 11
    truth, reading = checked.truth, true_grid(checked.streams, checked.truth)
    stamps = pd.DatetimeIndex(truth["time"].values, tz="UTC")
    for row in table.itertuples():
        inside = (stamps >= row.start) & (stamps < row.end)
        assert inside.sum() >= 110
        air = truth[f"{row.channel}_ambient"].values[inside].mean()
        assert row.value == pytest.approx(air, abs=4 * row.uncertainty)
        error = truth[f"{row.channel}_instant"].values[inside].mean() - air
        zero = np.nanmean(reading[row.channel].values[inside]) - row.value
        assert zero == pytest.approx(error, abs=4 * np.hypot(row.uncertainty, 24 / 110**0.5))  # NO: 24 ppb at 1 Hz


def test_without_the_option_no_table_is_left(tmp_path: Path, checked: SimulatedFlight) -> None:
    write_flight_files(checked, tmp_path)
    write_flight_files(simulate_flight(5, 3), tmp_path)
    assert not list(tmp_path.glob("*.zero.csv"))
