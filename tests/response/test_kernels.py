"""How sensors follow the air: steps, means and the limits without lag."""

from __future__ import annotations

import numpy as np
import pytest

from pc2dae.response.kernels import Kernel, memory, respond

KERNELS = [Kernel(4.0), Kernel(30.0), Kernel(6.0, "gaussian"), Kernel(5.0, "two_step", 60.0, 0.2)]


def step(length: int = 600, at: int = 200) -> np.ndarray:
    return np.where(np.arange(length) < at, 3.0, 13.0)


@pytest.mark.parametrize("rate_hz", [0.5, 1.0, 10.0])
def test_a_first_order_sensor_is_at_ninety_percent_after_t90(rate_hz: float) -> None:
    reading = respond(step(), Kernel(12.0), rate_hz)
    samples = round(12.0 * rate_hz)
    assert reading[200 + samples - 1] == pytest.approx(3 + 0.9 * 10)
    assert memory(12.0, rate_hz) ** samples == pytest.approx(0.1)


def test_first_order_is_the_recursion() -> None:
    air, a = np.random.default_rng(0).normal(5, 2, 500), memory(9.0)
    expected = [air[0]]
    for u in air[1:]:
        expected.append(a * expected[-1] + (1 - a) * u)
    assert respond(air, Kernel(9.0)) == pytest.approx(np.array(expected), abs=1e-12)


def test_a_gaussian_is_symmetric_around_the_step_and_at_ninety_percent_after_t90() -> None:
    rise = (respond(step(), Kernel(20.0, "gaussian")) - 3) / 10
    assert rise[199::-1][:100] == pytest.approx(1 - rise[200:300], abs=1e-12)
    assert np.interp(20.0, np.arange(100) + 0.5, rise[200:300]) == pytest.approx(0.9, abs=0.002)


def test_two_steps_are_the_weighted_sum_of_their_parts() -> None:
    reading = respond(step(), Kernel(5.0, "two_step", 60.0, 0.2))
    assert reading == pytest.approx(0.8 * respond(step(), Kernel(5.0)) + 0.2 * respond(step(), Kernel(60.0)))


@pytest.mark.parametrize("kernel", KERNELS)
def test_readings_keep_constants_and_the_mean(kernel: Kernel) -> None:
    pulse = np.zeros(4000)
    pulse[1000:1010] = 7.0
    assert respond(np.full(50, 420.0), kernel) == pytest.approx(np.full(50, 420.0), rel=1e-14)
    assert respond(pulse, kernel).sum() == pytest.approx(70.0)
    assert len(respond(np.empty(0), kernel)) == 0


def test_without_lag_the_reading_is_the_air() -> None:
    assert memory(0.0) == 0.0
    assert np.array_equal(respond(step(), Kernel(0.0)), step())
