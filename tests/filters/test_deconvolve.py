"""Rivals of the lag correction: a plume through τ = 5 s comes out nearer to the air, whatever is missing."""

import time

import numpy as np
import pytest

from pc2dae.filters.deconvolve import joint_rts, richardson_lucy, tikhonov, wiener, with_slope
from pc2dae.response.kernels import LN10, Kernel, memory, respond

T90 = 5.0 * LN10
T = np.arange(800.0)
AIR = 5.0 + sum(h * np.exp(-0.5 * ((T - c) / w) ** 2) for h, c, w in [(100, 200, 6), (60, 420, 15), (150, 600, 5)])
RIVALS = [tikhonov, joint_rts, wiener, richardson_lucy]


def reading(rng, air=AIR):
    return respond(air, Kernel(T90)) + rng.normal(0, 1.0, len(air))


@pytest.mark.parametrize("rival", RIVALS)
def test_a_plume_comes_nearer_to_the_air_than_its_reading(rival) -> None:
    x = reading(np.random.default_rng(0))
    found = rival(x, np.ones(len(x), bool), T90)
    assert np.abs(found - AIR).mean() < 0.5 * np.abs(x - AIR).mean()
    assert found[600] == pytest.approx(AIR[600], rel=0.1)


@pytest.mark.parametrize("rival", RIVALS)
def test_missing_samples_have_no_weight(rival) -> None:
    rng = np.random.default_rng(1)
    x = reading(rng)
    valid = rng.random(len(x)) > 0.1
    valid[:5] = valid[300:340] = valid[-5:] = False
    found = rival(np.where(valid, x, np.nan), valid, T90)
    assert np.isfinite(found).all()
    assert np.abs(found - AIR)[valid].mean() < 0.5 * np.abs(x - AIR)[valid].mean()
    assert np.array_equal(found, rival(np.where(valid, x, 9e9), valid, T90))


@pytest.mark.parametrize("rival", RIVALS)
def test_a_sensor_of_half_the_rate_is_no_later_than_a_fast_one(rival) -> None:
    x = reading(np.random.default_rng(2))
    found = rival(x, np.arange(len(x)) % 2 == 1, T90)
    errors = [np.abs(np.interp(T + shift, T, found) - AIR)[20:-20].mean() for shift in (-1.0, 0.0, 1.0)]
    assert int(np.argmin(errors)) == 1


@pytest.mark.parametrize("rival", RIVALS)
@pytest.mark.parametrize("seen", [0, 1, 2, 3])
def test_hardly_any_samples_give_finite_air_or_none(rival, seen) -> None:
    valid = np.zeros(50, bool)
    valid[[10, 30, 31][:seen]] = True
    found = rival(np.full(50, 7.0), valid, T90)
    assert found == pytest.approx(np.full(50, 7.0 if seen else np.nan), nan_ok=True)


def test_penalised_estimates_equal_their_dense_solutions() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=30)
    seen = np.ones(30)
    seen[[4, 12, 13]] = 0
    left = memory(T90)
    sensor = np.array([respond(row, Kernel(T90)) for row in np.eye(30)]).T
    assert sensor[5, 3] == pytest.approx((1 - left) * left**2)
    second = np.diff(np.eye(30), n=2, axis=0)
    expected = np.linalg.solve(sensor.T @ np.diag(seen) @ sensor + 0.3 * second.T @ second, sensor.T @ (seen * x))
    assert tikhonov(x, seen > 0, T90, price=0.3) == pytest.approx(expected, abs=1e-6)


def test_the_smoother_of_the_joint_state_is_the_most_likely_of_its_kind() -> None:
    """Gaussian algebra of a random walk through the sensor: its likelihood has no better q/R on the grid."""
    rng = np.random.default_rng(4)
    air = np.cumsum(rng.normal(0, 1.0, 120))
    x = respond(air, Kernel(T90)) + rng.normal(0, 0.5, 120)
    sensor = np.array([respond(row, Kernel(T90)) for row in np.eye(120)]).T
    walk = sensor @ np.tril(np.ones((120, 120)))[:, 1:]

    def posterior(ratio):
        """−2 log L with a diffuse level, the variance at its best, and the mean of the air."""
        covariance = np.linalg.inv(np.eye(120) + ratio * walk @ walk.T)
        level = covariance @ x @ np.ones(120) / covariance.sum()
        variance = (x - level) @ covariance @ (x - level) / 119
        score = 119 * np.log(variance) - np.linalg.slogdet(covariance)[1] + np.log(covariance.sum())
        steps = ratio * walk.T @ covariance @ (x - level)
        return score, level + np.append(0.0, np.cumsum(steps))

    best = min((posterior(1.0 / price) for price in np.logspace(-8, 8, 33)), key=lambda found: found[0])[1]
    assert joint_rts(x, np.ones(120, bool), T90) == pytest.approx(best, abs=1e-4)


def test_the_slope_undoes_a_slow_lag() -> None:
    assert np.abs(with_slope(respond(AIR, Kernel(T90)), T90) - AIR).max() < 0.1 * AIR.max()


def test_eight_thousand_samples_take_less_than_a_second() -> None:
    x = reading(np.random.default_rng(5), np.tile(AIR, 10))
    for rival in RIVALS:
        start = time.process_time()
        rival(x, np.ones(len(x), bool), T90)
        assert time.process_time() - start < 1.0, rival.__name__
