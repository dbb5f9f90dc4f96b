import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.simulate.processes import RATE_HZ, at, lagged, second_means, swell, wander


def test_a_step_reaches_ninety_percent_after_t90() -> None:
    step = np.concatenate([np.zeros(1), np.ones(20 * RATE_HZ)])
    answer = lagged(step, t90_s=4.0)
    assert answer[4 * RATE_HZ] == pytest.approx(0.9, abs=1e-9)
    assert answer[8 * RATE_HZ] == pytest.approx(0.99, abs=1e-9)


@given(level=st.floats(-1e6, 1e6), t90_s=st.floats(0.1, 500))
def test_constant_air_reads_constant(level: float, t90_s: float) -> None:
    assert lagged(np.full(50, level), t90_s=t90_s) == pytest.approx(level)


def test_wander_has_its_spread_and_memory() -> None:
    x = wander(np.random.default_rng(1), 400_000, tau_s=2.0, sigma=3.0)
    assert x.std() == pytest.approx(3.0, rel=0.03)
    lag = 2 * RATE_HZ  # after tau the correlation is 1/e
    assert np.mean(x[lag:] * x[:-lag]) / x.var() == pytest.approx(np.exp(-1), abs=0.04)


def test_swell_has_its_spread_and_is_smooth() -> None:
    x = swell(np.random.default_rng(1), 400_000, tau_s=2.0, sigma=3.0)
    rough = wander(np.random.default_rng(1), 400_000, tau_s=2.0, sigma=3.0)
    assert x.std() == pytest.approx(3.0, rel=0.05)
    assert np.diff(x).std() < 0.2 * np.diff(rough).std()


def test_seconds_and_moments() -> None:
    fine = np.repeat([1.0, 3.0], RATE_HZ)
    assert second_means(fine).tolist() == [1.0, 3.0]
    assert at(np.array([0.5, 1.5]), fine).tolist() == [1.0, 3.0]
