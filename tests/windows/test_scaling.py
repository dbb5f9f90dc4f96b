"""The scale is P99.5 − bound, of valid samples only."""

from __future__ import annotations

import numpy as np
import pytest

from pc2dae.windows.scaling import Scaler, fit_scaler

ENVIRONMENT = [np.array([[10.0, 30.0], [50.0, 50.0], [np.nan, np.nan]])]


def test_scale_is_the_percentile_above_the_bound():
    values = [np.arange(201.0)[None] + 300.0]
    scaler = fit_scaler(values, [np.ones((1, 201), bool)], ENVIRONMENT, bound=[300.0])
    assert scaler.scale == (199.0,)
    assert scaler.fill[0] == pytest.approx(100 / 199)


def test_masked_and_non_finite_samples_do_not_count():
    values = [np.array([[1.0, 1e9, np.nan, 1.0]]), np.array([[1.0, np.inf]])]
    valid = [np.array([[True, False, True, True]]), np.ones((1, 2), bool)]
    assert fit_scaler(values, valid, ENVIRONMENT, bound=[0.0]).scale == (1.0,)


def test_channels_below_their_bound_or_empty_still_have_a_scale():
    values = [np.array([[-4.0, -4.0], [np.nan, np.nan]])]
    scaler = fit_scaler(values, [np.isfinite(values[0])], ENVIRONMENT, bound=[0.0, 0.0])
    assert scaler.scale == (4.0, 1.0)
    assert scaler.fill == (-1.0, 0.0)


def test_environment_that_is_constant_or_unknown_is_harmless():
    scaler = fit_scaler([np.ones((1, 2))], [np.ones((1, 2), bool)], ENVIRONMENT, bound=[0.0])
    assert scaler.environment_mean == (20.0, 50.0, 0.0)
    assert scaler.environment_std == (10.0, 1.0, 1.0)


def test_the_card_gives_the_scaler_back():
    scaler = Scaler((0.0, 300.0), (2.0, 3.0), (0.1, 0.2), (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    assert Scaler.from_dict(scaler.as_dict()) == scaler
