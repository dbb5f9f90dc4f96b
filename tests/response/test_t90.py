"""Response times from plumes that two sensors share."""

from __future__ import annotations

import numpy as np
import pytest

from pc2dae.flight.schema import new_flight
from pc2dae.response.t90 import against_faster, low_pass, own_edges, response_times
from suites import make_suite


def air(seed: int = 0, rows: int = 1500) -> np.ndarray:
    """Puffs of 3 to 30 s."""
    rng = np.random.default_rng(seed)
    puffs = np.zeros(rows)
    for start in rng.integers(50, rows - 50, 14):
        puffs[start : start + rng.integers(3, 30)] += rng.gamma(2.0, 0.5)
    return puffs


def test_low_pass_reaches_nine_tenths_at_t90() -> None:
    step = low_pass(np.append(np.zeros(10), np.ones(200)), t90_s=20.0)
    assert step[9] == 0
    assert step[10 + 19] == pytest.approx(0.9, abs=1e-9)
    np.testing.assert_allclose(low_pass(np.full(50, 7.0), t90_s=5.0), 7.0)


@pytest.mark.parametrize("t90", [2.0, 4.0, 12.0, 46.0])
def test_t90_against_a_faster_channel(t90: float) -> None:
    rng = np.random.default_rng(1)
    fast = low_pass(air(), t90_s=2.0) * 50 + rng.normal(0, 0.5, 1500)
    slow = 30 + 200 * low_pass(np.roll(air(), 3), t90_s=t90) + rng.normal(0, 8.0, 1500)  # three seconds late
    found = against_faster(slow, np.ones(1500, bool), fast, fast_t90_s=2.0)
    assert found.t90_s == pytest.approx(t90, abs=max(1.0, 0.12 * t90))
    assert 0 < found.uncertainty_s < max(2.0, 0.2 * t90)
    assert found.delay_s == pytest.approx(3.0, abs=1.0)


def test_two_channels_without_anything_in_common() -> None:
    noise = np.random.default_rng(2).normal(0, 1, 1500)
    assert np.isnan(against_faster(noise, np.ones(1500, bool), air() * 50, fast_t90_s=2.0).t90_s)


def test_own_edges_bound_the_response() -> None:
    slow = 1000 * low_pass(air(3), t90_s=6.0) + np.random.default_rng(3).normal(0, 1, 1500)
    found = own_edges(slow, np.ones(1500, bool), sigma=1.0)
    assert found.t90_s == pytest.approx(6.0, rel=0.35)
    assert np.isnan(own_edges(np.zeros(100), np.ones(100, bool), sigma=1.0).t90_s)


def test_a_flights_channels_take_the_fastest_witness_of_another_instrument() -> None:
    suite = make_suite({"gas": {"co2": {"units": "ppm", "t90_s": 2.0}, "co": "ppb", "nothing": "ppb"}}, name="three")
    rng = np.random.default_rng(4)
    values = {
        "co2": 420 + 50 * low_pass(air(5), t90_s=2.0) + rng.normal(0, 0.5, 1500),
        "co": 100 + 2000 * low_pass(air(5), t90_s=8.0) + rng.normal(0, 10, 1500),
        "nothing": rng.normal(0, 1, 1500),
    }
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(1500) * np.timedelta64(1, "s")
    found = response_times(new_flight(time, values, suite))
    assert found["co"].reference == "co2"
    assert found["co"].t90_s == pytest.approx(8.0, abs=1.0)
    assert "nothing" not in found
