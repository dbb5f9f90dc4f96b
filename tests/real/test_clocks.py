"""Clocks and movement of real records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from real_data import ABSENT, DATA

import pc2dae
from pc2dae.align.clocks import ClockFit, compare
from pc2dae.flight.movement import movement
from pc2dae.flight.stream import Stream
from pc2dae.logs import read_logs
from pc2dae.logs.join import rows_of

BALLOON = DATA / "helikite_balloon"
pytestmark = pytest.mark.skipif(not BALLOON.is_dir(), reason=ABSENT)


@pytest.mark.parametrize("added_s", [0, 84, -400])
def test_the_photometer_on_a_balloon_is_found_minutes_off(added_s: int) -> None:
    """As logged, its clock is 10.7 s ahead: there both pressures agree best, to 0.7 hPa."""
    computer, stap = sorted(read_logs([BALLOON], zone="UTC").streams, key=lambda stream: stream.key)
    fit = compare(computer, replace(stap, time=stap.time + np.timedelta64(added_s, "s")), "pressure")
    assert isinstance(fit, ClockFit)
    assert fit.offset_s == pytest.approx(10.7 + added_s, abs=0.5)


def during(stream: Stream, start_s: int, length_s: int, moved_s: int = 0) -> Stream:
    """A part of a record of the balloon, with stamps moved."""
    since = (stream.time - np.datetime64("2022-09-29T09:59:12", "ns")) / np.timedelta64(1, "s")
    part = rows_of(stream, (since >= start_s) & (since < start_s + length_s))
    return replace(part, time=part.time + np.timedelta64(moved_s, "s"))


@pytest.mark.parametrize(("start_s", "length_s"), [(0, 3600), (3600, 3600), (6400, 3600), (2700, 1800), (5400, 1800)])
def test_an_hour_on_a_balloon_suffices(start_s: int, length_s: int) -> None:
    """Both pressures scatter by 0.6 hPa; of an hour, all that agrees at 96 s was "no agreement"."""
    computer, stap = sorted(read_logs([BALLOON], zone="UTC").streams, key=lambda stream: stream.key)
    fit = compare(during(computer, start_s, length_s), during(stap, start_s, length_s, 86), "pressure")
    assert isinstance(fit, ClockFit)
    assert fit.found
    assert fit.sigma_s < 0.5
    assert fit.offset_s == pytest.approx(96.7, abs=3 * fit.sigma_s)


def test_other_hours_of_a_balloon_do_not_agree() -> None:
    computer, stap = sorted(read_logs([BALLOON], zone="UTC").streams, key=lambda stream: stream.key)
    for first in range(0, 8200, 1800):
        for second in range(0, 8200, 1800):
            if abs(first - second) > 3000:
                fit = compare(during(computer, first, 1800), during(stap, second, 1800, first - second), "pressure")
                assert isinstance(fit, ClockFit)
                assert not fit.found


def test_a_balloon_flies_and_a_car_without_gps_does_not_say() -> None:
    assert movement(pc2dae.open_flight(BALLOON, zone="UTC")) == "airborne"
    assert movement(pc2dae.open_flight(DATA / "bengaluru_car", zone="UTC")) == "unknown"
