"""Injected noise has the size it says; a blind spot hides the sample and as much around it as the noise remembers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.windows.corruption import blind_width, hide, inject


def test_injected_noise_is_uniform_in_sigma_and_in_units_of_the_scale():
    out = inject(np.zeros((400, 2, 256), np.float32), np.array([1.0, 1000.0]), np.random.default_rng(0))
    sigma = out.std(axis=-1)
    assert np.allclose(sigma[:, 1] / sigma[:, 0], 1000.0, rtol=0.3)
    assert sigma[:, 0].max() == pytest.approx(0.1, rel=0.1)
    assert sigma[:, 0].mean() == pytest.approx(0.05, rel=0.1)


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
