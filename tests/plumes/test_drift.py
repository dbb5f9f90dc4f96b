import numpy as np
import pytest

from pc2dae.plumes.drift import bridged_drift


def test_drift_adds_up_alone_and_cancels_where_both_flanks_follow_it() -> None:
    alone, one, both = (bridged_drift(60, *f, sigma=2.0, correlation=500.0) for f in ((0, 0), (150, 0), (150, 150)))
    assert alone == pytest.approx(60 * 2.0, rel=0.01)
    assert alone > one > both > 0
    assert both < 0.2 * alone
    assert bridged_drift(60, 150, 150, sigma=0.0, correlation=500.0) == 0.0


def test_it_is_the_scatter_of_a_simulated_zero() -> None:
    """Draws of the same process, their sum over the interval less a line through the means of both flanks."""
    rng, size, flank = np.random.default_rng(0), 120, 100
    t = np.arange(-flank, size + flank)
    h = np.sqrt(3.0) * np.abs(t[:, None] - t) / 300.0
    draws = rng.multivariate_normal(np.zeros(len(t)), (1 + h) * np.exp(-h), 400, method="cholesky")
    left, right = draws[:, :flank].mean(1), draws[:, -flank:].mean(1)
    line = size * (left + right) / 2
    assert bridged_drift(size, flank, flank, sigma=1.0, correlation=300.0) == pytest.approx(
        np.std(draws[:, flank:-flank].sum(1) - line), rel=0.15
    )
