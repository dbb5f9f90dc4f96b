import numpy as np
import pytest

from pc2dae.plumes.background import RunningMedian, first_estimate, running_level, running_scatter

RNG = np.random.default_rng(0)
T = np.arange(1800.0)


def test_a_drifting_level_is_followed_and_bridged_beneath_a_plume() -> None:
    drift = 100 + 20 * np.sin(T / 300)
    level = running_level(drift + RNG.normal(0, 2, T.shape), np.abs(T - 900) > 60, window=60)
    assert np.abs(level - drift).max() < 4


def test_the_edge_of_an_air_mass_is_kept() -> None:
    step = np.where(T < 900, 140.0, 200.0)
    level = running_level(step, np.ones(1800, bool), window=60)
    assert np.flatnonzero(np.abs(level - step) > 1).size <= 4


def test_neither_noise_nor_a_few_faint_puffs_move_it() -> None:
    x = RNG.normal(0, 1, 60_000)
    assert running_level(x, np.ones(60_000, bool), window=60).mean() == pytest.approx(0.0, abs=0.03)
    x[::60] += 20  # one sample a minute
    assert running_level(x, np.ones(60_000, bool), window=60).mean() == pytest.approx(0.0, abs=0.1)


def test_scatter_is_that_of_clean_air() -> None:
    x = RNG.normal(0, 3, 1800)
    x[800:900] += 500
    assert running_scatter(x, x < 100, RunningMedian(60)).mean() == pytest.approx(3.0, rel=0.1)


def test_the_first_estimate_lies_below_ten_minutes_of_smoke() -> None:
    x = np.where(np.abs(T - 900) < 300, 500 + 300 * np.sin(T / 7), 10.0) + RNG.normal(0, 1, T.shape)
    level, _ = first_estimate(x, window=60)
    assert np.abs(level - 10).max() < 2


def test_a_series_without_numbers_has_no_level() -> None:
    assert np.isnan(running_level(np.full(100, np.nan), np.ones(100, bool), window=60)).all()


def test_a_median_that_is_updated_equals_a_new_one():
    x = RNG.normal(0, 1, (2, 1800))
    clean = RNG.random((2, 1800)) < 0.9
    median = RunningMedian(60)
    for _ in range(3):
        assert np.array_equal(median(x, clean), running_level(x, clean, window=60), equal_nan=True)
        clean[:, 700:760] = ~clean[:, 700:760]
        x[0, 1000:1010] += 5.0
