"""Streams on one regular grid in UTC: samples within a cell are averaged and counted.

The rows of a plain CSV are kept: the flight has a dimension `row` with `row_time` (UTC stamp of each row of the file),
`row_index` (its cell on the grid; rows may share one) and, where stamps were not plain UTC, `row_stamp` (text).
`flight[name][flight.row_index]` gives a value for exactly every row of the file, in the file's order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.align.channel_units import flight_names, in_suite_units
from pc2dae.align.clock_faults import LOGGED_TIME
from pc2dae.align.clocks import cut_s
from pc2dae.arrays import Array, Index, Mask
from pc2dae.errors import FlightError
from pc2dae.flags import INTERPOLATED, STALE
from pc2dae.flight.cells import MAX_NUMBERS, cell_means, grid_of, without_sentinels
from pc2dae.flight.schema import new_flight
from pc2dae.flight.stream import Stream
from pc2dae.flight.unit_checks import check_units, checked_position, in_expected_units
from pc2dae.suite import ENVIRONMENT, MOTION, Source, Suite

FILL_S = 3.0  # longest gap that may be interpolated; such samples are flagged
_ELECTRICAL = frozenset({"V", "mV", "A", "nA"})  # units of raw signals from which gas channels are computed later


@dataclass(frozen=True)
class Placed:
    """The grid cells of a stream's rows, for the ingest report."""

    key: str
    cells: Index  # of each row; −1: outside the flight
    rate_hz: float
    gaps: int  # number of gaps longer than may be interpolated
    longest_gap_s: float
    repairs: tuple[str, ...]


def align(streams: Sequence[Stream], suite: Suite, *, flight_id: str = "flight") -> tuple[xr.Dataset, list[Placed]]:
    """The flight (level raw) of streams with repaired stamps whose clocks agree, and the cells of their rows.

    Suite variables come from `suite.sources` (from a plain CSV: by name); every other column is kept as
    `<instrument>[_<unit>]_<column>`, the number of rows per cell as `…_samples`.
    """
    streams = in_suite_units(streams, suite)
    start, count, all_cells = grid_of(streams, suite.rate_hz)
    _check_size(streams, suite, count)
    on_grid = [_on_grid(stream, cells, count, suite) for stream, cells in zip(streams, all_cells, strict=True)]
    flight = new_flight(
        start + np.arange(count) * np.timedelta64(round(1e9 / suite.rate_hz), "ns"),
        {name: values for one in on_grid for name, values in one.values.items()},
        suite,
        flags={name: bits for one in on_grid for name, bits in one.flags.items()},
        flight_id=flight_id,
        history=f"aligned {len(streams)} records to {suite.rate_hz:g} Hz",
    )
    for name, attrs in ((name, attrs) for one in on_grid for name, attrs in one.attributes.items()):
        flight[name].attrs = attrs | flight[name].attrs
        flight[name].attrs.setdefault("long_name", name.replace("_", " "))
        if not flight[name].attrs.get("units"):
            flight[name].attrs["units"] = "1"
    sheets = {stream.key: stream.calibration for stream in streams if stream.calibration is not None}
    flight.attrs["calibration"] = json.dumps(sheets)
    offsets = {
        stream.key: _sampling_offset_s(stream, cells, start, suite.rate_hz)
        for stream, cells in zip(streams, all_cells, strict=True)
        if stream.instrument != "csv"
    }
    flight.attrs["sampling_offset_s"] = json.dumps(offsets)
    placed = [one.placed for one in on_grid]
    return _with_rows(flight, streams, placed), placed


def _sampling_offset_s(stream: Stream, cells: Index, start: np.datetime64, rate_hz: float) -> float:
    """Mean time of a stream's rows after the centre of their cells [s]; 0 for stamps of whole seconds."""
    inside = cells >= 0
    if cut_s(stream) > 0 or not inside.any():
        return 0.0
    since = (stream.time[inside] - start).astype(np.int64) / 1e9
    return round(float(np.mean(since - (cells[inside] + 0.5) / rate_hz)), 3)


def _check_size(streams: Sequence[Stream], suite: Suite, count: int) -> None:
    width = sum(len(s.columns) for s in streams)
    if count * (width + 2 * len(suite.names)) <= MAX_NUMBERS:
        return
    days = count / suite.rate_hz / 86400
    first, last = (min(s.time.min() for s in streams), max(s.time.max() for s in streams))
    raise FlightError(
        f"the records span {days:,.1f} days, {str(first)[:10]} to {str(last)[:10]}, at {suite.rate_hz:g} Hz in"
        f" {width} columns: too much for one flight",
        hint="name one flight's folder, remove rows whose clock was not set, or lower the suite's rate_hz",
    )


@dataclass(frozen=True)
class _OnGrid:
    """A stream on the grid: values, flags of channels and attributes by the flight's names."""

    values: dict[str, Array]
    flags: dict[str, NDArray[np.int32]]
    attributes: dict[str, dict[str, str]]
    placed: Placed


def _on_grid(stream: Stream, cells: Index, count: int, suite: Suite) -> _OnGrid:
    values: dict[str, Array] = {}
    flags: dict[str, NDArray[np.int32]] = {}
    attributes: dict[str, dict[str, str]] = {}
    repairs = list(stream.repairs)
    if (cells < 0).any():
        repairs.append(f"{int((cells < 0).sum()):,} rows before or after the record on GPS time left out")
    is_stale = stale_rows(stream)
    names = flight_names(stream, suite)
    columns, lines = _with_position(stream, names)
    repairs += lines
    for column, name in names.items():
        logged = columns[column]
        is_channel = name in suite.names
        if is_channel or stream.units.get(column) in _ELECTRICAL:
            limits = suite[name].reading_limits if is_channel else (None, None)
            logged, lines = without_sentinels(logged, *limits)  # before averaging
            repairs += [f"{name}: {line}" for line in lines]
        mean, has_fresh = cell_means(cells, logged, is_stale, count)
        if is_channel:
            check_units(suite[name], mean, source=stream.source)
            flags[name] = ((np.isfinite(mean) & ~has_fresh) * STALE).astype(np.int32)
            if stream.instrument != "csv":
                mean, bridged = bridge(mean, round(FILL_S * suite.rate_hz))
                flags[name] |= (bridged * INTERPOLATED).astype(np.int32)
        elif name in ENVIRONMENT or name in MOTION:
            mean, repair = in_expected_units(name, mean, source=stream.source)
            repairs += [repair] if repair else []
        values[name] = mean
        attributes[name] = {"instrument": stream.key}
        if not is_channel:
            attributes[name]["units"] = stream.units.get(column, "1")
    if stream.instrument != "csv":
        samples = Source(stream.instrument, stream.unit, "samples").variable()
        values[samples] = np.bincount(cells[cells >= 0], minlength=count).astype(np.int16)
        attributes[samples] = {"long_name": f"rows of {stream.key} in this cell", "units": "1"}
    return _OnGrid(values, flags, attributes, _placed(stream, cells, suite.rate_hz, tuple(repairs)))


def _with_position(stream: Stream, names: Mapping[str, str]) -> tuple[dict[str, Array], list[str]]:
    """The columns of a stream, its position checked where it is the flight's, and a line for each repair."""
    by_name = {name: column for column, name in names.items()}
    if not {"latitude", "longitude"} <= set(by_name):
        return stream.columns, []
    north, east = by_name["latitude"], by_name["longitude"]
    latitude, longitude, lines = checked_position(stream.columns[north], stream.columns[east], source=stream.source)
    return stream.columns | {north: latitude, east: longitude}, lines


def stale_rows(stream: Stream) -> Mask:
    """Rows that repeat the previous one in every output, for sensors whose resolution is too fine for chance."""
    fine = [v for v in stream.columns.values() if np.any(np.mod(v[np.isfinite(v)], 1.0) != 0)]
    if stream.instrument == "csv" or len(fine) < 2:
        return np.zeros(len(stream.time), dtype=bool)
    return stream.repeats


def bridge(values: Array, longest: int) -> tuple[Array, Mask]:
    """Linear interpolation over gaps of at most `longest` cells, and a mask of the interpolated cells."""
    missing = ~np.isfinite(values)
    good = np.flatnonzero(~missing)
    if not missing.any() or not len(good) or longest < 1:
        return values, np.zeros(len(values), dtype=bool)
    at = np.arange(len(values))
    right = np.searchsorted(good, at)
    inside = missing & (right > 0) & (right < len(good))
    length = good[np.minimum(right, len(good) - 1)] - good[np.maximum(right - 1, 0)] - 1
    bridged = inside & (length <= longest)
    return np.where(bridged, np.interp(at, good, values[good]), values), bridged


def _placed(stream: Stream, cells: Index, rate_hz: float, repairs: tuple[str, ...]) -> Placed:
    steps = np.diff(np.sort(stream.time)).astype(np.int64) / 1e9
    typical = float(np.median(steps[steps > 0])) if (steps > 0).any() else float("nan")
    gaps = steps[steps > max(FILL_S, 3 * typical)] if np.isfinite(typical) else steps[:0]
    backwards = int((np.diff(stream.time) < np.timedelta64(0)).sum())
    listed = list(repairs)
    if backwards and backwards < 0.5 * len(steps):
        listed.append(f"time steps back {backwards:,} times: rows sorted")
    elif backwards:
        listed.append("rows are in reverse order: sorted")
    twice = int((steps == 0).sum())
    if twice and typical >= 0.5:
        listed.append(f"{twice:,} rows with the time stamp of another row: averaged within the cell")
    return Placed(
        stream.key,
        cells,
        1 / typical if typical else float("nan"),
        len(gaps),
        float(gaps.max()) if len(gaps) else 0.0,
        tuple(listed),
    )


def _with_rows(flight: xr.Dataset, streams: Sequence[Stream], placed: Sequence[Placed]) -> xr.Dataset:
    """The flight with the rows of the one plain CSV it came from."""
    if len(streams) != 1 or streams[0].instrument != "csv" or streams[0].notes.get("is_thinned"):
        return flight
    stream = streams[0]
    flight["row_index"] = (
        "row",
        placed[0].cells,
        {"long_name": "cell on the grid of each row of the original file", "units": "1"},
    )
    flight["row_time"] = (
        "row",
        stream.notes.get(LOGGED_TIME, stream.time).astype("datetime64[ns]"),
        {"long_name": "time stamp of each row of the original file, UTC"},
    )
    stamps = stream.notes.get("stamp")
    if stamps is not None:
        flight["row_stamp"] = (
            "row",
            np.asarray(stamps, dtype=str).astype(object),
            {"long_name": "time stamp as the original file has it"},
        )
    return flight
