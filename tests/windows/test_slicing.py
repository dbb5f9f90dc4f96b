"""Split of training and held-out data: no held-out sample or its neighbourhood is in a training window."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pc2dae.errors import FlightError
from pc2dae.flags import STALE
from pc2dae.flight.schema import new_flight
from pc2dae.windows.slicing import WINDOW, Record, Segment, data_hash, random_crops, record_of, split, tiled_crops
from suites import make_suite

SUITE = make_suite({"gas": {"co": "ppb", "no": "ppb"}}, name="s")


def numbered(length, record):
    """Every sample encodes its origin."""
    values = (np.arange(length, dtype=np.float32) + 100_000 * (record + 1))[None]
    return Record(values, np.ones((1, length), bool), np.zeros((3, length), np.float32))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(384, 3000), min_size=1, max_size=6), st.integers(0, 1000))
def test_no_training_window_touches_held_out_air_or_its_guard(lengths, seed):
    train, held = split(lengths, seed=seed)
    assert train
    assert held
    records = [numbered(n, i) for i, n in enumerate(lengths)]
    crops = random_crops(records, train, np.random.default_rng(seed), count=64)
    seen = np.unique(crops.values[crops.valid])
    for segment in held:
        first = 100_000 * (segment.record + 1)
        forbidden = (seen >= first + segment.start - WINDOW) & (seen < first + segment.stop + WINDOW)
        assert not forbidden.any()


def test_from_three_flights_on_whole_flights_are_held_out():
    train, held = split([500, 600, 700, 800, 900], seed=0)
    assert len(held) == 1
    assert len(train) == 4
    assert {s.record for s in held} & {s.record for s in train} == set()


def test_short_flights_never_judge():
    for seed in range(10):
        _, held = split([100, 500, 600, 700], seed=seed)
        assert held[0].record != 0


def test_a_flight_too_short_says_so():
    with pytest.raises(FlightError, match="longest flight has 200 samples, but training needs 384"):
        split([200], seed=0)


def test_random_crops_reach_over_the_ends_with_nothing_valid_there():
    crops = random_crops([numbered(400, 0)], [Segment(0, 100, 300)], np.random.default_rng(0), count=200)
    inside = crops.values[crops.valid]
    assert inside.min() == 100_100
    assert inside.max() == 100_299
    assert np.isnan(crops.values[~crops.valid]).all()


def test_tiles_show_every_sample_once():
    crops = tiled_crops([numbered(300, 0)], [Segment(0, 0, 300)])
    assert crops.values.shape == (3, 1, 128)
    assert sorted(crops.values[crops.valid]) == list(range(100_000, 100_300))


def flight_of(values, flags=None):
    time = np.datetime64("2026-08-01T00:00:00") + np.arange(len(values)) * np.timedelta64(1, "s")
    return new_flight(time, {"co": values, "no": values * 2}, SUITE, flags=flags)


def test_a_record_masks_what_was_not_observed():
    flight = flight_of(np.array([1.0, 2.0, np.nan, 4.0]), {"no": np.array([0, STALE, 0, 0])})
    record = record_of(flight, SUITE)
    assert record.valid.tolist() == [[True, True, False, True], [True, False, False, True]]
    assert np.isnan(record.environment).all()


def test_truth_is_the_response_above_the_bound_matched_by_time():
    flight = flight_of(np.array([1.0, 2.0, 3.0]))
    truth = flight.isel(time=slice(1, None)).rename({"co": "co_response", "no": "no_response"}) - 5.0
    record = record_of(flight, SUITE, truth=truth)
    assert np.array_equal(record.target, np.array([[np.nan, 0, 0], [np.nan, 0, 1]], np.float32), equal_nan=True)


def test_the_hash_sees_every_array():
    a = numbered(10, 0)
    b = Record(a.values, a.valid.copy(), a.environment)
    b.valid[0, 3] = False
    assert data_hash([a]) == data_hash([numbered(10, 0)])
    assert data_hash([a]) != data_hash([b])
