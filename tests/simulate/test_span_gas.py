from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pc2dae import open_flight
from pc2dae.simulate import SimulatedFlight, simulate_span_gas, write_flight_files
from pc2dae.simulate.payload import make_cells

SEED = 6


@pytest.fixture(scope="module")
def breathed() -> SimulatedFlight:
    return simulate_span_gas(SEED)


def median_in(series: np.ndarray, time: np.ndarray, start: pd.Timestamp, end: pd.Timestamp) -> float:
    stamps = pd.DatetimeIndex(time, tz="UTC")
    return float(np.nanmedian(series[(stamps >= start) & (stamps < end)]))


def test_intervals_hold_the_gas_within_its_uncertainty(breathed: SimulatedFlight) -> None:
    table = breathed.tables["intervals"].astype({"start": "datetime64[ns, UTC]", "end": "datetime64[ns, UTC]"})
    assert table.groupby("channel").size().to_dict() == {
        "no_a": 3, "no_b": 3, "no2_a": 3, "no2_b": 3, "o3_a": 3, "o3_b": 3, "so2_a": 3, "co_a": 4, "co_b": 4,
        "co2_scd30": 3, "co2_li830": 3,
    }  # fmt: skip
    truth = breathed.truth
    for row in table.itertuples():
        air = median_in(truth[f"{row.channel}_ambient"].values, truth["time"].values, row.start, row.end)
        assert air == pytest.approx(row.value, abs=4 * row.uncertainty)


def test_plateaus_give_the_gains_of_the_payload(breathed: SimulatedFlight, tmp_path: Path) -> None:
    flight = open_flight(write_flight_files(breathed, tmp_path))
    table = pd.read_csv(tmp_path / "span_gas.intervals.csv", parse_dates=["start", "end"])
    for name, cell in make_cells(SEED).items():
        rows = table[table["channel"] == name]
        read = [median_in(flight[name].values, flight["time"].values, row.start, row.end) for row in rows.itertuples()]
        gain = (max(read) - np.mean([read[0], read[-1]])) / rows["value"].max()
        assert gain == pytest.approx(cell.sensitivity, rel=0.08)
