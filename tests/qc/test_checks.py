"""Checks on short literal arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pc2dae.flags import (
    BELOW_BOUND,
    BELOW_DETECTION,
    FLAT_LINE,
    MISSING,
    OUT_OF_RANGE,
    SATURATED,
    STALE,
    STARTUP,
    TAPE_ADVANCE,
    THERMAL_TRANSIENT,
)
from pc2dae.qc import checks

NAN = np.nan


def test_missing_is_no_number_or_a_sentinel() -> None:
    values = np.array([1.0, NAN, -9999.0, np.inf, 65535.0, 0.0])
    np.testing.assert_array_equal(checks.missing(values, (-9999, 65535)) // MISSING, [0, 1, 1, 1, 1, 0])
    np.testing.assert_array_equal(checks.missing(values) // MISSING, [0, 1, 0, 1, 0, 0])


def test_range_has_two_ends_and_zero_counts_as_one() -> None:
    values = np.array([-1.0, 0.0, 5.0, 10.0, 101.0, NAN])
    np.testing.assert_array_equal(
        checks.out_of_range(values, valid_min=0.0, valid_max=10.0) // OUT_OF_RANGE, [1, 0, 0, 0, 1, 0]
    )
    np.testing.assert_array_equal(checks.out_of_range(values, valid_min=0.0) // OUT_OF_RANGE, [1, 0, 0, 0, 0, 0])
    assert not checks.out_of_range(values).any()


def test_above_the_end_of_its_range_a_sensor_gives_lower_limits_but_not_wrapped_or_impossible_numbers() -> None:
    values = np.array([999.0, 1000.0, 2137.0, NAN])
    np.testing.assert_array_equal(checks.saturated(values, valid_max=1000.0) // SATURATED, [0, 1, 1, 0])
    greenbox = np.array([20_001.0, 65_493.0, 65_535.0, 200_001.0])  # CO2 of a 16-bit register, up to 20,000 ppm
    np.testing.assert_array_equal(checks.out_of_range(greenbox, valid_max=20_000.0) // OUT_OF_RANGE, [0, 1, 1, 1])
    assert not checks.saturated(values).any()


def test_below_detection() -> None:
    values = np.array([-3.0, 4.9, 5.0, NAN])
    np.testing.assert_array_equal(checks.below_detection(values, detection_limit=5.0) // BELOW_DETECTION, [1, 1, 0, 0])
    np.testing.assert_array_equal(checks.below_detection(values, detection_limit=0.0) // BELOW_DETECTION, [1, 0, 0, 0])


def test_a_half_hertz_sensor_logged_every_second_repeats() -> None:
    values = np.array([412.31, 412.31, 418.02, 418.02, NAN, 431.77, 431.77])
    np.testing.assert_array_equal(checks.stale(values, native_rate_hz=0.5) // STALE, [0, 1, 0, 1, 0, 0, 1])


def test_a_companion_that_moved_makes_the_sample_new() -> None:
    values = np.array([412.0, 412.0, 412.0, 412.0])
    temperature = np.array([20.1, 20.1, 20.2, 20.2])
    bits = checks.stale(values, native_rate_hz=0.5, companions=[temperature])
    np.testing.assert_array_equal(bits // STALE, [0, 1, 0, 1])


def test_a_quantised_slow_sensor_may_measure_the_same_twice() -> None:
    values = np.array([400.0, 400.0, 400.0, 400.0, 401.0, 401.0, 400.0, 400.0])
    np.testing.assert_array_equal(checks.stale(values, native_rate_hz=0.5) // STALE, [0, 1, 0, 1, 0, 1, 0, 1])


def test_a_quantised_channel_at_rest_is_not_stale() -> None:
    rng = np.random.default_rng(0)
    resting = np.round(rng.normal(5.0, 0.3, 600))  # whole micrograms: half of them repeat
    creeping = np.round(np.linspace(0, 150, 600))  # one step every four samples
    assert np.mean(np.diff(resting) == 0) > 0.4
    assert not checks.stale(resting).any()
    assert not checks.stale(creeping).any()


def test_values_held_by_the_logger_are_found_without_being_told() -> None:
    held = np.repeat(np.random.default_rng(1).normal(40.0, 2.0, 150), 4)  # ozone held for 4 s
    np.testing.assert_array_equal(checks.stale(held)[:8] // STALE, [0, 1, 1, 1, 0, 1, 1, 1])
    assert np.mean(checks.stale(held) != 0) == 0.75


def test_flat_line_is_a_noisy_channel_gone_dead() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(0, 1, 100)
    values[40:55] = values[40]
    values[70:75] = values[70]  # five repeats are not enough
    flagged = np.flatnonzero(checks.flat_line(values, sigma=1.0) & FLAT_LINE)
    np.testing.assert_array_equal(flagged, np.arange(40, 55))


def test_a_channel_that_never_gives_another_number_is_stuck() -> None:
    assert (checks.flat_line(np.full(60, 150.0), sigma=0.0) == FLAT_LINE).all()
    assert (checks.flat_line(np.full(60, 150.0), sigma=NAN) == FLAT_LINE).all()
    assert not checks.flat_line(np.full(59, 150.0), sigma=0.0).any()  # a short record may just be quiet
    assert not checks.flat_line(np.zeros(600), sigma=0.0).any()
    assert not checks.flat_line(np.full(600, 300.0), sigma=0.0, lower_bound=300.0).any()
    gap = np.full(600, 150.0)
    gap[50:60] = NAN
    np.testing.assert_array_equal(checks.flat_line(gap, sigma=0.0) == FLAT_LINE, np.isfinite(gap))


def test_a_few_other_numbers_are_a_sign_of_life() -> None:
    flickering = np.full(600, 150.0)
    flickering[[100, 333]] = 151.0
    assert not checks.flat_line(flickering, sigma=0.3).any()
    clean_air = np.repeat([0.0, 1.0, 0.0, 1.0], 100)  # particles in whole micrograms
    assert not checks.flat_line(clean_air, sigma=0.3).any()


def test_a_channel_that_dies_early_is_found_by_the_noise_it_had() -> None:
    values = np.random.default_rng(2).normal(150, 2, 600)
    values[100:] = 150.0
    flagged = np.flatnonzero(checks.flat_line(values, sigma=0.0) & FLAT_LINE)
    np.testing.assert_array_equal(flagged, np.arange(100, 600))
    coarse = np.round(values)  # whole numbers may rest between two plumes
    assert not checks.flat_line(coarse, sigma=0.3).any()


def test_only_valid_samples_are_looked_at() -> None:
    values = np.full(100, 150.0)
    values[40] = 1e6
    valid = values < 1e5
    np.testing.assert_array_equal(checks.flat_line(values, sigma=0.0, valid=valid) == FLAT_LINE, valid)


def test_quantised_channels_may_rest() -> None:
    assert not checks.flat_line(np.repeat([3.0, 4.0, 3.0], 50), sigma=0.3).any()
    clipped = np.maximum(np.random.default_rng(6).normal(-3.0, 1.0, 300) + 9.0 * (np.arange(300) > 150), 0.0)
    assert not checks.flat_line(clipped, sigma=1.0).any()


def test_thermal_transient_is_five_degrees_in_a_minute_and_its_aftermath() -> None:
    temperature = np.concatenate([np.full(100, 20.0), np.full(200, 26.0)])
    flagged = np.flatnonzero(checks.thermal_transient(temperature) & THERMAL_TRANSIENT)
    # The step is inside the 60-s window of samples 100 to 158; the last of them is followed by 60 s of recovery.
    np.testing.assert_array_equal(flagged, np.arange(100, 219))
    assert not checks.thermal_transient(np.linspace(15, 35, 1500)).any()  # a warm day's climb


def test_startup_is_only_at_the_start() -> None:
    starting = np.array([True, True, False, True, False])
    np.testing.assert_array_equal(checks.startup(starting) // STARTUP, [1, 1, 0, 0, 0])
    assert checks.startup(np.array([True, True])).all()


def test_tape_advance_takes_the_gap_and_the_first_sample_of_the_new_spot() -> None:
    attenuation = np.array([10.0, 10.1, NAN, NAN, 0.1, 0.2, 0.19])
    np.testing.assert_array_equal(checks.tape_advance(attenuation) // TAPE_ADVANCE, [0, 0, 1, 1, 1, 0, 0])


def test_tape_position_tells_of_an_advance_on_a_hardly_used_spot() -> None:
    attenuation = np.array([0.30, 0.31, 0.02, 0.03])
    position = np.array([17.0, 17.0, 18.0, 18.0])
    np.testing.assert_array_equal(checks.tape_advance(attenuation, position) // TAPE_ADVANCE, [0, 0, 1, 0])
    assert not checks.tape_advance(attenuation).any()


def test_below_bound_is_an_offset_not_noise() -> None:
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 1.0, 400)
    valid = np.ones(400, bool)
    offset = np.where(np.arange(400) < 200, 0.0, -3.0)
    bits = checks.below_bound(noise + offset, valid, sigma=1.0, lower_bound=0.0) // BELOW_BOUND
    assert not bits[:160].any()
    assert bits[240:].all()
    co2 = checks.below_bound(noise + 297.0, valid, sigma=1.0, lower_bound=300.0)
    assert (co2 != 0).all()


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), min_size=1, max_size=40))
def test_any_input_gives_flags_of_its_length(values: list[float]) -> None:
    x = np.array(values)
    for bits in (
        checks.missing(x),
        checks.stale(x),
        checks.flat_line(x, sigma=1.0),
        checks.tape_advance(x),
        checks.thermal_transient(x),
    ):
        assert bits.shape == x.shape
        assert bits.dtype == np.int32
    assert ((checks.missing(x) != 0) == ~np.isfinite(x)).all()


@pytest.mark.parametrize("length", [0, 1])
def test_hardly_any_samples(length: int) -> None:
    x = np.zeros(length)
    assert len(checks.stale(x)) == len(checks.flat_line(x, sigma=1.0)) == len(checks.tape_advance(x)) == length


@pytest.mark.parametrize("native_rate_hz", [None, 0.5])
def test_zeros_and_the_ends_of_the_range_are_measured_again(native_rate_hz: float | None) -> None:
    """Of a particle counter at half the grid's rate: clean air, a plume that saturates it, clean air."""
    rng = np.random.default_rng(0)
    plume = np.concatenate([np.zeros(20), rng.normal(500, 90, 400), np.full(10, 1000.0), np.zeros(20)]).repeat(2)
    plume = np.insert(plume, 440, plume[440])  # the counter's clock is its own
    found = checks.stale(plume, native_rate_hz=native_rate_hz, ends=(0.0, None, 1000.0)) != 0
    assert not found[(plume == 0) | (plume == 1000)].any()
    np.testing.assert_array_equal(found[40:440], np.tile([False, True], 200))


def test_a_record_written_on_a_finer_grid_has_its_own_samples() -> None:
    """Two coarse counters, zeros included, that nothing but the places of their changes tells from slow ones."""
    coarse = np.round(np.random.default_rng(0).gamma(1.0, 3.0, 300))
    assert np.mean(np.diff(coarse) == 0) > 0.05
    np.testing.assert_array_equal(checks.stale(coarse.repeat(3))[::3], 0)
    kept = np.flatnonzero(checks.stale(coarse.repeat(3)) == 0)
    assert set(kept % 3) == {0}
    assert not checks.stale(coarse).any()
