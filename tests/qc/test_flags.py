"""Bits and their names."""

from __future__ import annotations

import numpy as np

from pc2dae.flags import MISSING, SPIKE, STALE
from pc2dae.qc.flags import has_low_zero, marked, shares


def test_shares_of_flags_that_occur() -> None:
    assert shares(np.array([0, MISSING, MISSING | STALE, 0])) == {"missing": 0.5, "stale": 0.25}
    assert shares(np.array([], dtype=np.int32)) == {}


def test_marked() -> None:
    np.testing.assert_array_equal(marked([True, False], SPIKE), [8, 0])
    assert marked([True], SPIKE).dtype == np.int32


def test_a_fifth_of_the_samples_under_the_bound_make_a_low_zero() -> None:
    assert not has_low_zero([2048] * 2 + [0] * 8)
    assert has_low_zero([2048 | 64] * 3 + [1] * 7)
    assert not has_low_zero([])
