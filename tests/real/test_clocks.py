"""Clocks and movement of real records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from real_data import ABSENT, DATA

import pc2dae
from pc2dae.align.clocks import ClockFit, compare
from pc2dae.flight.movement import movement
from pc2dae.logs import read_logs

BALLOON = DATA / "helikite_balloon"
pytestmark = pytest.mark.skipif(not BALLOON.is_dir(), reason=ABSENT)


@pytest.mark.parametrize("added_s", [0, 84, -400])
def test_the_photometer_on_a_balloon_is_found_minutes_off(added_s: int) -> None:
    """As logged, its clock is 10.7 s ahead: there both pressures agree best, to 0.7 hPa."""
    computer, stap = sorted(read_logs([BALLOON], zone="UTC").streams, key=lambda stream: stream.key)
    fit = compare(computer, replace(stap, time=stap.time + np.timedelta64(added_s, "s")), "pressure")
    assert isinstance(fit, ClockFit)
    assert fit.offset_s == pytest.approx(10.7 + added_s, abs=0.5)


def test_a_balloon_flies_and_a_car_without_gps_does_not_say() -> None:
    assert movement(pc2dae.open_flight(BALLOON, zone="UTC")) == "airborne"
    assert movement(pc2dae.open_flight(DATA / "bengaluru_car", zone="UTC")) == "unknown"
