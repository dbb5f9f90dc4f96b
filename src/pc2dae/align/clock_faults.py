"""Faults of an instrument's clock, repaired once before anything is aligned: lost for some rows, or set back.

A lost clock stamps a few rows far from the others: they are placed by their neighbours in the file. After a clock
was set back, two times have the same stamp and must not be averaged. Rows that are merely out of order, a block sent
twice and columns that share no row are not such a step. A single clear step is corrected: a clock is set because it was
wrong, so the rows after the step keep their stamps, and those before it are shifted back until there is no gap. Any
other step is an error.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array, Mask
from pc2dae.errors import FlightError
from pc2dae.flight.stream import Stream

LOGGED_TIME = "logged_time"  # key in a stream's notes: its stamps before repair
LARGEST_S = 600.0  # a larger step does not correct a running clock: it is a time zone, a second record or a restart
_LEAST_ROWS = 2  # rows per step with the time of an earlier row; a single one may just be late
_REGULAR = 0.95  # share of steps up to three times the typical one from which no gap is expected in a record


def repair_stamps(stream: Stream, rate_hz: float) -> Stream:
    """The stream with lost rows placed and a step back corrected; `notes` keep the logged stamps if it was repaired."""
    repaired = undo_step_back(place_lost_rows(stream, rate_hz), rate_hz)
    return stream if repaired is stream else replace(repaired, notes=stream.notes | {LOGGED_TIME: stream.time})


def place_lost_rows(stream: Stream, rate_hz: float) -> Stream:
    """Rows whose clock was lost (stamp far off, and out of order or a month away) placed by their neighbours."""
    seconds = stream.time.astype(np.int64) / 1e9
    lost = _is_lost(seconds)
    if not lost.any():
        return stream
    good, rows = np.flatnonzero(~lost), np.flatnonzero(lost)
    step = float(np.median(np.diff(seconds[good]))) if len(good) > 1 else 1.0 / rate_hz
    step = step if step > 0 else 1.0 / rate_hz
    before = good[np.maximum(np.searchsorted(good, rows) - 1, 0)]  # else extrapolated from the first good row
    guess = seconds[before] + (rows - before) * step
    time = stream.time.copy()
    first = str(time[rows[0]])[:19]
    time[rows] = np.rint(guess * 1e6).astype(np.int64).astype("datetime64[us]").astype("datetime64[ns]")
    line = f"{len(rows):,} rows with a lost clock (first: {first}) placed by their neighbours in the file"
    return replace(stream, time=time, repairs=(*stream.repairs, line))


def _is_lost(seconds: Array) -> Mask:
    """Rows in small groups, an hour or more from the largest one, that are out of order or a month away from it."""
    lost = np.zeros(len(seconds), dtype=bool)
    order = np.argsort(seconds, kind="stable")
    jumps = np.flatnonzero(np.diff(seconds[order]) > 3600.0)
    if not len(jumps):
        return lost
    cluster = np.empty(len(seconds), dtype=np.int64)
    cluster[order] = np.searchsorted(jumps, np.arange(len(seconds)), side="left")
    sizes = np.bincount(cluster)
    home = int(np.argmax(sizes))
    others = np.flatnonzero(cluster == home)
    for number in range(len(sizes)):
        rows = np.flatnonzero(cluster == number)
        if number == home or len(rows) > max(0.01 * len(seconds), 3):
            continue
        in_order = (rows[-1] < others[0] and number < home) or (rows[0] > others[-1] and number > home)
        far = abs(np.median(seconds[rows]) - np.median(seconds[others])) > 30 * 86400
        lost[rows] = not in_order or far
    return lost


def undo_step_back(stream: Stream, rate_hz: float) -> Stream:
    """The stream with one step back of its clock corrected and reported; unchanged if there is none."""
    seconds = stream.time.astype(np.int64) / 1e9
    steps = np.diff(seconds)
    if not (steps < 0).any() or np.median(steps) < 0:  # rows in reverse order are not a clock fault
        return stream
    typical = float(np.median(steps[steps > 0])) if (steps > 0).any() else 1.0 / rate_hz
    back = np.flatnonzero(steps < -0.5 * max(typical, 1.0 / rate_hz)) + 1
    if not len(back):
        return stream
    number = _rows_twice(stream, seconds, back, typical)
    if number < _LEAST_ROWS * len(back):
        return stream
    first = int(back[0])
    old, new = (str(stream.time[row].astype("datetime64[s]"))[11:] for row in (first - 1, first))
    size = float(seconds[first - 1] - seconds[first]) + typical
    is_regular = float(np.mean(np.delete(steps, back - 1) <= 3 * typical)) >= _REGULAR
    if len(back) > 1 or size > LARGEST_S or seconds[first] <= seconds[0] or not is_regular:
        raise FlightError(
            f"{stream.source}, row {first + 1:,}: time steps back from {old} to {new} UTC, and {number:,} rows have the"
            " time of earlier rows: the clock was set back, or the file holds two records",
            hint="split the file there, or correct the stamps of one part",
        )
    time = stream.time.copy()
    time[:first] -= np.timedelta64(round(size * 1e9), "ns")
    line = (
        f"the clock was set back by {size:,.0f} s at row {first + 1:,} (from {old} to {new} UTC):"
        f" the {first:,} rows before it were shifted back by the same amount, which leaves no gap"
    )
    return replace(stream, time=time, repairs=(*stream.repairs, line))


def _rows_twice(stream: Stream, seconds: Array, back: NDArray[np.int64], typical: float) -> int:
    """Number of rows after a step back at or next to the time of earlier ones, with shared columns, not duplicates."""
    import pandas as pd

    run = np.zeros(len(seconds), dtype=np.int64)
    run[back] = 1
    run = np.cumsum(run)
    is_new = ~pd.DataFrame({"": seconds} | stream.columns).duplicated().to_numpy()
    order = np.flatnonzero(is_new)[np.argsort(seconds[is_new], kind="stable")]
    left, right = order[:-1], order[1:]
    pairs = (run[left] != run[right]) & (seconds[right] - seconds[left] <= 0.5 * typical)
    left, right = left[pairs], right[pairs]
    shared = np.zeros(len(left), dtype=bool)
    for values in stream.columns.values():
        shared |= np.isfinite(values[left]) & np.isfinite(values[right])
    return int(shared.sum())
