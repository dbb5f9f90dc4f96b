"""Non-local means and the intersection of confidence intervals: what each is good at, and gaps."""

import numpy as np

from pc2dae.filters.ici import intersecting_intervals
from pc2dae.filters.nonlocal_means import nonlocal_means
from pc2dae.filters.plain import moving_average

RNG = np.random.default_rng(8)


def test_repeated_pulses_are_averaged_with_each_other() -> None:
    truth = np.tile(np.repeat([0.0, 12.0], [36, 4]), 25)[None]
    y = truth + RNG.normal(size=truth.shape)
    valid = RNG.random(truth.shape) > 0.05
    error = np.abs(nonlocal_means(y, valid) - truth)[valid].mean()
    assert error < 0.5 * np.abs(y - truth)[valid].mean()
    assert error < 0.5 * np.abs(moving_average(y, valid, window=5) - truth)[valid].mean()


def test_one_sided_windows_keep_an_edge_and_smooth_the_plateaus() -> None:
    truth = np.repeat([0.0, 10.0, 3.0], 200)[None]
    y = truth + RNG.normal(size=truth.shape)
    valid = np.ones(truth.shape, bool)
    valid[0, 280:300] = False
    found = intersecting_intervals(y, valid)
    assert np.abs(found - truth)[valid].mean() < 0.3 * np.abs(y - truth)[valid].mean()
    assert abs(found[0, 199]) < 2
    assert abs(found[0, 200] - 10) < 2
    assert np.abs(found[0, 280:300] - 10).max() < 2
