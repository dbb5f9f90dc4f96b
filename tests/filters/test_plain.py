import numpy as np
import pytest

from pc2dae.filters.gaps import at_native_rate, fill
from pc2dae.filters.plain import constant, moving_average, raw, savitzky_golay

NAN = np.nan


def everywhere(x: np.ndarray) -> np.ndarray:
    return np.isfinite(x)


def test_fill_draws_straight_lines_and_holds_the_ends() -> None:
    x = np.array([[NAN, 1.0, NAN, 3.0, NAN], [NAN] * 5])
    assert np.array_equal(fill(x, everywhere(x)), [[1, 1, 2, 3, 3], [NAN] * 5], equal_nan=True)


def test_a_value_marked_invalid_is_not_looked_at() -> None:
    x = np.array([[1.0, 99.0, 3.0]])
    assert fill(x, np.array([[True, False, True]])).tolist() == [[1, 2, 3]]


def test_a_stale_sensor_is_smoothed_on_its_own_clock() -> None:
    x = np.array([[0.0, 0, 1, 1, 2, 2, 3, 3]])
    fresh = np.array([[True, False] * 4])
    seen = []

    def twice(ticks: np.ndarray, ok: np.ndarray) -> np.ndarray:
        seen.append(ticks.copy())
        return 2 * ticks

    assert at_native_rate(x, fresh, twice).tolist() == [[0, 1, 2, 3, 4, 5, 6, 6]]
    assert seen[0].tolist() == [[0, 1, 2, 3]]


def test_moving_average_of_literals() -> None:
    x = np.array([[0.0, 3, 6, 3, 0]])
    assert moving_average(x, everywhere(x), window=3).tolist() == [[1.5, 3, 4, 3, 1.5]]


def test_moving_average_divides_by_what_was_observed() -> None:
    x = np.array([[2.0, NAN, 4.0, NAN, NAN, NAN, 8.0]])
    assert moving_average(x, everywhere(x), window=3).tolist() == [[2, 3, 4, 4, 6, 8, 8]]


def test_constant_is_the_mean_of_observations() -> None:
    x = np.array([[1.0, NAN, 5.0], [NAN, NAN, NAN]])
    assert np.array_equal(constant(x, everywhere(x)), [[3, 3, 3], [NAN] * 3], equal_nan=True)


def test_raw_keeps_negative_values() -> None:
    x = np.array([[-1.0, 2.0]])
    assert raw(x, everywhere(x)).tolist() == [[-1, 2]]


def test_savitzky_golay_keeps_a_cubic() -> None:
    t = np.arange(40.0)
    x = np.stack([0.01 * t**3 - t**2 + 5, 2 * t])
    assert savitzky_golay(x, everywhere(x), window=11) == pytest.approx(x)
