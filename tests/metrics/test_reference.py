import numpy as np
import pytest
from scipy import integrate, stats

from pc2dae.metrics import reference

NAN = np.nan
T = np.arange(900.0)
SIGMA = np.array([1.0])


def plume(height: float, centre: float, width: float = 8.0) -> np.ndarray:
    return height * np.exp(-0.5 * ((T - centre) / width) ** 2)


TRUTH = (10 + plume(100, 200) + plume(50, 500) + plume(60, 750))[None]


def everywhere(x: np.ndarray) -> np.ndarray:
    return np.ones(x.shape, bool)


def test_mae_and_snr_of_literals() -> None:
    truth = np.zeros((1, 4))
    noisy, better = np.array([[2.0, -2, 2, NAN]]), np.array([[1.0, -1, 1, 50]])
    ok = np.isfinite(noisy)
    assert reference.mae_improvement(better, noisy, truth, ok) == pytest.approx([50.0])
    assert reference.snr_improvement(better, noisy, truth, ok) == pytest.approx([10 * np.log10(4)])
    assert reference.mae_improvement(noisy, noisy, truth, ok) == pytest.approx([0.0])
    assert np.isnan(reference.snr_improvement(truth, noisy, truth, ok)).all()


def test_the_truth_has_no_plume_errors() -> None:
    scores = reference.plume_scores(TRUTH, TRUTH, TRUTH, SIGMA)
    assert scores["encounters"] == [3]
    for name in ("missed", "false", "peak_bias", "edge_error", "excess_error", "background_bias"):
        assert scores[name] == pytest.approx([0.0], abs=1e-9), name


def test_each_damage_shows_in_its_own_metric() -> None:
    lower = 10 + 0.9 * (TRUTH - 10)
    assert reference.plume_scores(lower, TRUTH, TRUTH, SIGMA)["peak_bias"] == pytest.approx([-10], abs=0.2)
    assert reference.plume_scores(TRUTH, lower, TRUTH, SIGMA)["excess_error"] == pytest.approx([10], abs=0.3)
    later = np.roll(TRUTH, 2, axis=1)
    assert reference.plume_scores(later, later, TRUTH, SIGMA)["edge_error"] == pytest.approx([2], abs=0.1)
    assert reference.plume_scores(TRUTH + 0.5, TRUTH, TRUTH, SIGMA)["background_bias"] == pytest.approx([0.5])
    one_less = TRUTH - plume(50, 500)
    assert reference.plume_scores(one_less, one_less, TRUTH, SIGMA)["missed"] == [1]
    one_more = TRUTH + plume(40, 350)
    assert reference.plume_scores(one_more, one_more, TRUTH, SIGMA)["false"] == [1]
    flat = np.full_like(TRUTH, 20.0)
    assert reference.plume_scores(flat, flat, TRUTH, SIGMA)["peak_bias"] == pytest.approx([-100])


def test_peaks_below_five_sigma_are_not_scored() -> None:
    # With σ = 15 the threshold is 45: all three count as encounters, only the first (SNR 6.7) has its height scored.
    scores = reference.plume_scores(TRUTH - plume(30, 500), TRUTH, TRUTH, np.array([15.0]))
    assert scores["encounters"] == [3]
    assert scores["peak_bias"] == pytest.approx([0.0], abs=1.0)


def test_a_channel_without_truth_has_no_score() -> None:
    nothing = np.full((1, 900), NAN)
    assert np.isnan(reference.plume_scores(nothing, nothing, nothing, SIGMA)["missed"]).all()


def test_the_crps_is_the_integral_it_stands_for() -> None:
    for truth, mean, sigma, bound in [(1.0, 0.5, 2.0, 0.0), (0.0, -1.0, 1.0, 0.0), (5.0, 1.0, 0.5, -9.0)]:
        law = stats.norm(mean, sigma)

        def square(x: float, truth: float = truth, law: object = law, bound: float = bound) -> float:
            return float(((law.cdf(x) if x >= bound else 0.0) - (x >= truth)) ** 2)

        expected = integrate.quad(square, bound, truth, limit=200)[0] + integrate.quad(square, truth, 40, limit=200)[0]
        assert reference.censored_crps(*(np.array([v]) for v in (truth, mean, sigma, bound))) == pytest.approx(
            [expected]
        )


def test_the_crps_of_certainty_is_the_absolute_error() -> None:
    assert reference.censored_crps(
        np.array([3.0]), np.array([1.0]), np.array([0.0]), np.array([-5.0])
    ) == pytest.approx([2])


def test_intervals_of_literals() -> None:
    truth = np.array([[0.0, 1.0, 5.0, 3.0]])
    value = np.array([[1.0, 1.0, 1.0, 3.0]])
    spread = np.ones((1, 4))
    scores = reference.interval_scores(value, value, spread, truth, np.array([2.0]), np.zeros(1))
    assert scores["coverage_90"] == pytest.approx([75.0])
    # [0, 2.645] three times (cut at 0) and [1.355, 4.645], in σ = 2.
    assert scores["width_90"] == pytest.approx([(3 * 2.645 + 3.29) / 4 / 2])


def test_true_normal_errors_are_covered() -> None:
    rng = np.random.default_rng(1)
    truth = np.repeat(TRUTH, 20, axis=0)
    value = truth + rng.normal(0, 0.5, truth.shape)
    scores = reference.interval_scores(value, value, np.full(truth.shape, 0.5), truth, np.ones(20), np.zeros(20))
    for name in ("coverage_90", "coverage_90_background", "coverage_90_plume"):
        assert scores[name].mean() == pytest.approx(90, abs=1.5), name


def test_leakage_sees_a_plume_drawn_into_another_channel() -> None:
    values = np.random.default_rng(2).normal(size=(3, 300))
    sigma = np.array([1.0, 2.0, 1.0])

    def drawn(x: np.ndarray) -> np.ndarray:
        return x + 0.1 * np.array([[0.0], [1.0], [0.0]]) * x[0]

    # 50 σ · 0.1 = 5 at the peak, σ = 2 there; mean of the bell over ± 3 widths of 10 in 61 samples: 25.0/61.
    moved = reference.leakage(drawn, values, sigma)
    assert moved == pytest.approx([5 / 2 * 25.0 / 61, 0, 0], rel=0.01)
    assert np.isnan(reference.leakage(drawn, values, sigma, channels=[0])[1:]).all()
