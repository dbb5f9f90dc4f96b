"""Sentinels, and the same numbers as real measurements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.sentinels import LISTED, describe, find_sentinels, is_impossible, is_lone

NAN = np.nan


def at(values: np.ndarray) -> list[int]:
    return [int(i) for i in np.flatnonzero(find_sentinels(values))]


def air(level: float = 400.0, noise: float = 2.0, rows: int = 300) -> np.ndarray:
    return level + np.random.default_rng(0).normal(0, noise, rows)


@pytest.mark.parametrize("sentinel", [*LISTED, 1e20, 1e38, -3.4e38, 9.96921e36])
def test_listed_and_huge_numbers_stand_apart_from_air(sentinel: float) -> None:
    values = air(level=5.0)
    values[100:140] = sentinel  # a run of them
    values[200] = sentinel
    assert at(values) == [*range(100, 140), 200]
    stored = values.astype(np.float32)  # as a 32-bit logger would have it
    assert at(stored) == [*range(100, 140), 200]


@pytest.mark.parametrize("sentinel", [-9999.0, 65535.0])
def test_a_channel_that_holds_nothing_else_holds_nothing(sentinel: float) -> None:
    assert at(np.full(5, sentinel)) == [0, 1, 2, 3, 4]
    assert at(np.array([NAN, sentinel, NAN])) == [1]


def test_a_plume_through_65535_is_kept() -> None:
    plume = np.round(65535.0 * np.exp(-0.5 * ((np.arange(300) - 150) / 10) ** 2))
    assert plume[150] == 65535.0
    assert at(plume) == []
    counts = np.array([58041.0, 59160.0, 61818.0, 65535.0, 65535.0, 65466.0, 64878.0])  # particles of a real GreenBox
    assert at(counts) == []


def test_minus_9999_among_its_like_is_kept() -> None:
    values = air(level=-9999.0, noise=1.0)
    values[7] = -9999.0
    assert at(values) == []
    noisy = air(level=0.0, noise=3000.0)  # black carbon each second: −9999 is one of its values
    noisy[7] = -9999.0
    assert at(noisy) == []


def test_plumes_do_not_hide_a_number_on_the_other_side_of_zero() -> None:
    values = air() + 60_000 * np.exp(-0.5 * ((np.arange(300) - 150) / 10) ** 2)
    values[10] = -9999.0
    assert at(values) == [10]


def test_a_level_far_from_zero_does_not_hide_a_number_many_ranges_away() -> None:
    values = air(level=-700.0)
    values[10] = -999.0
    assert at(values) == [10]
    assert at(np.array([-700.0, -999.0])) == []  # two values show no range


def test_negatives_wrapped_to_16_bits() -> None:
    co2 = np.round(air(level=400.0, noise=20.0))  # FASMEE: 65,493 … 65,535 beside 3 … 2,171 ppm
    co2[50:54] = [65493, 65521, 65535, 65534]
    assert at(co2) == [50, 51, 52, 53]
    assert at(co2 + 0.25) == []  # a register holds integers
    signed = co2.copy()
    signed[3] = -5.0  # this logger can write negatives
    assert at(signed) == []
    assert at(np.array([400.0, 65500.0])) == []  # too few to know


def test_only_what_is_usable_says_what_is_ordinary() -> None:
    values = air()
    values[5], values[6] = 40_000.0, 65535.0
    assert at(values) == []
    assert np.flatnonzero(find_sentinels(values, values < 5000)).tolist() == [6]


def test_words() -> None:
    assert describe(np.array([-9999.0] * 12)) == ["12 samples of -9999 taken as missing (sentinel)"]
    assert describe(np.array([65535.0, 4294967295.0])) == [
        "2 samples of 65535, 4294967295 taken as missing (sentinel)",
    ]
    assert describe(np.array([65493.0, 65494, 65495, 65520, 1e38])) == [
        "1 sample of 1e+38 taken as missing (sentinel)",
        "4 samples of 65493 to 65520 taken as missing (wrapped integer)",
    ]
    assert describe(np.array([])) == []


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=40))
def test_any_input(values: list[float]) -> None:
    x = np.array(values)
    found = find_sentinels(x)
    assert found.shape == x.shape
    assert found[np.isfinite(x) & (np.abs(x) >= 1e20)].all()
    assert np.isin(x[found & (np.abs(x) < 1e20)], [*LISTED, *np.float32(LISTED).astype(float)]).all() or len(x) > 30


def test_above_the_range_only_what_can_be_a_reading_is_a_lower_limit() -> None:
    particles = np.array([1000.0, 2137.0, 7941.0, 16973.0, 32767.0])  # GreenBox: all but the last two in smoke
    assert is_impossible(particles, 1000.0).tolist() == [False, False, False, True, True]
    co2 = np.array([400.0, 25_000.0, 65_493.0, 65_535.0, 65_493.5])  # wrapped, even if nothing else is known
    assert is_impossible(co2, 20_000.0).tolist() == [False, False, True, True, False]
    assert not is_impossible(co2, np.inf).any()


def test_far_above_the_range_a_value_needs_a_neighbour() -> None:
    assert is_lone(np.array([2500.0, 2500.0, 1900.0, 2500.0]), np.array([5.0, 1200.0, 5.0, NAN]), 1000.0).tolist() == [
        True, False, False, False,
    ]  # fmt: skip
