from __future__ import annotations

import numpy as np
import pytest

from pc2dae.flight.movement import movement
from pc2dae.flight.schema import new_flight
from suites import make_suite

SUITE = make_suite({"gas": {"co": "ppb"}}, name="one")
T = np.arange(600.0)
CLIMB = 50 * np.clip((T - 100) / 40, 0, 1)  # 50 m in 40 s
HILL = 60 * np.sin(T / 100)  # 36 m in a minute
NOISE = np.random.default_rng(0).normal(0, 1, len(T))


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"altitude": 300 + CLIMB, "ground_speed": 0 * T + 3}, "airborne"),
        ({"air_pressure": 960 - CLIMB / 8.4 + 0.1 * NOISE}, "airborne"),  # a tethered balloon without GPS
        ({"altitude": 300 + HILL, "ground_speed": 0 * T + 15}, "moving"),  # a car in the hills
        ({"latitude": 12.9 + 1e-4 * T, "longitude": 77.5 + 0 * T}, "moving"),
        ({"altitude": 300 + 2 * NOISE, "ground_speed": 0.2 * np.abs(NOISE)}, "stationary"),
        ({"latitude": 39.1 + 1e-4 * (NOISE > 0.5), "longitude": -96.6 + 0 * T}, "stationary"),  # GPS to four digits
        ({"air_pressure": 960 - 2 * (T > 300), "ground_speed": 0 * T}, "stationary"),  # a jump of the sensor
        ({"air_pressure": 960 + T / 600}, "unknown"),  # weather
        ({"ground_speed": 0 * T + 100}, "airborne"),  # an aircraft in level flight
        ({}, "unknown"),
    ],
)
def test_height_and_speed_tell_how_a_platform_moved(known, expected):
    time = np.datetime64("2024-04-09T20:00:00", "ns") + np.arange(len(T)) * np.timedelta64(1, "s")
    assert movement(new_flight(time, {"co": 0 * T, **known}, SUITE)) == expected
