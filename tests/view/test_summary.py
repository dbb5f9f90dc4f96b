from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from pc2dae.flight.schema import new_flight
from pc2dae.suite import parse_suite
from pc2dae.view import summary

ONE = """{"name": "one", "family": [{"name": "gas", "channel": [{"name": "co", "units": "ppb"}]}]}"""


@pytest.fixture
def alone() -> xr.Dataset:
    """Five minutes of one channel, denoised, in air that stays at 24 degC."""
    seconds = np.arange(300)
    values = {"co": 10.0 + np.sin(seconds), "air_temperature": 24 + 0.1 * np.sin(seconds)}
    time = np.datetime64("2025-10-01T12:00:00") + seconds * np.timedelta64(1, "s")
    flight = new_flight(time, values, parse_suite(ONE, where="test"), level="denoised")
    return flight.assign(co_raw=flight["co"])


def test_one_of_a_kind_is_said_in_the_singular(alone: xr.Dataset) -> None:
    suite = parse_suite(ONE, where="test")
    facts = [summary.channel_facts(alone, suite["co"])]
    said = summary.lead(alone, suite, facts, 1)
    assert "with the suite one: 1 channel. 1 plume encounter. 1 channel was denoised with" in said
    labels = {tile.label: tile.value for tile in summary.tiles(alone, suite, facts, 1)}
    assert labels["plume encounter"] == "1"
    assert labels["air temperature"] == "24 °C"


def test_a_range_of_temperature_has_two_ends(alone: xr.Dataset) -> None:
    suite = parse_suite(ONE, where="test")
    warming = alone.assign(air_temperature=("time", np.linspace(18.0, 26.0, 300)))
    labels = {tile.label: tile.value for tile in summary.tiles(warming, suite, [], 2)}
    assert labels["air temperature"] == "18–26 °C"
    assert labels["plume encounters"] == "2"


def test_what_is_high_from_the_first_sample_on_is_named(alone: xr.Dataset) -> None:
    suite = parse_suite(ONE, where="test")
    said = summary.lead(alone, suite, [], 0, ["co"])
    assert (
        "co is high from the first sample on (smoke before the record began, or settling sensors); not counted" in said
    )
    assert "first sample" not in summary.lead(alone, suite, [], 0)
