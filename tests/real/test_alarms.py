"""Alarms on a drone's flight through the smoke of a prescribed burn."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from real_data import ABSENT, DATA

from pc2dae.suite import load_suite
from pc2dae.web.live.alarm_limits import Limit
from pc2dae.web.live.alarms import Alarms

FLIGHT = DATA / "konza_uav_burn" / "kolibri" / "1D.csv"
LIMITS = {"pm25": ("PM2.5_mg.m3", 0.5), "co2": ("CO2_ppm", 600.0)}


@pytest.mark.skipif(not FLIGHT.is_file(), reason=ABSENT)
def test_every_smoky_second_of_a_real_flight_lies_in_an_alarm() -> None:
    with FLIGHT.open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    values = {name: np.array([float(row[column]) for row in rows]) for name, (column, _) in LIMITS.items()}
    found = Alarms(lambda alarm: None)
    found.adopt(load_suite(Path(__file__).parents[2] / "examples" / "kolibri.toml"))
    found.set_limits({name: Limit(above=limit, hysteresis=0.0) for name, (_, limit) in LIMITS.items()})
    for n in range(len(rows)):
        found.judge_sample("1D", 1000 * n, {name: float(series[n]) for name, series in values.items()})
    for name, (_, limit) in LIMITS.items():
        medians = np.median(np.lib.stride_tricks.sliding_window_view(values[name], 3), axis=1)
        is_above = np.concatenate([[False, False], medians > limit])
        starts = np.flatnonzero(np.diff(is_above.astype(int)) == 1) + 1
        assert len(starts) > 3
        assert [a.since // 1000 for a in found.alarms.values() if a.channel == name] == starts.tolist()
