"""Truth on the flight's clock."""

from __future__ import annotations

import numpy as np
import xarray as xr

from pc2dae.flight.schema import new_flight
from pc2dae.flight.truth import truth_at
from pc2dae.suite import parse_suite

SUITE = """
name = "x"
rate_hz = 10.0
[[family]]
name = "gas"
[[family.channel]]
name = "co"
units = "ppb"
"""


def test_the_nearest_truth_within_half_a_sample_counts() -> None:
    start, ms = np.datetime64("2026-08-01T00:00:00", "ns"), np.timedelta64(1, "ms")
    flight = new_flight(start + np.arange(3) * 100 * ms, {"co": np.zeros(3)}, parse_suite(SUITE, where="test"))
    truth = xr.Dataset({"co_response": ("time", [1.0, 2.0])}, {"time": start + np.array([40, 160]) * ms})
    np.testing.assert_array_equal(truth_at(truth, flight)["co_response"], [1.0, np.nan, 2.0])


def test_readings_are_taken_at_the_centres_or_when_the_flight_was_sampled() -> None:
    start, second = np.datetime64("2026-08-01T00:00:00", "ns"), np.timedelta64(1, "s")
    suite = parse_suite(SUITE.replace("10.0", "1.0"), where="test")
    flight = new_flight(start + np.arange(4) * second, {"co": np.zeros(4)}, suite)
    flight.attrs["sampling_offset_s"] = '{"co": -0.5}'
    ramp = ("time", [0.0, 1.0, 2.0, 3.0])
    truth = xr.Dataset({"co_response": ramp, "co_instant": ramp}, {"time": start + np.arange(4) * second})
    np.testing.assert_allclose(truth_at(truth, flight)["co_response"], [0, 1, 2, 3])  # it does not say when
    truth.attrs["sampling_offset_s"] = '{"co": 0.25}'
    np.testing.assert_allclose(truth_at(truth, flight)["co_response"], [0, 0.75, 1.75, 2.75])
    np.testing.assert_allclose(truth_at(truth, flight, of_samples=True)["co_response"], [0, 0.25, 1.25, 2.25])
    np.testing.assert_allclose(truth_at(truth, flight)["co_instant"], [0, 1, 2, 3])
