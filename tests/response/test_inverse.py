"""The inverse gives back the air, carries means over gaps, and states what it does to the noise."""

from __future__ import annotations

import numpy as np
import pytest

from pc2dae.response.inverse import GAUSSIAN_GAIN, invert
from pc2dae.response.kernels import LN10, Kernel, memory, respond

EXACT = [Kernel(0.0), Kernel(1.0), Kernel(4.0), Kernel(60.0), Kernel(5.0, "two_step", 60.0, 0.2)]


def plumes(length: int = 400) -> np.ndarray:
    """Steps, spikes and slow waves."""
    t = np.arange(length)
    air = 10 + 3 * np.sin(t / 40) + 50 * (t % 90 < 12)
    air[::77] += 30
    return np.asarray(air)


@pytest.mark.parametrize("kernel", EXACT, ids=str)
@pytest.mark.parametrize("rate_hz", [1.0, 4.0])
def test_the_air_comes_back(kernel: Kernel, rate_hz: float) -> None:
    air = plumes()
    found = invert(respond(air, kernel, rate_hz), np.ones(len(air), bool), kernel, rate_hz=rate_hz)
    assert found.values == pytest.approx(air, abs=1e-9)


def test_a_gaussian_comes_back_as_far_as_its_noise_may_grow() -> None:
    """Wide plumes return, narrow ones in part; no frequency is amplified by more than the limit."""
    t, kernel = np.arange(600), Kernel(6.0, "gaussian")
    new = np.ones(600, bool)
    for width, left in ((16, 0.1), (8, 0.3)):
        air = 10 + 50 * np.exp(-0.5 * ((t - 300) / width) ** 2)
        reading = respond(air, kernel)
        assert np.abs(invert(reading, new, kernel).values - air).max() < left * np.abs(reading - air).max()
    impulse = np.zeros(600)
    impulse[300] = 1.0
    answer = np.abs(np.fft.rfft(invert(impulse, new, kernel).values))
    assert 0.9 * GAUSSIAN_GAIN < answer.max() <= 1.02 * GAUSSIAN_GAIN


@pytest.mark.parametrize("kernel", [Kernel(8.0), Kernel(8.0, "two_step", 80.0, 0.2)], ids=str)
def test_the_first_sample_after_a_gap_carries_the_mean_over_it(kernel: Kernel) -> None:
    """Exactly, if the air in the gap was constant; what comes later is as if there had been no gap."""
    air = plumes()
    air[100:110] = 25.0
    reading, new = respond(air, kernel), np.ones(len(air), bool)
    new[100:109] = False
    reading[100:109] = 1e9  # not looked at
    found = invert(reading, new, kernel)
    assert found.values[109] == pytest.approx(25.0)
    assert found.values[new] == pytest.approx(air[new])
    assert found.gain[109] < found.gain[99]  # less is left of the sample before it


def test_the_mean_over_a_gap_is_weighted_by_what_the_sensor_has_not_forgotten() -> None:
    air, a = plumes(), memory(8.0)
    new = np.ones(len(air), bool)
    new[92:99] = False
    weights = a ** np.arange(8)[::-1]
    found = invert(respond(air, Kernel(8.0)), new, Kernel(8.0))
    assert found.values[99] == pytest.approx(weights @ air[92:100] / weights.sum())


def test_after_a_long_gap_the_sample_stands_alone() -> None:
    reading, new = np.r_[np.full(50, 90.0), np.full(950, 10.0)], np.ones(1000, bool)
    new[50:900] = False
    for t90_s in (4.0, 3000.0):  # forgotten, and longer ago than is looked back
        found = invert(reading, new, Kernel(t90_s))
        assert found.values[900] == 10.0
        assert found.gain[900] == 1.0


def test_a_stale_channel_is_inverted_at_its_own_rate() -> None:
    slow = plumes(200)
    held = np.repeat(respond(slow, Kernel(8.0), 0.5), 2)
    found = invert(held, np.arange(400) % 2 == 0, Kernel(8.0))
    own = invert(held[::2], np.ones(200, bool), Kernel(8.0), rate_hz=0.5)
    assert found.values[::2] == pytest.approx(slow)
    assert found.gain[::2] == pytest.approx(own.gain)
    assert found.lag1 == pytest.approx(own.lag1[0])
    assert found.tau == pytest.approx(2 * own.tau)  # samples of the grid


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.4])
@pytest.mark.parametrize("t90_s", [2.0, 7.0, 25.0])
def test_noise_grows_and_is_correlated_as_stated(t90_s: float, rho: float) -> None:
    rng, size = np.random.default_rng(1), 200_000
    if rho < 0:
        noise = np.diff(rng.standard_normal(size + 1)) / np.sqrt(2)
    else:
        noise = respond(rng.standard_normal(size), Kernel(-LN10 / np.log(rho)) if rho else Kernel(0.0))
        noise /= noise.std()
    found = invert(noise, np.ones(size, bool), Kernel(t90_s), lag1=rho)
    assert found.values[1:].std() == pytest.approx(found.gain[5], rel=0.03)
    if rho <= 0:  # a correlation over more than one sample is not known to it
        assert np.corrcoef(found.values[1:-1], found.values[2:])[0, 1] == pytest.approx(found.lag1[5], abs=0.01)


@pytest.mark.parametrize("kernel", [Kernel(6.0, "gaussian"), Kernel(5.0, "two_step", 60.0, 0.2)], ids=str)
def test_the_noise_of_other_kernels_grows_as_stated(kernel: Kernel) -> None:
    noise = np.random.default_rng(2).standard_normal(50_000)
    found = invert(noise, np.ones(len(noise), bool), kernel)
    assert found.values[1:].std() == pytest.approx(found.gain[5], rel=0.06)
    assert np.corrcoef(found.values[1:-1], found.values[2:])[0, 1] == pytest.approx(found.lag1[5], abs=0.03)


@pytest.mark.parametrize("kernel", [*EXACT, Kernel(6.0, "gaussian")], ids=str)
@pytest.mark.parametrize("count", [0, 1])
def test_a_record_of_one_sample_or_none_remains_as_it_is(kernel: Kernel, count: int) -> None:
    found = invert(np.full(5, 7.0), np.arange(5) < count, kernel)
    assert found.values == pytest.approx(np.full(5, 7.0))
    assert np.isfinite([found.gain, found.lag1]).all()
