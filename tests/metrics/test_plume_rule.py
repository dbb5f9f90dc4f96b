import numpy as np
import pytest

from pc2dae.metrics.plume_rule import background, clean_air, threshold
from pc2dae.plumes import in_plume

RNG = np.random.default_rng(0)
T = np.arange(1800.0)


def plume(height: float, centre: float, width: float) -> np.ndarray:
    return height * np.exp(-0.5 * ((T - centre) / width) ** 2)


def test_threshold_is_three_sigma_or_a_twentieth_of_the_range() -> None:
    x = np.array([[0.0, 10.0], [0.0, 1000.0], [np.nan, np.nan]])
    assert threshold(x, np.array([1.0, 1.0, np.nan])).tolist() == [3.0, 50.0, 0.0]


def test_a_drifting_background_is_found_under_plumes() -> None:
    drift = 100 + 20 * np.sin(T / 600)
    x = drift + plume(500, 300, 5) + plume(80, 700, 20) + plume(2000, 1200, 10) + RNG.normal(0, 5, T.shape)
    level = background(x[None], np.array([5.0]))[0]
    assert np.abs(level - drift).max() < 5  # one sigma, anywhere


def test_noise_does_not_bias_it() -> None:
    x = RNG.normal(0, 1, (20, 1800))
    assert background(x, np.ones(20)).mean() == pytest.approx(0.0, abs=0.03)


def test_faint_puffs_do_not_lift_it() -> None:
    x = 50 + plume(2000, 200, 5) + sum(plume(60, c, 3) for c in range(600, 1000, 30))
    level = background(x[None], np.array([5.0]))[0]
    assert level[800] == pytest.approx(50, abs=2)


def test_dips_do_not_lower_it() -> None:
    x = 40 - plume(30, 500, 10) - plume(30, 900, 10)
    assert background(x[None], np.array([2.0]))[0] == pytest.approx(np.full(1800, 40.0), abs=0.3)


def test_a_long_stay_in_smoke_is_bridged() -> None:
    x = np.where((T > 600) & (T < 1100), 300.0, 10.0)
    assert background(x[None], np.array([1.0]))[0, 850] == pytest.approx(10.0)


def test_a_channel_without_numbers_stays_without() -> None:
    assert np.isnan(background(np.full((1, 100), np.nan), np.array([np.nan]))).all()


def test_in_plume_and_clean_air_leave_a_foot_between() -> None:
    excess = np.array([[0.0, 2.0, 4.0, 5.0, 4.0, 2.0, 0.5, 0.0]])
    assert in_plume(excess, np.array([[3.0]])).tolist() == [[False, True, True, True, True, True, False, False]]
    assert clean_air(excess, np.array([1.0])).tolist() == [[True, False, False, False, False, False, True, True]]
