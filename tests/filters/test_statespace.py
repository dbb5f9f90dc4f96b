"""The state-space smoothers against answers found another way: dense Gaussian algebra and statsmodels."""

import numpy as np
import pytest

from pc2dae.filters.kalman import kalman, rts
from pc2dae.filters.matern import matern

RNG = np.random.default_rng(3)


def local_level(size: int, q: float, r: float) -> tuple[np.ndarray, np.ndarray]:
    x = np.cumsum(RNG.normal(0, np.sqrt(q), size)) + 10
    return x, x + RNG.normal(0, np.sqrt(r), size)


def test_rts_equals_the_dense_posterior_with_a_gap() -> None:
    _, y = local_level(30, 0.5, 1.0)
    seen = np.ones(30, bool)
    seen[[0, 7, 8, 9]] = False
    mean, sigma = rts(y[None], seen[None], ratio=0.5)
    roughness = np.diff(np.eye(30), axis=0)
    precision = np.diag(seen.astype(float)) + roughness.T @ roughness / 0.5
    expected = np.linalg.solve(precision, seen * y)
    assert mean[0] == pytest.approx(expected, rel=1e-6)
    shape = np.sqrt(np.diag(np.linalg.inv(precision)))
    assert sigma[0] / sigma[0, 15] == pytest.approx(shape / shape[15], rel=1e-6)


def test_rts_variances_are_those_of_statsmodels() -> None:
    structural = pytest.importorskip("statsmodels.tsa.statespace.structural")
    _, y = local_level(400, 0.2, 2.0)
    fitted = structural.UnobservedComponents(y, "llevel").fit(disp=0)
    mean, sigma = rts(y[None], np.ones((1, 400), bool))
    assert mean[0] == pytest.approx(fitted.smoothed_state[0], abs=0.1)
    assert sigma[0, 200] == pytest.approx(np.sqrt(fitted.smoothed_state_cov[0, 0, 200]), rel=0.05)


def test_kalman_does_not_look_ahead_and_rts_does() -> None:
    y = np.zeros((1, 60))
    y[0, 30:] = 1.0
    ok = np.ones((1, 60), bool)
    assert np.abs(kalman(y, ok)[0][0, :30]).max() == 0
    assert rts(y, ok, ratio=0.1)[0][0, 29] > 0.1


def test_matern_equals_the_dense_gaussian_process() -> None:
    t = np.arange(40.0)
    y = np.sin(t / 6) + RNG.normal(0, 0.2, 40)
    seen = np.ones(40, bool)
    seen[[3, 20, 21, 22]] = False
    mean, sigma = matern(y[None], seen[None], length=8.0)
    distance = np.sqrt(3) * np.abs(t[:, None] - t[None]) / 8.0
    kernel = (1 + distance) * np.exp(-distance)
    centre = y[seen].mean()

    # s²/r is the method's own choice: find the one that explains its mean best, then everything else must follow.
    def posterior(power: float) -> tuple[np.ndarray, np.ndarray]:
        k = power * kernel
        inverse = np.linalg.inv(k[np.ix_(seen, seen)] + np.eye(seen.sum()))
        r = (y[seen] - centre) @ inverse @ (y[seen] - centre) / seen.sum()
        cov = r * (k - k[:, seen] @ inverse @ k[seen])
        return centre + k[:, seen] @ inverse @ (y[seen] - centre), np.sqrt(np.diag(cov))

    fits = [posterior(p) for p in 10 ** np.linspace(-2, 5, 701)]
    expected, spread = min(fits, key=lambda fit: np.abs(fit[0] - mean[0]).max())
    assert mean[0] == pytest.approx(expected, abs=2e-3)
    assert sigma[0] == pytest.approx(spread, rel=0.02)


def test_matern_intervals_cover_a_process_of_its_own_kind() -> None:
    t = np.arange(1500.0)
    distance = np.sqrt(3) * np.abs(t[:, None] - t[None]) / 15.0
    factor = np.linalg.cholesky((1 + distance) * np.exp(-distance) + 1e-9 * np.eye(1500))
    truth = factor @ RNG.normal(size=(1500, 3))
    y = truth + RNG.normal(0, 0.5, truth.shape)
    mean, sigma = matern(y.T, np.ones((3, 1500), bool))
    inside = np.abs(mean - truth.T) < 1.645 * sigma
    assert 0.86 < inside.mean() < 0.94


def test_smoothers_halve_the_error_of_a_plume() -> None:
    t = np.arange(600.0)
    truth = 20 * np.exp(-0.5 * ((t - 300) / 20) ** 2)[None]
    y = truth + RNG.normal(size=truth.shape)
    ok = np.ones(truth.shape, bool)
    for smooth in (rts, matern):
        mean, _ = smooth(y, ok)
        assert np.abs(mean - truth).mean() < 0.5 * np.abs(y - truth).mean()
