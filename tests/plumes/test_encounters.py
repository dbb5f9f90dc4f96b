from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.plumes import Encounter, extents, find_encounters, half_rise
from pc2dae.plumes.encounters import widened


def test_three_samples_above_make_an_encounter_and_two_do_not() -> None:
    excess = np.array([0.0, 5, 5, 5, 0, 5, 5, 0])
    assert extents(excess, 3.0) == [(1, 4)]


def test_it_reaches_out_to_a_third_of_the_threshold() -> None:
    excess = np.array([0.5, 1.5, 4, 6, 4, 2.9, 1.1, 0.9, 4])
    assert find_encounters(excess, 3.0) == [Encounter(1, 7, 3, 6.0)]


def test_nothing_is_found_in_nothing() -> None:
    assert find_encounters(np.zeros(10), 1.0) == []
    assert find_encounters(np.full(10, np.nan), 1.0) == []


def test_widened_intervals_that_touch_become_one() -> None:
    assert widened([(10, 12), (15, 18), (40, 41)], 2, 42) == [(8, 20), (38, 42)]


def test_half_rise_lies_between_samples() -> None:
    excess = np.array([0.0, 0.0, 2.0, 8.0, 3.0])
    assert half_rise(excess, Encounter(2, 5, 3, 8.0)) == pytest.approx(2 + (4 - 2) / 6)
    assert np.isnan(half_rise(np.zeros(5), Encounter(2, 5, 3, 0.0)))


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=60))
def test_encounters_are_apart_and_each_holds_a_core(values: list[float]) -> None:
    excess = np.array(values)
    found = extents(excess, 2.0)
    for (_, stop), (start, _) in pairwise(found):
        assert start > stop
    for start, stop in found:
        above = excess[start:stop] > 2.0
        assert (above[:-2] & above[1:-1] & above[2:]).any()
