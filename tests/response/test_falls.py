"""The limit of falls on simulated sensors of known t90, and what must not shorten it."""

from __future__ import annotations

import numpy as np
import pytest

from pc2dae.arrays import Array
from pc2dae.response.falls import Falls, falls_of, pooled
from pc2dae.response.kernels import Kernel, respond
from puffs import air

ROWS = 1500
ALL = np.ones(ROWS, bool)


def reading(seed: int, t90_s: float, sigma: float = 1.0) -> Array:
    """Puffs that end within a sample, through a sensor, with white noise."""
    noise = np.random.default_rng(seed).normal(0, sigma, ROWS)
    return np.asarray(400.0 + 300 * respond(air(seed, ROWS), Kernel(t90_s)) + noise)


@pytest.mark.parametrize("t90_s", [4.0, 8.0, 12.0, 25.0])
def test_a_limit_is_never_below_the_response_and_not_far_above(t90_s: float) -> None:
    limits = np.array([falls_of(reading(seed, t90_s), ALL, sigma=1.0).limit_s for seed in range(10)])
    assert (limits > 0.97 * t90_s).all()
    assert np.median(limits) < 1.3 * t90_s


@pytest.mark.parametrize("t90_s", [8.0, 14.0])
def test_falls_of_several_flights_pile_up_at_the_response(t90_s: float) -> None:
    falls = pooled([falls_of(reading(seed, t90_s), ALL, sigma=1.0) for seed in range(8)])
    t90, uncertainty, count = falls.pile()
    assert abs(t90 - t90_s) < 2 * uncertainty
    assert uncertainty < 0.15 * t90_s
    assert count > 30


def test_slow_air_gives_a_limit_but_no_pile() -> None:
    widths = np.random.default_rng(1).uniform(8, 25, 14)
    time = np.arange(ROWS)
    puffs = sum(np.exp(-0.5 * ((time - 80 - 100 * k) / w) ** 2) for k, w in enumerate(widths))
    falls = falls_of(400 + 300 * puffs + np.random.default_rng(2).normal(0, 1, ROWS), ALL, sigma=1.0)
    assert falls.limit_s > 8
    assert np.isnan(falls.pile()[0])


@pytest.mark.parametrize("record", [np.zeros(ROWS), np.random.default_rng(0).normal(400, 1, ROWS), np.ones(10)])
def test_without_falls_there_is_no_limit(record: Array) -> None:
    falls = falls_of(record, np.ones(len(record), bool), sigma=1.0)
    assert np.isnan(falls.limit_s)
    assert np.isnan(falls.pile()[0])


def test_what_a_cheap_sensor_does_leaves_the_limit_where_it_is() -> None:
    plain, limit = reading(3, 12.0), falls_of(reading(3, 12.0), ALL, sigma=1.0).limit_s
    repeated = np.repeat(plain, 2)  # 2 Hz, every value twice
    assert falls_of(repeated, np.ones(2 * ROWS, bool), sigma=1.0, rate_hz=2.0).limit_s == pytest.approx(limit, rel=0.1)
    assert falls_of(np.round(plain / 5) * 5, ALL, sigma=2.0).limit_s == pytest.approx(limit, rel=0.2)
    glitches = plain.copy()
    glitches[np.random.default_rng(4).integers(0, ROWS, 15)] += np.random.default_rng(5).choice([-150, 300], 15)
    assert falls_of(glitches, ALL, sigma=1.0).limit_s == pytest.approx(limit, rel=0.15)
    gaps = ALL.copy()
    gaps[np.random.default_rng(6).integers(0, ROWS, 200)] = False
    assert falls_of(plain, gaps, sigma=1.0).limit_s > 0.97 * 12.0


def test_the_limit_is_that_on_which_several_falls_agree() -> None:
    falls = Falls(np.array([3.0, 10.0, 10.5, 11.0, 30.0]), np.full(5, 0.05), 1.0)
    assert falls.limit_s == pytest.approx(10.5 / 0.9)  # the third fastest, two standard errors longer
    assert falls.limit_uncertainty_s == pytest.approx(10.5 * 0.05)
