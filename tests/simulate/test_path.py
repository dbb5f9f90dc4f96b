import numpy as np
import pytest

from pc2dae.simulate.path import fly
from pc2dae.simulate.processes import RATE_HZ, second_means


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("samples", [240, 1500])
def test_a_flight_starts_and_ends_on_the_ground(seed: int, samples: int) -> None:
    path = fly(np.random.default_rng(seed), samples)
    assert len(path.x) == samples * RATE_HZ
    assert path.z[0] == 0
    assert path.z[-1] < 1
    assert path.z.min() >= 0
    assert path.z.max() > 9
    assert path.speed[: 10 * RATE_HZ].max() == 0
    assert np.hypot(path.x[-1] - path.x[0], path.y[-1] - path.y[0]) < 60  # home again


@pytest.mark.parametrize("seed", range(4))
def test_speeds_are_the_papers(seed: int) -> None:
    speed = second_means(fly(np.random.default_rng(seed), 1500).speed)
    assert speed.max() <= 8.6 + 1e-9
    assert speed.max() > 8.0
    assert speed.mean() == pytest.approx(1.78, rel=0.07)
    assert np.median(speed) == pytest.approx(0.21, rel=0.1)
    assert 0.60 < np.mean(speed > 0.1) < 0.66


def test_position_is_the_integral_of_speed() -> None:
    path = fly(np.random.default_rng(3), 600)
    moved = np.hypot(np.diff(path.x), np.diff(path.y)) * RATE_HZ
    assert moved == pytest.approx(path.speed[1:], abs=1e-9)
    assert np.abs(np.diff(path.z)).max() * RATE_HZ < 3.5  # climb rate with a little heave [m/s]
