"""Noise has the requested size and correlation, recorruption replaces the truth, blind spots are wide enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.windows.corruption import ALPHA, blind_width, correlated_noise, hide, inject, recorrupt


def test_injected_noise_is_uniform_in_sigma_and_in_units_of_the_scale():
    out, stated = inject(np.zeros((400, 2, 256), np.float32), np.array([1.0, 1000.0]), np.random.default_rng(0))
    sigma = out.std(axis=-1)
    assert np.allclose(sigma, stated, rtol=0.3)
    assert np.allclose(sigma[:, 1] / sigma[:, 0], 1000.0, rtol=0.3)
    assert sigma[:, 0].max() == pytest.approx(0.1, rel=0.1)
    assert sigma[:, 0].mean() == pytest.approx(0.05, rel=0.1)


@pytest.mark.parametrize("lag1", [-0.6, -0.5, -0.3, 0.0, 0.2, 0.5, 0.8])
def test_noise_has_unit_variance_and_the_correlation_it_is_given(lag1):
    noise = correlated_noise(np.ones((4, 2, 50_000), bool), np.array([lag1, 0.0]), np.random.default_rng(3))
    assert noise.std() == pytest.approx(1.0, rel=0.02)
    along = np.mean(noise[:, 0, 1:] * noise[:, 0, :-1])
    assert along == pytest.approx(max(lag1, -0.5), abs=0.02)  # no moving average of two goes below −0.5
    assert np.mean(noise[:, 1, 1:] * noise[:, 1, :-1]) == pytest.approx(0.0, abs=0.02)
    assert np.mean(noise[:, 0] * noise[:, 1]) == pytest.approx(0.0, abs=0.02)


def test_noise_is_correlated_along_valid_samples_and_repeats_stay_repeats():
    valid = np.zeros((1, 100_000), bool)
    valid[:, ::2] = True  # a sensor of half the rate, its stale repeats marked invalid
    noise = correlated_noise(valid, np.array([-0.5]), np.random.default_rng(4))
    assert np.array_equal(noise[:, 1::2], noise[:, ::2])
    fresh = noise[0, ::2]
    assert np.mean(fresh[1:] * fresh[:-1]) == pytest.approx(-0.5, abs=0.02)


@pytest.mark.parametrize("lag1", [-0.5, 0.0, 0.4])
def test_noises_of_input_and_target_are_uncorrelated(lag1):
    rng, sigma, shape = np.random.default_rng(5), 3.0, (1, 400_000)
    every = np.ones(shape, bool)
    own = sigma * correlated_noise(every, np.array([lag1]), rng)
    given, target = recorrupt(own, every, np.array([sigma]), np.array([lag1]), rng)
    assert given.std() == pytest.approx(sigma * np.hypot(1, ALPHA), rel=0.01)  # 1.22 σ
    assert target.std() == pytest.approx(sigma * np.hypot(1, 1 / ALPHA), rel=0.01)  # 1.74 σ
    for lag in (0, 1, 2):
        assert np.mean(given[:, lag:] * target[:, : shape[1] - lag]) == pytest.approx(0.0, abs=0.015 * sigma**2 * 2.13)


@pytest.mark.parametrize(("lag1", "level"), [(0.0, 1.0), (-0.5, 1.0), (0.0, 0.5)])
def test_the_loss_against_the_target_is_that_against_the_truth_plus_a_constant(lag1, level):
    """Moving averages f of y + αn; the constant is the variance of y − n/α. With σ halved the identity must fail."""
    rng, sigma, length = np.random.default_rng(6), 2.0, 300_000
    truth = 5 * np.sin(np.arange(length) / 9)[None]
    every = np.ones(truth.shape, bool)
    y = truth + sigma * correlated_noise(every, np.array([lag1]), rng)
    given, target = recorrupt(y, every, np.array([level * sigma]), np.array([lag1]), rng)
    constant = sigma**2 * (1 + (level / ALPHA) ** 2)
    for width in (1, 5, 21):
        f = np.convolve(given[0], np.ones(width) / width, "same")
        off = np.mean((f - target[0]) ** 2) - np.mean((f - truth[0]) ** 2) - constant
        if level == 1.0:
            assert off == pytest.approx(0.0, abs=0.02 * constant)
        elif width == 1:  # E (f − truth)(noise of the target) = σ² − level² σ², rewarded twice
            assert off == pytest.approx(-2 * sigma**2 * (1 - level**2), rel=0.05)


@given(st.integers(0, 10_000), st.sampled_from([3, 5, 9]))
def test_asked_samples_are_hidden_with_their_neighbours(seed, width):
    rng = np.random.default_rng(seed)
    valid = rng.random((3, 2, 64)) < 0.8
    visible, asked = hide(valid, np.array([3, width]), rng)
    assert not (asked & ~valid).any()
    for w, c, t in np.argwhere(asked):
        reach = (3, width)[c] // 2
        assert not visible[w, c, max(0, t - reach) : t + reach + 1].any()
    assert (visible <= valid).all()


def test_a_stale_repeat_hides_with_its_original():
    valid = np.ones((50, 1, 64), bool)
    valid[..., 1::2] = False  # every second row repeats the one before, as the SCD30's
    visible, asked = hide(valid, np.array([3]), np.random.default_rng(0))
    assert asked.any()
    assert not asked[..., 1::2].any()
    assert not visible[..., 1::2].any()


@pytest.mark.parametrize(("lag1", "width"), [(0.0, 3), (-0.5, 3), (0.3, 3), (0.5, 7), (0.95, 9), (float("nan"), 3)])
def test_the_blind_spot_is_as_wide_as_the_noise_is_correlated(lag1, width):
    assert blind_width(lag1) == width
