"""The noise level is correct in the presence of plumes, for several kinds of noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pc2dae.noise import noise_level

SAMPLES = 1600  # one flight of the campaign
FLIGHTS = 12

Array = NDArray[np.float64]


def smoke(rng: np.random.Generator, samples: int = SAMPLES) -> Array:
    """A slow background and a plume crossing about every minute, peaks up to some hundred times the noise (σ = 1)."""
    t = np.arange(samples)
    signal = 20 + 5 * np.sin(t / 400 + rng.uniform(0, 6))
    for centre in rng.uniform(0, samples, samples // 60):
        signal += rng.lognormal(3, 1) * np.exp(-0.5 * ((t - centre) / rng.uniform(1, 8)) ** 2)
    return signal


def slow(signal: Array, *, tau_s: float = 20.0) -> Array:
    """What a sensor with a first-order response sees of it."""
    out = np.empty_like(signal)
    state = signal[0]
    for i, value in enumerate(signal):
        state += (value - state) / tau_s
        out[i] = state
    return out


def white(rng: np.random.Generator) -> Array:
    return rng.standard_normal(SAMPLES)


def differenced(rng: np.random.Generator) -> Array:
    """An aethalometer's: each second's value is the difference of two attenuations, lag-1 autocorrelation −1/2."""
    return np.diff(rng.standard_normal(SAMPLES + 1)) / np.sqrt(2)


def heavy(rng: np.random.Generator) -> Array:
    """Student's t with 4 degrees of freedom, variance 2."""
    return rng.standard_t(4, SAMPLES) / np.sqrt(2)


def level(values: Array, valid: NDArray[np.bool_] | None = None) -> float:
    return float(noise_level(values[None], (np.ones(len(values), bool) if valid is None else valid)[None]).sigma[0])


@pytest.mark.parametrize("kind", [white, differenced, heavy])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_within_ten_percent_among_plumes(kind, scale: float) -> None:  # type: ignore[no-untyped-def]
    """The typical error over twelve flights, and no flight further out than a quarter."""
    levels = []
    for seed in range(FLIGHTS):
        rng = np.random.default_rng(seed)
        levels.append(level(scale * (smoke(rng) + kind(rng))) / scale)
    assert np.median(levels) == pytest.approx(1, abs=0.1)
    assert np.mean(levels) == pytest.approx(1, abs=0.1)
    assert np.max(np.abs(np.array(levels) - 1)) < 0.25


@pytest.mark.parametrize("step", [0.2, 1.0])
def test_quantised_noise_contains_the_quantisation(step: float) -> None:
    """Rounding to `step` adds step²/12 to the variance."""
    levels = []
    for seed in range(FLIGHTS):
        rng = np.random.default_rng(seed)
        levels.append(level(np.round((smoke(rng) + white(rng)) / step) * step))
    assert np.median(levels) == pytest.approx(np.sqrt(1 + step**2 / 12), rel=0.1)


def test_a_stale_sensor_is_judged_by_its_fresh_samples() -> None:
    """An SCD30: every second row repeats the one before and is not valid; a repeat taken as fresh would hide noise."""
    levels = []
    for seed in range(FLIGHTS):
        rng = np.random.default_rng(seed)
        values = slow(smoke(rng)) + white(rng)
        values[1::2] = values[::2]
        levels.append(level(values, np.arange(SAMPLES) % 2 == 0))
    assert np.median(levels) == pytest.approx(1, abs=0.1)


def test_gaps_do_not_matter() -> None:
    levels = []
    for seed in range(FLIGHTS):
        rng = np.random.default_rng(seed)
        values = smoke(rng) + white(rng)
        values[rng.random(SAMPLES) < 0.04] = np.nan
        values[500:560] = np.nan
        levels.append(level(values))
    assert np.median(levels) == pytest.approx(1, abs=0.1)


def test_spikes_are_not_noise() -> None:
    rng = np.random.default_rng(0)
    values = white(rng)
    values[::97] += 500.0
    assert level(values) == pytest.approx(1, abs=0.1)


def test_the_floor_is_the_quantisation_step() -> None:
    """Values that hardly move on a grid of 0.5 have a level of at least 0.5/√12 = 0.1443."""
    values = np.full(400, 7.0)
    values[200:] = 7.5
    noise = noise_level(values[None], np.ones((1, 400), bool))
    assert noise.step[0] == pytest.approx(0.5)
    assert noise.sigma[0] == pytest.approx(0.1443, abs=1e-4)


def test_rounding_in_a_ramp_of_equal_steps_is_no_noise() -> None:
    ramp = 3.5 - 0.01 * np.arange(60) + np.resize([0.0, 4e-16], 60)
    assert noise_level(ramp[None], np.ones((1, 60), bool)).sigma == 0.0


def test_lag_one_tells_white_from_differenced() -> None:
    rng = np.random.default_rng(3)
    rows = np.stack([smoke(rng) + white(rng), smoke(rng) + differenced(rng)])
    assert noise_level(rows, np.ones(rows.shape, bool)).lag1 == pytest.approx([0.0, -0.5], abs=0.15)


def test_too_little_is_said_to_be_unknown() -> None:
    values = np.array([[1.0, 2.0, 3.0, 4.0, np.nan, np.nan]])
    noise = noise_level(values, np.ones(values.shape, bool))
    assert np.isnan([noise.sigma, noise.lag1, noise.step]).all()


def test_channels_do_not_touch_each_other() -> None:
    rng = np.random.default_rng(5)
    rows = np.stack([smoke(rng) + white(rng), 1e6 * white(rng)])
    valid = np.ones(rows.shape, bool)
    together = noise_level(rows, valid).sigma
    assert together[0] == noise_level(rows[:1], valid[:1]).sigma[0]
    assert together[1] == noise_level(rows[1:], valid[1:]).sigma[0]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(-1e5, 1e5), st.floats(1e-2, 1e2))
def test_an_offset_is_no_noise_and_a_factor_multiplies_it(seed: int, offset: float, factor: float) -> None:
    rng = np.random.default_rng(seed)
    values = smoke(rng, 300) + rng.standard_normal(300)
    assert level(offset + factor * values) == pytest.approx(factor * level(values), rel=1e-6)
