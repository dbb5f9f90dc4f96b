"""The development fit and the rivals of `benchmarks/ambient_real.py` on records with a known answer; a real record."""

from __future__ import annotations

import numpy as np
import pytest
from ambient_real import estimates, scored, tikhonov, with_slope
from ambient_records import Pair, elt, fitted
from real_data import ABSENT, DATA

from pc2dae.registry import load_model
from pc2dae.response.kernels import Kernel, respond

RATE = 0.5
AIR = 10.0 + 30.0 * np.exp(-0.5 * ((np.arange(1200.0) % 300 - 150) / np.repeat([9.0, 15.0, 24.0, 40.0], 300)) ** 2)


@pytest.mark.parametrize("kernel", [Kernel(30.0), Kernel(14.0, "gaussian")])
def test_kernel_clock_and_calibration_are_found(kernel: Kernel) -> None:
    fast = Pair(np.arange(0.0, 1200.0, 2.0), np.empty(0), np.arange(1200.0), AIR)
    reading = 5.0 + 0.8 * respond(np.nan_to_num(fast.air(12.0), nan=10.0), kernel, RATE)
    pair = Pair(fast.time, reading, fast.fast_time, fast.fast)
    found = fitted(pair, pair.time < 600.0, t90s_s=np.arange(10.0, 41.0, 2.0), delays_s=np.arange(0.0, 21.0, 2.0))
    assert (found.kernel, found.delay_s) == (kernel, 12.0)
    assert (found.gain, found.offset) == (pytest.approx(0.8, abs=0.01), pytest.approx(5.0, abs=0.2))


@pytest.mark.parametrize("kernel", [Kernel(12.0), Kernel(10.0, "gaussian")])
def test_rivals_undo_the_lag_of_a_record_without_noise(kernel: Kernel) -> None:
    air = AIR[600::2]
    reading = respond(air, kernel, RATE)
    lag = np.abs(reading - air).max()
    assert np.abs(tikhonov(reading, kernel, RATE) - air).max() < 0.1 * lag
    assert np.abs(with_slope(reading, kernel, RATE) - air).max() < 0.5 * lag


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason=ABSENT)
def test_the_air_behind_a_real_sensor_is_closer_to_the_fast_instrument_than_its_reading() -> None:
    case = next(elt())
    found, _ = estimates(case, load_model("adaptive"))
    reading, ambient = scored(case, found["reading"]), scored(case, found["ambient"])
    assert (ambient.r_squared > reading.r_squared + 0.05).all()
    assert (ambient.rmse < reading.rmse).all()
    assert abs(ambient.slope - 1) < abs(reading.slope - 1) / 2
