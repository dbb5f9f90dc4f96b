from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest

from pc2dae.align.clock_faults import repair_stamps, undo_step_back
from pc2dae.align.grid import align
from pc2dae.errors import FlightError
from pc2dae.flight.stream import Stream
from suites import make_suite

T0 = np.datetime64("2024-04-09T14:00:00", "ns")
SUITE = make_suite({"gas": {"co": {"units": "ppb", "lower_bound": -1000000000.0}}}, name="one")


def stream(seconds: np.ndarray | list[float], **columns: np.ndarray) -> Stream:
    time = T0 + np.rint(np.asarray(seconds) * 1e9).astype(np.int64).astype("timedelta64[ns]")
    values = columns or {"co": np.arange(len(time), dtype=float)}
    return Stream("csv", "", time, values, dict.fromkeys(values, "ppb"), rows_read=len(time), source="x.csv")


def seconds_of(one: Stream) -> list[float]:
    return ((one.time - T0) / np.timedelta64(1, "s")).tolist()


def test_one_step_back_is_undone_and_listed():
    logged = stream(np.concatenate([np.arange(200.0), 163 + np.arange(300.0)]))
    mended = undo_step_back(logged, 1.0)
    assert seconds_of(mended) == (np.arange(500.0) - 37).tolist()
    assert mended.repairs == (
        "the clock was set back by 37 s at row 201 (from 14:03:19 to 14:02:43 UTC): the 200 rows before it were"
        " shifted back by the same amount, which leaves no gap",
    )
    flight, placed = align([repair_stamps(logged, 1.0)], SUITE)
    assert np.array_equal(flight["row_time"].values, logged.time)  # rows keep the stamps of the file
    assert np.array_equal(flight["co"].values, np.arange(500.0))  # every row its own second, none averaged
    assert placed[0].repairs == mended.repairs


@pytest.mark.parametrize(
    "seconds",
    [
        np.concatenate([np.arange(900.0), 100 + np.arange(900.0)]),
        np.concatenate([np.arange(100.0), np.arange(100.0)]),
        np.concatenate([np.arange(100.0), 80 + np.arange(100.0), 150 + np.arange(100.0)]),
        np.concatenate([np.arange(100.0), 79.6 + np.arange(100.0), 150 + np.arange(100.0)]),
        np.concatenate([np.arange(0, 100, 1) + 30.0 * (np.arange(100) // 5), 650 + np.arange(100.0)]),
    ],
    ids=["far", "two records", "twice", "with a fraction", "no steady tick"],
)
def test_what_is_no_single_clear_step_is_refused(seconds):
    with pytest.raises(FlightError, match=r"x\.csv, row \d+: time steps back from .* rows have the time of earlier"):
        undo_step_back(stream(seconds), 1.0)


@pytest.mark.parametrize(
    "seconds",
    [
        np.arange(100.0),
        np.arange(100.0)[::-1],
        np.array([0, 1, 1, 2, 5, 4, 9, 12, 12, 12, 59.0]),
        np.arange(100.0) + 0.4 * (np.arange(100) % 2) - 0.3 * (np.arange(100) % 3),
        np.concatenate([np.arange(0, 5, 0.1), np.arange(10, 15, 0.1), np.arange(5, 10, 0.1)]),
        np.concatenate([500 + np.arange(100.0), np.arange(100.0)]),
        np.concatenate([np.arange(50.0), [20.2], np.arange(50.0, 90.0)]),
        np.concatenate([np.arange(100.0), 98.7 + np.arange(100.0)]),
    ],
    ids=["in order", "newest first", "jitter", "early and late", "late packets", "two sessions", "one late row", "NTP"],
)
def test_rows_that_are_only_out_of_order_stay(seconds):
    logged = stream(seconds)
    assert undo_step_back(logged, 1.0) is logged


def test_a_block_sent_again_and_sensors_in_turns_are_no_step():
    again = np.concatenate([np.arange(40.0), np.arange(30.0, 90.0)])
    logged = stream(again, co=np.sin(again))
    assert undo_step_back(logged, 1.0) is logged
    first = np.arange(100) < 50
    turns = np.concatenate([np.arange(50.0), np.arange(50.0)])
    logged = stream(turns, co=np.where(first, turns, np.nan), no=np.where(first, np.nan, turns))
    assert undo_step_back(logged, 1.0) is logged


@pytest.mark.parametrize("back", [1, 2, 3, 5, 20])
def test_no_step_back_ever_mixes_two_moments(back):
    """Row n is second n of the flight: no two rows on one stamp are further apart than the grid's step."""
    for before, after in itertools.product(range(5, 30, 4), repeat=2):
        seconds = np.concatenate([np.arange(before), before - back + np.arange(after)]).astype(float)
        with contextlib.suppress(FlightError):
            stamps = np.array(seconds_of(undo_step_back(stream(seconds), 1.0)))
            for stamp in np.unique(stamps):
                assert np.ptp(np.flatnonzero(stamps == stamp)) <= 1
