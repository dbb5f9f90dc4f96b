"""The cells of a regular grid: the cell of each row, cell means, and the size limit of a flight."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array, Index, Mask
from pc2dae.flight.stream import Stream
from pc2dae.sentinels import describe, find_sentinels

MAX_NUMBERS = 60_000_000  # cells × variables of a flight
SLACK_S = 15.0  # a record may extend this far beyond the one on GPS time because of clock errors
EARLY = 0.05  # [cells] a sample this close before its cell belongs to it
LONGEST_GAP_S = 12 * 3600.0  # a live stream ends a flight after an hour; a file may pause for longer
_LEAST_CELLS = 3600  # a slow record may pause longer: this many empty cells are acceptable


def longest_gap_s(rate_hz: float) -> float:
    """The longest pause [s] within a flight on a grid of `rate_hz`."""
    return max(LONGEST_GAP_S, _LEAST_CELLS / rate_hz)


def grid_of(streams: Sequence[Stream], rate_hz: float) -> tuple[np.datetime64, int, list[Index]]:
    """First cell, number of cells and each row's cell: of all records, trimmed slightly to the one on GPS time."""
    step = round(1e9 / rate_hz)
    whole = min(step, 1_000_000_000)  # slow grids begin with their first sample, not with a round minute
    begin = min(int(s.time.min().astype("datetime64[ns]").astype(np.int64)) for s in streams)
    start = np.datetime64(int(begin + EARLY * whole) // whole * whole, "ns")
    cells = [cells_of(s.time, start, rate_hz) for s in streams]
    first, last = min(int(c.min()) for c in cells), max(int(c.max()) for c in cells)
    gps = [c for c, s in zip(cells, streams, strict=True) if s.clock == "gps"]
    if gps:
        slack = SLACK_S * rate_hz
        earliest, latest = min(int(c.min()) for c in gps), max(int(c.max()) for c in gps)
        first = earliest if earliest - slack <= first else first
        last = latest if latest + slack >= last else last
    inside = [np.where((c < first) | (c > last), -1, c - first) for c in cells]
    return np.datetime64(int(start.astype(np.int64)) + first * step, "ns"), last - first + 1, inside


def cells_of(time: NDArray[np.datetime64], start: np.datetime64, rate_hz: float) -> Index:
    """The cell of each row; rows sampled at the grid's rate are first rounded to regular ticks against jitter."""
    since = (time - start).astype(np.int64) * (rate_hz / 1e9)
    steps = np.diff(since)
    if len(since) > 2 and abs(float(np.median(steps)) - 1.0) < 0.2:
        turn = np.exp(2j * np.pi * since[:: max(len(since) // 100_000, 1)])
        mean = turn.mean()
        if abs(mean) > 0.8:
            phase = float(np.angle(mean)) / (2 * np.pi) % 1.0
            return np.asarray(np.floor(np.round(since - phase) + phase + EARLY), dtype=np.int64)
    return np.asarray(np.floor(since + EARLY), dtype=np.int64)


def cell_means(cells: Index, values: Array, is_stale: Mask, count: int) -> tuple[Array, Mask]:
    """Mean of each cell's fresh rows (of stale ones if there are no others), and which cells have a fresh row."""
    finite = np.isfinite(values) & (cells >= 0)
    fresh = finite & ~is_stale
    number = np.bincount(cells[fresh], minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(cells[fresh], values[fresh], minlength=count) / number
        old = finite & is_stale
        if old.any():
            old_number = np.bincount(cells[old], minlength=count)
            mean = np.where(number > 0, mean, np.bincount(cells[old], values[old], minlength=count) / old_number)
    return mean, number > 0


def without_sentinels(values: Array, valid_min: float | None, valid_max: float | None) -> tuple[Array, list[str]]:
    """A column with NaN for its sentinels, and a line for each kind."""
    low, high = -np.inf if valid_min is None else valid_min, np.inf if valid_max is None else valid_max
    found = find_sentinels(values, (values >= low) & (values <= high))
    return (np.where(found, np.nan, values), describe(values[found])) if found.any() else (values, [])
