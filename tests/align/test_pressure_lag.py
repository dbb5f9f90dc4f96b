from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from pc2dae.align.clocks import compare
from pc2dae.align.pressure_lag import lagged, smoothed
from pc2dae.flight.stream import Stream

T0 = np.datetime64("2024-04-09T20:00:00", "ns")
OFFSET_S = 2.3


def climbs(rng: np.random.Generator, t: np.ndarray) -> np.ndarray:
    """Pressure [hPa] of a flight of steps: every 20 to 50 s to another level at 2 m/s, turned within a second."""
    when = np.cumsum(rng.uniform(20, 50, 200))
    level = np.interp(t, np.repeat(when, 2) + np.tile([0.0, 8.0], 200), np.repeat(rng.normal(0, 1.0, 201), 2)[1:-1])
    return 960 + np.convolve(np.pad(level, 10, mode="edge"), np.ones(21) / 21, "valid")


def pair(seed: int, lag_s: float, column: str) -> tuple[Stream, Stream]:
    """An autopilot at 5 Hz and a record at 2 Hz whose clock is 2.3 s ahead and whose pressure lags."""
    rng = np.random.default_rng(seed)
    step = 0.05
    fine = np.arange(0, 1200, step)
    pressure = climbs(rng, fine)
    a = np.exp(-step / lag_s) if lag_s else 0.0
    felt = lfilter([1 - a], [1, -a], pressure - pressure[0]) + pressure[0]
    gps, own = np.arange(1, 1199, 0.2), np.arange(1.3, 1198, 0.5)
    return (
        stream(
            "ardupilot", gps, "gps", "baro_pressure", np.interp(gps, fine, pressure) + rng.normal(0, 0.03, len(gps))
        ),
        stream("li830", own + OFFSET_S, "rtc", column, np.interp(own, fine, felt) + rng.normal(0, 0.05, len(own))),
    )


def stream(instrument: str, seconds: np.ndarray, clock: str, column: str, values: np.ndarray) -> Stream:
    time = T0 + np.rint(seconds * 1e9).astype(np.int64).astype("timedelta64[ns]")
    return Stream(instrument, "", time, {column: values}, {column: "hPa"}, clock=clock)


def errors(lag_s: float, column: str) -> np.ndarray:
    fits = [compare(*pair(seed, lag_s, column), "pressure") for seed in range(4)]
    assert all(fit is not None and fit.found for fit in fits)
    return np.array([fit.offset_s - OFFSET_S for fit in fits if fit is not None])


@pytest.mark.parametrize("lag_s", [0.35, 0.7, 1.0])
def test_the_lag_of_a_pressure_inside_is_not_the_clock(lag_s):
    assert np.abs(errors(lag_s, "cell_pressure")).mean() < 0.2  # unseen, the lag would be taken for the clock's, whole


def test_no_lag_inside_costs_less_than_the_promise():
    assert np.abs(errors(0.0, "cell_pressure")).max() < 0.4


def test_a_pressure_open_to_the_air_is_taken_as_it_comes():
    assert np.abs(errors(0.0, "pressure")).max() < 0.05


def test_a_claimed_error_covers_what_one_flight_cannot_tell():
    fits = [compare(*pair(seed, 0.35, "cell_pressure"), "pressure") for seed in range(4)]
    assert all(fit is not None and abs(fit.offset_s - OFFSET_S) < 3 * fit.sigma_s for fit in fits)


@pytest.mark.parametrize("tau_s", [0.05, 0.35, 3.0])
def test_a_ramp_is_late_by_the_time_constant(tau_s):
    ramp = np.arange(400) * 0.25
    assert lagged(ramp, tau_s, 0.25)[-1] == pytest.approx(ramp[-1] - tau_s, abs=1e-6)


def test_a_constant_stays_constant():
    np.testing.assert_allclose(lagged(np.full(9, 7.0), 0.4, 0.25), 7.0)


def test_smoothing_takes_noise_off_and_leaves_a_slow_wave():
    t = np.arange(0, 600, 0.2)
    wave = np.sin(2 * np.pi * t / 30.0)
    step, quiet = smoothed(t, wave + np.random.default_rng(0).normal(0, 0.3, len(t)))
    assert step == pytest.approx(0.2)
    inner = slice(50, len(quiet) - 50)
    assert np.std(quiet[inner] - wave[inner]) < 0.1  # a third of the noise that was put in
