"""Gaps filled from a correlated channel."""

import numpy as np
import pytest

from pc2dae.edge.gap_fill import bridged

LENGTH, GAP = 1200, slice(590, 604)


def plumes(rng: np.random.Generator) -> np.ndarray:
    """One plume a minute, of different heights, one of them in the gap."""
    t = np.arange(LENGTH)
    centres = np.append(np.arange(30, LENGTH, 60), 597)
    return sum(rng.uniform(20, 60) * np.exp(-0.5 * ((t - c) / 4) ** 2) for c in centres)


@pytest.fixture
def air() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth, estimate and uncertainty of two correlated channels; the first has averages in its gap."""
    rng = np.random.default_rng(3)
    smoke = plumes(rng)
    truth = np.stack([100 + 3 * smoke, 400 + smoke])
    estimate = truth + rng.normal(0, 0.3, truth.shape)
    estimate[0, GAP] = np.linspace(estimate[0, GAP.start - 1], estimate[0, GAP.stop], 14)
    return truth, estimate, np.full(truth.shape, 0.3)


def seen_but(gap: slice, rows: int = 2) -> np.ndarray:
    seen = np.ones((rows, LENGTH), bool)
    seen[0, gap] = False
    return seen


def test_a_plume_in_the_gap_is_taken_from_the_channel_that_goes_with_it(air):
    truth, estimate, sd = air
    value, spread = bridged(estimate, sd, seen_but(GAP))
    error = np.abs(value - truth)[0, GAP]
    assert np.abs(estimate - truth)[0, GAP].max() > 40
    assert error.max() < 6
    assert np.mean(error <= 1.645 * spread[0, GAP]) >= 0.85
    assert value[0, GAP].sum() == pytest.approx(truth[0, GAP].sum(), rel=0.02)


def test_only_the_gap_changes(air):
    _, estimate, sd = air
    value, spread = bridged(estimate, sd, seen_but(GAP))
    inside = np.zeros(estimate.shape, bool)
    inside[0, GAP] = True
    assert np.array_equal(value[~inside], estimate[~inside])
    assert np.array_equal(spread[~inside], sd[~inside])


def test_a_dip_stays_a_dip(air):
    truth, estimate, sd = air
    value, _ = bridged(np.stack([200 - estimate[0], estimate[1]]), sd, seen_but(GAP))
    assert np.abs(value[0] - (200 - truth[0]))[GAP].max() < 6


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda x: np.roll(x, 25), id="of other smoke"),
        pytest.param(lambda x: np.where(np.arange(LENGTH) // 20 == 29, np.nan, x), id="without an estimate there"),
        pytest.param(lambda x: np.full(LENGTH, 400.0), id="constant"),
    ],
)
def test_a_channel_that_cannot_tell_changes_nothing(air, other):
    _, estimate, sd = air
    pair = np.stack([estimate[0], other(estimate[1])])
    value, spread = bridged(pair, sd, seen_but(GAP))
    assert np.array_equal(value, pair, equal_nan=True)
    assert np.array_equal(spread, sd)


def test_nothing_is_taken_from_a_channel_that_was_in_the_same_gap(air):
    _, estimate, sd = air
    seen = seen_but(GAP)
    seen[1, GAP] = False
    assert np.array_equal(bridged(estimate, sd, seen)[0], estimate)


def test_a_gap_too_long_to_know_how_the_two_go_together_over_it_is_left_alone(air):
    _, estimate, sd = air
    assert np.array_equal(bridged(estimate, sd, seen_but(slice(500, 640)))[0], estimate)


def test_a_channel_that_measures_every_ten_seconds_has_no_gaps_between_two_of_its_samples(air):
    _, estimate, sd = air
    seen = seen_but(slice(None))
    seen[0, ::10] = True
    assert np.array_equal(bridged(estimate, sd, seen)[0], estimate)


def test_one_channel_alone_is_left_as_it_is(air):
    _, estimate, sd = air
    assert np.array_equal(bridged(estimate[:1], sd[:1], seen_but(GAP, 1))[0], estimate[:1])
