from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pc2dae.align.clock_faults import repair_stamps
from pc2dae.align.grid import align, bridge, stale_rows
from pc2dae.errors import FlightError
from pc2dae.flags import INTERPOLATED, MISSING, STALE
from pc2dae.flight.cells import cells_of
from pc2dae.flight.stream import Stream
from suites import make_suite

T0 = np.datetime64("2024-04-09T20:00:00", "ns")
SUITE = make_suite(
    {"co2": {"co2": "ppm", "co2_b": "ppm"}},
    name="two",
    sources={"co2": "scd30.co2", "co2_b": "li830.co2", "air_temperature": "scd30.temperature"},
)
ROWS = make_suite({"gas": {"co": "ppb"}}, name="one")


def at(seconds: list[float] | np.ndarray) -> np.ndarray:
    return T0 + np.rint(np.asarray(seconds) * 1e9).astype(np.int64).astype("timedelta64[ns]")


def stream(instrument: str, seconds: list[float] | np.ndarray, *, clock: str = "rtc", **columns: list[float]) -> Stream:
    arrays = {name: np.asarray(values, dtype=float) for name, values in columns.items()}
    return Stream(instrument, "", at(seconds), arrays, dict.fromkeys(arrays, "1"), clock=clock, rows_read=len(seconds))


def test_samples_of_a_second_are_averaged_and_counted():
    flight, _ = align([stream("li830", [0.1, 0.6, 1.2, 4.2], co2=[400, 402, 410, 420])], SUITE)
    assert flight["co2_b"].values.tolist()[:2] == [401, 410]
    assert flight["li830_samples"].values.tolist() == [2, 1, 0, 0, 1]


def test_where_an_instrument_samples_within_the_cells_is_kept():
    late = stream("li830", [0.7, 1.7, 2.7], co2=[400, 402, 410])
    whole = stream("scd30", [0, 1, 2], co2=[400, 402, 410])  # stamps cut to seconds say nothing
    flight, _ = align([late, whole], SUITE)
    assert json.loads(flight.attrs["sampling_offset_s"]) == {"li830": 0.2, "scd30": 0.0}


def test_gaps_up_to_three_seconds_are_bridged_and_flagged_longer_ones_are_missing():
    flight, _ = align([stream("li830", [0, 1, 4, 9], co2=[400, 410, 440, 500])], SUITE)
    np.testing.assert_allclose(flight["co2_b"].values, [400, 410, 420, 430, 440, *[np.nan] * 4, 500])
    assert flight["qc_co2_b"].values.tolist() == [0, 0, *[INTERPOLATED] * 2, 0, *[MISSING] * 4, 0]
    _, placed = align([stream("li830", [0, 1, 2, 3, 9], co2=[400, 410, 420, 430, 440])], SUITE)
    assert (placed[0].gaps, placed[0].longest_gap_s) == (1, 6.0)


def test_repeats_of_the_whole_record_are_stale_and_repeats_of_one_value_are_not():
    one = stream(
        "scd30",
        range(4),
        co2=[400.25, 400.25, 401.5, 401.5],
        temperature=[20.5, 20.5, 20.5, 20.75],
        humidity=[40.1, 40.1, 40.1, 40.1],
    )
    assert stale_rows(one).tolist() == [False, True, False, False]
    flight, _ = align([one], SUITE)
    assert flight["qc_co2"].values.tolist() == [0, STALE, 0, 0]


def test_whole_numbers_that_repeat_are_not_stale():
    assert not stale_rows(stream("pms5003", range(3), pm1=[0, 0, 0], pm25=[1, 1, 1], pm10=[2, 2, 2])).any()


def test_other_columns_are_kept_under_their_instrument():
    flight, _ = align(
        [stream("scd30", range(3), co2=[400, 401, 402], temperature=[20, 21, 22], humidity=[40, 41, 42])], SUITE
    )
    assert flight["air_temperature"].values.tolist() == [20, 21, 22]
    assert flight["scd30_humidity"].values.tolist() == [40, 41, 42]
    assert flight["co2"].attrs["instrument"] == "scd30"
    assert (flight["qc_co2_b"].values == MISSING).all()


def test_what_wrong_clocks_let_stick_out_beyond_gps_time_is_listed():
    gps = stream("ardupilot", range(10), clock="gps", latitude=[39.0] * 10)
    late = stream("li830", np.arange(10) + 4.0, co2=np.arange(10) + 400.0)
    flight, placed = align([gps, late], SUITE)
    assert flight.sizes["time"] == 10
    assert "4 rows before or after" in placed[1].repairs[0]


@pytest.mark.parametrize("phase", [0.0, 0.3, 0.97, -0.02])
def test_a_steady_tick_with_jitter_has_one_sample_per_cell(phase):
    rng = np.random.default_rng(1)
    ticks = np.arange(500) + phase + rng.normal(0, 0.02, 500)
    cells = cells_of(at(ticks), T0, 1.0)
    assert np.array_equal(np.diff(cells), np.ones(499))
    assert cells[0] == (1 if phase > 0.95 else 0)


def test_bridge_leaves_the_ends_alone():
    values, bridged = bridge(np.array([np.nan, 1.0, np.nan, 3.0, np.nan]), 3)
    assert bridged.tolist() == [False, False, True, False, False]
    np.testing.assert_array_equal(values, [np.nan, 1, 2, 3, np.nan])


def test_a_lost_clock_is_placed_by_its_neighbours():
    seconds = np.arange(200.0)
    seconds[-2:] = -50000.0
    mended_stream = repair_stamps(stream("csv", seconds, co=np.arange(200)), 1.0)
    assert np.array_equal(mended_stream.time, at(np.arange(200.0)))
    assert "2 rows with a lost clock" in mended_stream.repairs[0]


def test_two_sessions_in_order_are_no_lost_clock():
    both = stream("csv", np.concatenate([np.arange(3.0), 90000 + np.arange(500.0)]), co=np.arange(503))
    assert repair_stamps(both, 1.0) is both


def test_a_record_of_centuries_is_refused():
    far = stream("csv", np.concatenate([np.arange(300.0), 4e9 + np.arange(300.0)]), co=np.arange(600))
    with pytest.raises(FlightError, match="days"):
        align([far], ROWS)


stamps = st.lists(st.floats(0, 300, allow_nan=False).map(lambda s: round(s, 3)), min_size=1, max_size=60)


@settings(max_examples=60, deadline=None)
@given(stamps.map(sorted))
def test_every_row_of_a_csv_comes_back_whatever_its_stamps(seconds):
    """Irregular and repeated stamps: as many rows as went in, in their order, each the mean of its cell."""
    values = np.arange(len(seconds), dtype=float)
    flight, _ = align([stream("csv", seconds, co=values)], ROWS)
    rows = flight["row_index"].values
    assert np.array_equal(flight["row_time"].values, at(seconds))
    given_back = flight["co"].values[rows]
    for cell in np.unique(rows):
        np.testing.assert_allclose(given_back[rows == cell], values[rows == cell].mean())
    assert np.abs(flight["time"].values[rows] - at(seconds)).max() <= np.timedelta64(1000, "ms")


def test_positions_are_checked_before_a_mean_can_hide_them():
    latitude, longitude = [39.0, 39.2, 0.0, 39.4], [-96.0, -96.2, 0.0, -96.4]
    flight, placed = align([stream("csv", [0.0, 1.0, 1.5, 2.0], latitude=latitude, longitude=longitude)], ROWS)
    assert flight["latitude"].values.tolist() == [39.0, 39.2, 39.4]
    assert placed[0].repairs == ("1 positions of 0/0 (no GPS fix) taken as missing",)
