from __future__ import annotations

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.report.figure import MOST_POINTS, line, packed, thinned


def test_an_array_is_packed_as_little_endian_bytes() -> None:
    assert packed(np.array([1.0, np.nan])) == {
        "dtype": "f4",
        "bdata": base64.b64encode(bytes.fromhex("0000803f0000c07f")).decode(),
    }
    assert packed(np.array([[0, 3]], np.int8)) == {"dtype": "i1", "bdata": "AAM=", "shape": "1, 2"}


def test_a_short_line_is_left_alone() -> None:
    values = np.array([1.0, 5.0, np.nan])
    assert thinned(values) is values


@given(st.integers(MOST_POINTS + 1, 4 * MOST_POINTS), st.integers(0, 2**32 - 1))
def test_a_thinned_line_keeps_its_extremes_and_is_short(size: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=size)
    thin = thinned(values)
    assert len(thin) <= MOST_POINTS + 2
    assert thin.min() == values.min()
    assert thin.max() == values.max()


def test_the_two_values_of_a_stretch_keep_their_order() -> None:
    values = np.arange(2.0 * MOST_POINTS)[::-1].copy()
    assert np.all(np.diff(thinned(values)) <= 0)


@pytest.mark.parametrize(("size", "step"), [(100, 1000.0), (3 * MOST_POINTS, 3000.0)])
def test_a_line_spans_its_time(size: int, step: float) -> None:
    time = np.datetime64("2025-01-01T00:00:00") + np.arange(size) * np.timedelta64(1, "s")
    drawn = line(time, np.arange(float(size)), "raw")
    assert drawn["x0"] == "2025-01-01 00:00:00.000"
    assert drawn["dx"] == step
    points = len(base64.b64decode(drawn["y"]["bdata"])) // 4
    assert points * step == pytest.approx(size * 1000.0)
