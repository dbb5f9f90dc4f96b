import numpy as np
import pytest

from pc2dae.plumes import Excess, combustion_efficiency, integral_ratio, match_response, slope_ratio
from pc2dae.plumes.ratios import Samples, correlation


def test_integral_ratio_and_its_uncertainty_by_hand() -> None:
    # 10 ± 1 over 5 ± 0.5: 2, relative errors 10 % each, √2·10 % of 2.
    ratio = integral_ratio(Excess(10.0, 1.0), Excess(5.0, 0.5))
    assert ratio.value == 2.0
    assert ratio.sigma == pytest.approx(0.2 * np.sqrt(2))


def test_combustion_efficiency_by_hand() -> None:
    # ΔCO 10 ± 1, ΔCO₂ 90 ± 9: 0.9; dMCE = (90·1 ⊕ 10·9)/100².
    mce = combustion_efficiency(Excess(10.0, 1.0), Excess(90.0, 9.0))
    assert mce.value == pytest.approx(0.9)
    assert mce.sigma == pytest.approx(np.hypot(90, 90) / 1e4)


def test_the_block_bootstrap_covers() -> None:
    inside = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth = 10 * np.sin(np.arange(300) / 12) ** 2
        slow = np.convolve(rng.normal(0, 2.0, 304), np.ones(5) / 5, "valid")  # errors correlated over five samples
        x, y = truth + rng.normal(0, 0.5, 300), 2 * truth + slow
        ratio = slope_ratio(Samples(x, np.full(300, 0.5)), Samples(y, np.full(300, 0.9)), block=15)
        inside += abs(ratio.value - 2.0) < 1.96 * ratio.sigma
    assert inside >= 51  # 95 % of 60 is 57; 51 is four binomial sigmas below


def test_a_fast_channel_becomes_the_slow_one() -> None:
    air = np.zeros(200)
    air[50:55] = 100.0

    def sensor(t90: float) -> np.ndarray:
        keep = 10 ** (-1 / t90)
        out, level = [], 0.0
        for u in air:
            level = keep * level + (1 - keep) * u
            out.append(level)
        return np.array(out)

    assert match_response(sensor(2.0), 2.0, 8.0) == pytest.approx(sensor(8.0))
    assert match_response(sensor(8.0), 8.0, 2.0) == pytest.approx(sensor(8.0))  # never sharpened
    assert match_response(sensor(2.0), 2.0, 8.0).sum() == pytest.approx(air.sum())


def test_matching_keeps_a_standing_level() -> None:
    assert match_response(np.full(50, 7.0), 1.0, 20.0) == pytest.approx(np.full(50, 7.0))


def test_correlation_by_hand() -> None:
    x = np.array([1.0, 2.0, 3.0, np.nan])
    assert correlation(x, np.array([1.0, 2.0, 4.0, 9.0])) == pytest.approx(3 / np.sqrt(2 * 14 / 3))
    assert correlation(x, -x) == pytest.approx(-1.0)
    assert correlation(x, np.ones(4)) == 0.0
    assert correlation(x, np.full(4, np.nan)) == 0.0


def test_what_moves_both_alike_leaves_the_ratio() -> None:
    # A common source moves 10 by 1 and 5 by 0.5; another the numerator only, by 2: 2/5 of the ratio's unit.
    ratio = integral_ratio(Excess(10.0, 0.0, {"both": 1.0, "one": 2.0}), Excess(5.0, 0.0, {"both": 0.5}))
    assert ratio.random == 0.0
    assert ratio.systematic == pytest.approx(2 / 5)
    assert ratio.sigma == ratio.systematic


def test_a_smoothed_slope_keeps_the_error_of_its_noise() -> None:
    x = np.arange(100.0)
    one = np.ones(100)
    exact = slope_ratio(Samples(x, one), Samples(2 * x, one), block=10)
    noisy = slope_ratio(Samples(x, one), Samples(2 * x, one, sum_variance=9.0), block=10)
    assert exact.random == pytest.approx(0.0, abs=1e-9)
    assert noisy.random == pytest.approx(3.0 / np.sqrt(np.sum((x - x.mean()) ** 2)))


def test_a_plume_that_denoising_took_away_is_in_the_uncertainty_of_the_slope() -> None:
    x = np.arange(100.0)
    ratio = slope_ratio(Samples(x, np.ones(100)), Samples(1.5 * x, np.ones(100), removed=0.5 * x), block=10)
    assert ratio.random == pytest.approx(0.5)


def test_sensors_that_resolve_differently_have_an_uncertain_slope() -> None:
    t = np.arange(400.0)
    sharp, wide = (w * np.exp(-0.5 * ((t - 200) / s) ** 2) for w, s in ((10.0, 5.0), (5.0, 10.0)))  # of one area

    def samples(series: np.ndarray) -> Samples:
        return Samples(series, np.ones(400), smoothed=np.convolve(series, np.ones(41) / 41, "same"))

    alike, unlike = (slope_ratio(samples(sharp), samples(y), block=20) for y in (sharp, wide))
    assert alike.systematic == pytest.approx(0.0, abs=1e-9)
    assert unlike.systematic > 0.5 * abs(unlike.value - 1)
