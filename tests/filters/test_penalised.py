import numpy as np
import pytest

from pc2dae.filters.penalised import total_variation, whittaker

RNG = np.random.default_rng(5)


def everywhere(x: np.ndarray) -> np.ndarray:
    return np.ones(x.shape, bool)


def test_whittaker_equals_the_dense_solution_with_a_gap() -> None:
    y = RNG.normal(size=25)
    seen = np.ones(25)
    seen[[4, 12, 13]] = 0
    second = np.diff(np.eye(25), n=2, axis=0)
    expected = np.linalg.solve(np.diag(seen) + 7.0 * second.T @ second, seen * y)
    assert whittaker(y[None], seen[None] > 0, price=7.0)[0] == pytest.approx(expected, abs=1e-6)


def test_whittaker_leaves_a_straight_line_alone() -> None:
    line = np.arange(50.0)[None] * 3 - 7
    assert whittaker(line, everywhere(line), price=1e4) == pytest.approx(line)


def test_cross_validation_chooses_near_the_best_price() -> None:
    t = np.arange(1000.0)
    truth = (10 * np.cos(8 * np.pi * (t + 0.5) / 1000) + 10)[None]
    y = truth + RNG.normal(size=truth.shape)

    def error(price: float | None) -> float:
        return float(((whittaker(y, everywhere(y), price=price) - truth) ** 2).mean())

    assert error(None) < 1.3 * min(error(p) for p in np.logspace(-1, 6, 15))


def test_total_variation_of_two_samples_groups_by_hand() -> None:
    # For a step of height 10 between two plateaus of 50 samples, TV moves each plateau towards the other by λ/50.
    y = np.repeat([0.0, 10.0], 50)[None] + RNG.normal(0, 1e-6, (1, 100))
    from pc2dae.filters.penalised import _flattened

    flat = _flattened(y, np.array([[5.0]]))
    assert flat[0, [10, 80]] == pytest.approx([0.1, 9.9], abs=1e-3)


def test_total_variation_keeps_edges_where_a_mean_blurs_them() -> None:
    truth = np.zeros((1, 800))
    truth[:, 300:340] = 20.0
    y = truth + RNG.normal(size=truth.shape)
    flat = total_variation(y, everywhere(y))
    assert np.abs(flat - truth).mean() < 0.3 * np.abs(y - truth).mean()
    assert flat[0, 300] - flat[0, 299] > 15
