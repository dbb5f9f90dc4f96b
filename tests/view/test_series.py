from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pc2dae.view.series import bucket_times, buckets, cut, extremes, json_numbers


def test_thinning_keeps_the_lowest_and_highest_of_every_bucket() -> None:
    values = np.array([1.0, 9.0, 2.0, np.nan, 5.0, 4.0, 0.0, 7.0, 3.0])
    assert values[extremes(values, 3)].tolist()[:4] == [1.0, 9.0, 5.0, 4.0]
    assert extremes(values, 1).tolist() == list(range(9))
    assert bucket_times(np.arange(9) * 1000, 3).tolist() == [0, 1000, 3000, 4000, 6000, 7000]


@given(arrays(np.float64, st.integers(1, 400), elements=st.floats(-1e6, 1e6)), st.integers(2, 50))
def test_no_peak_is_lost_and_no_point_too_many(values: np.ndarray, points: int) -> None:
    width = buckets(len(values), points)
    kept = values[extremes(values, width)]
    assert kept.max() == values.max()
    assert kept.min() == values.min()
    assert len(kept) == len(bucket_times(np.arange(len(values)), width))
    assert width == 1 or len(kept) <= points + 2


def test_a_stretch_of_time_reaches_one_sample_beyond_its_edges() -> None:
    time = np.arange(10) * 1000
    assert cut(time, 2500, 5500) == slice(2, 7)
    assert cut(time, None, None) == slice(0, 10)
    assert cut(time, 99_000, 100_000) == slice(9, 10)


def test_numbers_have_six_digits_and_what_is_none_is_null() -> None:
    text = json_numbers(np.array([1234567.0, 0.123456789, np.nan, -np.inf, 0.0, 1e-12]))
    assert json.loads(text) == [1234570.0, 0.123457, None, None, 0.0, 1e-12]
    assert json_numbers(np.array([1760985251000])) == "[1760985251000]"
    assert json_numbers(np.empty(0)) == "[]"


@given(arrays(np.float32, 20, elements=st.floats(width=32)))
def test_numbers_are_json_and_close(values: np.ndarray) -> None:
    back = np.array([np.nan if x is None else x for x in json.loads(json_numbers(values))])
    seen = np.isfinite(values)
    assert (np.isfinite(back) == seen).all()
    np.testing.assert_allclose(back[seen], values[seen].astype(np.float64), rtol=1e-5)
