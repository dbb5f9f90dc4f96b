import numpy as np
import pytest

from pc2dae.filters.wavelet import bayes_shrink, level_noise, universal

RNG = np.random.default_rng(11)
T = np.arange(2000.0)
PLUMES = sum(
    h * np.exp(-0.5 * ((T - c) / w) ** 2) for h, c, w in [(30, 300, 3), (12, 700, 12), (50, 1200, 6), (8, 1700, 40)]
)


def everywhere(x: np.ndarray) -> np.ndarray:
    return np.ones(x.shape, bool)


def test_zero_strength_gives_the_record_back() -> None:
    x = RNG.normal(size=(2, 333)) + 5
    assert bayes_shrink(x, everywhere(x), strength=0.0) == pytest.approx(x, abs=1e-9)
    assert universal(x, everywhere(x), strength=0.0) == pytest.approx(x, abs=1e-9)


def test_white_noise_has_one_level_and_differenced_noise_hardly_any_at_slow_levels() -> None:
    white = RNG.normal(size=(1, 20001))
    differenced = np.diff(white) / np.sqrt(2)
    levels = level_noise(np.concatenate([white[:, 1:], differenced]), np.ones((2, 20000), bool), levels=6)
    assert levels[0] == pytest.approx(np.ones(6), rel=0.15)
    # Exact for lag-1 correlation −0.5: 1 − (sin 2a − sin a)/a with a = π/2ʲ: fastest level 1.64, slowest 0.0028.
    assert levels[1, -1] == pytest.approx(1.64, rel=0.1)
    assert levels[1, 0] < 0.2


def test_bayes_shrink_reaches_the_bar_on_plumes() -> None:
    x = PLUMES[None] + RNG.normal(size=(4, 2000))
    smooth = bayes_shrink(x, everywhere(x))
    improvement = 1 - np.abs(smooth - PLUMES).mean() / np.abs(x - PLUMES).mean()
    assert improvement > 0.6
    assert smooth.max(axis=-1) == pytest.approx(np.full(4, PLUMES.max()), rel=0.06)


def test_cycle_spinning_beats_one_transform() -> None:
    x = PLUMES[None] + RNG.normal(size=(4, 2000))
    one, many = (np.abs(bayes_shrink(x, everywhere(x), spins=n) - PLUMES).mean() for n in (1, 16))
    assert many < 0.95 * one


def test_a_stale_channel_is_denoised_too() -> None:
    x = PLUMES[None] + RNG.normal(size=(1, 2000))
    fresh = np.zeros((1, 2000), bool)
    fresh[:, ::2] = True
    x[:, 1::2] = x[:, ::2]
    smooth = bayes_shrink(x, fresh)
    assert np.abs(smooth - PLUMES)[fresh].mean() < 0.5 * np.abs(x - PLUMES)[fresh].mean()
