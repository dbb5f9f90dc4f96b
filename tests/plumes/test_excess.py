import numpy as np
import pytest

from pc2dae.noise import sum_variance
from pc2dae.plumes import integrate
from pc2dae.plumes.excess import estimate_sum_variance


def test_the_integral_of_literals() -> None:
    excess = np.array([0.0, 0, 1, 4, 2, 0, 0])
    outside = np.array([True, True, False, False, False, True, True])
    result = integrate(excess, (2, 5), outside, noise_sum_variance=4.0)
    assert result.value == 7.0
    # Four plume-free samples carry the background: 4·(3 + 3²/4) = 21; steps of 3 and −2, their times known to 0.1.
    assert result.sigma == pytest.approx(np.sqrt(21.0 + 0.13))


def test_a_sample_missing_on_a_steep_edge_costs_certainty() -> None:
    excess = np.array([0.0, 0, 10, 20, 10, 0, 0])
    outside = excess == 0
    seen = np.array([True, True, False, True, True, True, True])
    with_gap, without = (integrate(excess, (1, 6), outside, noise_sum_variance=0.0, seen=s).sigma for s in (seen, None))
    assert without == pytest.approx(0.1 * np.sqrt(4 * 10**2))
    assert with_gap == pytest.approx(np.sqrt(20**2 / 12 + 0.01 * (20**2 + 2 * 10**2)))


def test_what_is_unsure_in_a_gap_is_unsure_as_a_whole() -> None:
    excess, unseen = np.zeros(9), np.array([0.0, 2, 2, 0, 0, 3, 0, 1, 1])
    result = integrate(excess, (0, 9), np.ones(9, bool), noise_sum_variance=0.0, unseen_sigma=unseen)
    assert result.sigma == pytest.approx(np.sqrt(4**2 + 3**2 + 2**2))


def test_variance_of_a_sum_knows_the_correlation() -> None:
    assert sum_variance(2.0, 0.0) == 4.0
    assert sum_variance(2.0, 0.25) == 6.0
    assert sum_variance(2.0, -0.5) == pytest.approx(0.4)
    assert estimate_sum_variance(2.0, 5.0) == 20.0


@pytest.mark.parametrize("memory", [0.0, 0.9])
def test_the_stated_uncertainty_covers_even_when_errors_remember_more_than_was_stated(memory: float) -> None:
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(100):
        noise = rng.normal(size=3000)
        for t in range(1, 3000):
            noise[t] += memory * noise[t - 1]
        noise -= noise.mean()
        outside = np.ones(3000, bool)
        outside[1500:1520] = False
        flanks = np.r_[1350:1500, 1520:1670]
        result = integrate(noise - noise[flanks].mean(), (1500, 1520), outside, noise_sum_variance=1.0)
        inside += abs(result.value) < 1.96 * result.sigma
    assert inside >= 86  # 95 % less four binomial sigmas
