"""A clock that was set back while it recorded: two moments with one stamp are never averaged.

Rows that only come late (stamps out of order, none of them twice), a block sent again and columns that share no row are
no such step. One clear step is undone: a clock is set because it was wrong, so the rows after it keep their stamps, and
those before are moved back until the record goes on without a gap. Everything else is refused.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array
from pc2dae.errors import FlightError
from pc2dae.flight.stream import Stream

LARGEST_S = 600.0  # a step beyond is no correction of a running clock: a zone, a second record, a restart
_LEAST_ROWS = 2  # per step with the time of an earlier row; a single one may just be late
_REGULAR = 0.95  # share of steps up to three typical ones, where the record can be expected to have no gap


def undo_step_back(stream: Stream, rate_hz: float) -> Stream:
    """The stream with one step back of its clock undone and listed; the same stream where there is none."""
    seconds = stream.time.astype(np.int64) / 1e9
    steps = np.diff(seconds)
    if not (steps < 0).any() or np.median(steps) < 0:  # newest row first: no clock runs like that
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
            f"{stream.source}, row {first + 1:,}: time goes back from {old} to {new} UTC, and {number:,} rows have the"
            " time of other rows: the clock was set back, or two records are in one file",
            hint="split the file there, or correct the stamps of one part",
        )
    time = stream.time.copy()
    time[:first] -= np.timedelta64(round(size * 1e9), "ns")
    line = (
        f"the clock was set back by {size:,.0f} s in row {first + 1:,} (from {old} to {new} UTC):"
        f" the {first:,} rows before are moved back by as much, so that no time is missing between"
    )
    return replace(stream, time=time, repairs=(*stream.repairs, line))


def _rows_twice(stream: Stream, seconds: Array, back: NDArray[np.int64], typical: float) -> int:
    """How many rows after a step back lie on or beside rows before it, measure the same and differ."""
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
