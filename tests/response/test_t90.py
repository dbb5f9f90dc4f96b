"""Response times from plumes that two sensors share."""

from __future__ import annotations

import numpy as np
import pytest

from pc2dae.flight.schema import new_flight
from pc2dae.response.kernels import Kernel, respond
from pc2dae.response.t90 import response_times, stated_delay
from puffs import air
from suites import make_suite

START = np.datetime64("2025-10-05T14:00:00", "ns")


def test_a_flights_channels_take_the_fastest_witness_of_another_instrument() -> None:
    suite = make_suite({"gas": {"co2": {"units": "ppm", "t90_s": 2.0}, "co": "ppb", "nothing": "ppb"}}, name="three")
    rng = np.random.default_rng(4)
    values = {
        "co2": 420 + 50 * respond(air(5), Kernel(2.0)) + rng.normal(0, 0.5, 1500),
        "co": 100 + 2000 * respond(air(5), Kernel(8.0)) + rng.normal(0, 10, 1500),
        "nothing": rng.normal(0, 1, 1500),
    }
    found = response_times(new_flight(START + np.arange(1500) * np.timedelta64(1, "s"), values, suite))
    assert found["co"].reference == "co2"
    assert found["co"].t90_s == pytest.approx(8.0, abs=1.0)
    assert found["nothing"].reason == "its plumes are not those of co2"


def test_two_fast_channels_check_each_other() -> None:
    fast = {"units": "ppm", "t90_s": 2.0}
    suite = make_suite({"gas": {"co2": fast, "no": fast | {"units": "ppb"}, "co": "ppb"}}, name="three")
    rng = np.random.default_rng(6)
    values = {
        "co2": 420 + 50 * respond(air(7), Kernel(3.0)) + rng.normal(0, 0.05, 1500),  # slower than its suite says
        "no": 500 * respond(air(7), Kernel(2.0)) + rng.normal(0, 2, 1500),
        "co": 100 + 2000 * respond(air(7), Kernel(6.0)) + rng.normal(0, 2, 1500),
    }
    found = response_times(new_flight(START + np.arange(1500) * np.timedelta64(1, "s"), values, suite))
    assert found["co2"].reference == "no"
    assert found["co2"].t90_s == pytest.approx(3.0, abs=0.3)
    assert found["co"].t90_s == pytest.approx(6.0, abs=2 * found["co"].uncertainty_s)


def test_channels_of_one_instrument_share_its_delay() -> None:
    gases = {"co2": {"units": "ppm", "t90_s": 1.5}, "co": "ppb", "no": "ppb"}
    sources = {"co2": "li830.co2", "co": "afe/a.co", "no": "afe/a.no"}
    suite = make_suite({"gas": gases}, name="board", sources=sources)
    rng = np.random.default_rng(8)
    late = np.roll(air(9), 4)
    values = {
        "co2": 420 + 50 * respond(air(9), Kernel(1.5)) + rng.normal(0, 0.1, 1500),
        "co": 2000 * respond(late, Kernel(5.0)) + rng.normal(0, 2, 1500),
        "no": 60 * respond(late, Kernel(9.0)) + rng.normal(0, 12, 1500),
    }
    found = response_times(new_flight(START + np.arange(1500) * np.timedelta64(1, "s"), values, suite))
    assert found["co"].delay_s == pytest.approx(4.0, abs=0.2)
    assert found["no"].delay_s == pytest.approx(4.0, abs=0.3)
    assert found["no"].delay_uncertainty_s < 0.3
    assert found["no"].t90_s == pytest.approx(9.0, rel=0.3)


def test_the_channels_of_a_table_share_its_clock() -> None:
    table = make_suite({"gas": {"co": "ppb"}}, name="table")
    logs = make_suite({"gas": {"co": "ppb"}}, name="logs", sources={"co": "afe.co"})
    values = {"co": np.zeros(10)}
    for suite, doubt in ((table, 0.5), (logs, 5.0)):
        flight = new_flight(START + np.arange(10) * np.timedelta64(1, "s"), values, suite)
        assert stated_delay(flight.assign_attrs(clock_offset_s='{"csv": 0.0}'), suite, "co") == (0.0, doubt)
