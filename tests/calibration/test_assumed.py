"""The gain that is assumed of a channel without a calibration, also after a zero check."""

from __future__ import annotations

import numpy as np
import pytest

from pc2dae.calibration.assumed import assumed_gain
from pc2dae.calibration.budget import budget_of
from pc2dae.calibration.intervals import Interval, fit_intervals
from pc2dae.calibration.zero import zeroed
from pc2dae.errors import CalibrationError
from pc2dae.flight.schema import new_flight
from pc2dae.suite import Channel
from suites import make_suite

START = np.datetime64("2025-10-05T14:00:00", "ns")
UNITS = {
    "co2": ("ppm", 0.03),
    "bc_ir": ("ng m-3", 0.20),
    "pm25": ("ug m-3", 0.35),
    "co": ("ppb", 0.15),
    "o3": ("nA", 0),
}


def test_it_depends_on_the_species_and_raw_signals_have_none() -> None:
    assert [assumed_gain(Channel(name=n, units=u)) for n, (u, _) in UNITS.items()] == [g for _, g in UNITS.values()]
    assert assumed_gain(Channel(name="co2", units="ppm", pressure_exponent=1.6)) == 0.06
    assert assumed_gain(Channel(name="number", units="cm-3")) == 0.35


@pytest.mark.parametrize("name", UNITS)
def test_one_check_of_the_zero_leaves_the_gain_of_the_kind_of_sensor(name: str) -> None:
    units, gain = UNITS[name]
    time = START + np.arange(100) * np.timedelta64(1, "s")
    values = {name: np.random.default_rng(0).normal(430, 2, 100)}
    flight = new_flight(time, values, make_suite({"gas": {name: units}}))
    check = Interval(time[0], time[-1], name, 420.0, 1.0)
    budget = budget_of(zeroed(flight, [check]), name)
    assert budget is not None
    assert (budget.gain, budget.anchor) == (gain, 420.0)
    if gain:
        assert fit_intervals(flight, [check], {}).calibration.channels[name].sigma("gain") == pytest.approx(gain)
    else:
        with pytest.raises(CalibrationError, match="does not give a gain"):
            fit_intervals(flight, [check], {})
