import json

import numpy as np
import pytest

from pc2dae.flags import SPIKE
from pc2dae.simulate import SimulatedFlight, true_grid
from pc2dae.simulate.payload import T90, make_cells

GASES = tuple(T90)


def test_cells_of_a_payload_spread_and_its_response_times_are_the_papers() -> None:
    cells = make_cells(3)
    assert set(cells) == set(GASES)
    assert np.percentile([c.t90_s for c in cells.values()], [25, 50, 75]) == pytest.approx([3, 4, 12], abs=1)
    assert any(abs(c.sensitivity - 1) > 0.05 for c in cells.values())
    assert cells["o3_a"].sheet["we_cross_sensitivity_no2_mv_ppb"] is not None
    assert cells["co_a"].sheet["we_total_zero_mv"] == pytest.approx(
        cells["co_a"].sheet["we_electronic_zero_mv"] + cells["co_a"].sheet["we_sensor_zero_mv"]
    )


def centre(values: np.ndarray, zero: float) -> float:
    """Mean time of what stands above `zero` [s]."""
    excess = values - zero
    return float(np.sum(np.arange(len(values)) * excess) / np.sum(excess))


@pytest.mark.parametrize("name", [n for n in GASES if not n.startswith("o3")])
def test_with_perfect_sheets_the_reading_is_the_lagged_air(perfect: SimulatedFlight, name: str) -> None:
    air, reading = perfect.truth[f"{name}_ambient"].values, perfect.truth[f"{name}_response"].values
    assert reading.mean() == pytest.approx(air.mean(), rel=0.02)
    late = centre(reading, np.median(air)) - centre(air, np.median(air))
    t90_s = json.loads(perfect.truth.attrs["t90_s"])[name]
    assert late == pytest.approx(t90_s / np.log(10), abs=0.7)  # a first-order lag delays by its time constant
    assert np.corrcoef(reading[1:], air[:-1])[0, 1] > 0.7


def test_handed_out_sheets_are_not_the_true_ones(flown: SimulatedFlight, perfect: SimulatedFlight) -> None:
    for flight, equal in ((flown, False), (perfect, True)):
        board = next(s for s in flight.streams if s.key == "afe/a")
        true = json.loads(flight.truth.attrs["facts"])["afe/a"]["true_calibration"]
        assert (true == json.loads(json.dumps(board.calibration))) is equal


@pytest.mark.parametrize("name", GASES)
def test_log_is_reading_plus_white_noise(flown: SimulatedFlight, name: str) -> None:
    good = flown.truth[f"{name}_fault"].values == 0
    noise = (true_grid(flown.streams, flown.truth)[name].values - flown.truth[f"{name}_response"].values)[good]
    assert np.isfinite(noise).all()
    assert abs(noise.mean()) < 4 * noise.std() / np.sqrt(len(noise))
    assert abs(np.mean(noise[1:] * noise[:-1]) / noise.var()) < 0.15
    assert np.abs(noise).max() < 6 * noise.std()  # whatever sticks out is marked as a fault


def test_spikes_are_in_the_log_and_in_the_truth(flown: SimulatedFlight) -> None:
    flight = true_grid(flown.streams, flown.truth)
    marked = 0
    for name in GASES:
        noise = flight[name].values - flown.truth[f"{name}_response"].values
        spiked = flown.truth[f"{name}_fault"].values & SPIKE > 0
        marked += int(spiked.sum())
        assert np.all(np.abs(noise[spiked & np.isfinite(noise)]) > 3 * np.nanstd(noise[~spiked]))
    assert marked > 0
