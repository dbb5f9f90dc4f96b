import numpy as np
import pytest

from pc2dae.plumes import york_line

RNG = np.random.default_rng(1)


def test_pearsons_data_with_yorks_weights() -> None:
    # York et al. 2004, table II: slope -0.4805 ± 0.0580, intercept 5.4799.
    x = np.array([0.0, 0.9, 1.8, 2.6, 3.3, 4.4, 5.2, 6.1, 6.5, 7.4])
    y = np.array([5.9, 5.4, 4.4, 4.6, 3.5, 3.7, 2.8, 2.8, 2.4, 1.5])
    weight_x = np.array([1000.0, 1000.0, 500.0, 800.0, 200.0, 80.0, 60.0, 20.0, 1.8, 1.0])
    weight_y = np.array([1.0, 1.8, 4.0, 8.0, 20.0, 20.0, 70.0, 70.0, 100.0, 500.0])
    line = york_line(x, y, weight_x**-0.5, weight_y**-0.5, scatter=0.0)
    assert line.slope == pytest.approx(-0.4805, abs=5e-5)
    assert line.intercept == pytest.approx(5.4799, abs=5e-5)
    assert line.sigma == pytest.approx(0.0580, abs=5e-5)


def test_errors_in_x_do_not_flatten_the_slope() -> None:
    truth = np.linspace(0, 5, 4000)
    x = truth + RNG.normal(0, 2, truth.shape)
    y = 3 * truth + RNG.normal(0, 1, truth.shape)
    assert np.polyfit(x, y, 1)[0] < 2.0  # attenuated
    assert york_line(x, y, np.full(4000, 2.0), np.full(4000, 1.0)).slope == pytest.approx(3.0, rel=0.05)


def test_scatter_of_the_air_does_not_turn_the_line() -> None:
    """With noise of a tenth of the air's scatter a line without it is nearly the regression of x on y."""
    truth = np.abs(RNG.normal(0, 10, 3000))
    x, y = truth + RNG.normal(0, 0.3, 3000), 0.5 * truth + RNG.normal(0, 3.0, 3000)
    errors = np.full(3000, 0.3), np.full(3000, 0.01)
    line = york_line(x, y, *errors)
    assert line.slope == pytest.approx(0.5, abs=0.03)
    assert line.scatter == pytest.approx(3.0, rel=0.05)
    assert york_line(x, y, *errors, scatter=0.0).slope > 0.8


@pytest.mark.parametrize("x", [np.array([1.0, 2.0]), np.ones(5), np.full(5, np.nan)])
def test_no_line_without_three_different_samples(x: np.ndarray) -> None:
    assert np.isnan(york_line(x, np.arange(float(len(x))), np.ones(len(x)), np.ones(len(x))).slope)


def test_an_exact_line_without_stated_errors() -> None:
    x = np.arange(10.0)
    assert york_line(x, -2 * x + 7, np.zeros(10), np.zeros(10)).slope == pytest.approx(-2.0)
