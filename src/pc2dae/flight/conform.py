"""Converts flights written or modified by other tools to the units and grid of their suite.

If rows have a regular rate below the suite's, they are kept and the suite's rate is lowered. Otherwise, rows off the
grid are regridded: rows within a cell are averaged, cells without a row are missing.
"""

from __future__ import annotations

import json

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.arrays import Array, Index, Mask
from pc2dae.errors import FlightError
from pc2dae.flags import MISSING, NOT_MEASURED
from pc2dae.flight.cells import MAX_NUMBERS, cell_means, grid_of, longest_gap_s, without_sentinels
from pc2dae.flight.conditions import converted_to_suite
from pc2dae.flight.schema import add_history, check_flight, check_time, check_variables, is_regular, level_of, suite_of
from pc2dae.flight.stream import Stream
from pc2dae.sentinels import describe
from pc2dae.suite import Suite

_STEADY = 0.1  # largest relative deviation of a step from the median, …
_STEADY_SHARE = 0.9  # … for this share of the steps


def conform(flight: xr.Dataset, *, in_order: bool = True) -> xr.Dataset:
    """The flight in the units and on the grid of its suite, with all changes in its history; or an error.

    Without `in_order`, rows may come in any order and share stamps.
    """
    suite = suite_of(flight)
    check_time(flight, in_order=in_order)
    level_of(flight)
    _check_attributes(flight)
    flight = _with_whole_flags(flight, suite)
    check_variables(flight, suite)
    flight = _on_grid(converted_to_suite(flight, suite), suite)
    check_flight(flight)
    return flight


def _check_attributes(flight: xr.Dataset) -> None:
    """Refuse invalid attributes."""
    for key in ("history", "calibration"):
        if not isinstance(flight.attrs.get(key, ""), str):
            raise FlightError(f"the flight's attribute '{key}' is not text", hint="is the file complete?")
    try:
        sheets = json.loads(flight.attrs.get("calibration", "{}"))
    except ValueError:
        sheets = None
    if not isinstance(sheets, dict) or not all(isinstance(sheet, dict) for sheet in sheets.values()):
        raise FlightError(
            "the flight's attribute 'calibration' is not the JSON of calibration sheets", hint="is the file complete?"
        )


def _with_whole_flags(flight: xr.Dataset, suite: Suite) -> xr.Dataset:
    """The flight with flags as integers, where other tools have stored them as floats with NaN for missing."""
    whole: dict[str, xr.Variable] = {}
    for name in suite.names:
        qc = flight.variables.get(f"qc_{name}")
        if qc is not None and qc.dtype.kind == "f":
            bits = np.where(np.isnan(qc.values), MISSING, qc.values)
            odd = ~((bits >= 0) & (bits <= np.iinfo(np.int32).max) & (bits == np.floor(bits)))
            if odd.any():
                raise FlightError(
                    f"'qc_{name}' holds {bits[odd][0]:g}, which is not a sum of flags",
                    hint="do not average flags: lower the suite's rate_hz instead, and rows are averaged on its grid",
                )
            whole[f"qc_{name}"] = xr.Variable(qc.dims, bits.astype(np.int32), qc.attrs)
    return flight.assign(whole) if whole else flight


def _on_grid(flight: xr.Dataset, suite: Suite) -> xr.Dataset:
    """The flight on the grid of its suite, or at its own rate if that is regular and lower."""
    flight = without_lost_rows(flight, suite.rate_hz)
    time = flight.variables["time"].values.astype("datetime64[ns]")
    if is_regular(time, suite.rate_hz):
        return flight
    ordered = np.sort(time)
    step_s = _steady_step_s(ordered)
    if step_s is not None and step_s * suite.rate_hz > 1.5:
        line = f"rows {step_s:g} s apart: rate_hz of suite '{suite.name}' lowered from {suite.rate_hz:g} to"
        suite = suite.model_copy(update={"rate_hz": 1 / step_s})
        flight = flight.assign_attrs(suite=suite.model_dump_json(exclude_defaults=True))
        flight = add_history(flight, f"{line} {suite.rate_hz:g}")
        if is_regular(time, suite.rate_hz):
            return flight
    _check_gaps(ordered, suite.rate_hz)
    return _regridded(flight, suite)


def _steady_step_s(ordered: NDArray[np.datetime64]) -> float | None:
    """The median time between rows [s], rounded to whole seconds if close; None if irregular."""
    steps = np.diff(ordered).astype(np.int64) / 1e9
    usual = float(np.median(steps))
    if usual <= 0 or np.mean(np.abs(steps / usual - 1) <= _STEADY) < _STEADY_SHARE:
        return None
    whole = round(usual)
    return float(whole) if whole and abs(usual / whole - 1) < 1e-3 else usual


def _check_gaps(ordered: NDArray[np.datetime64], rate_hz: float) -> None:
    """Refuse a dataset with rows that are days apart, which cannot be one flight."""
    gaps = np.diff(ordered).astype(np.int64) / 1e9
    if gaps.max() > longest_gap_s(rate_hz):
        at = int(np.argmax(gaps))
        before, after = (str(stamp.astype("datetime64[s]")) for stamp in ordered[at : at + 2])
        raise FlightError(
            f"nothing was recorded from {before} to {after} UTC ({gaps[at] / 86400:,.1f} days): several flights",
            hint=f"split it there, as in flight.sel(time=slice(None, '{before}'))",
        )


def _regridded(flight: xr.Dataset, suite: Suite) -> xr.Dataset:
    """The flight with its rows in the cells of a grid at the suite's rate."""
    time = flight.variables["time"].values.astype("datetime64[ns]")
    start, count, (cells,) = grid_of([Stream("csv", "", time, {}, {})], suite.rate_hz)
    if count * len(flight.variables) > MAX_NUMBERS:
        raise FlightError(
            f"{count:,} cells at {suite.rate_hz:g} Hz in {len(flight.variables)} variables: too much for one flight",
            hint="split it into several flights, or lower the suite's rate_hz",
        )
    flight, lines = _without_sentinels(flight, suite) if level_of(flight) == "raw" else (flight, [])
    rejected = _rejected(flight, suite)
    over_time = {str(n): v for n, v in flight.variables.items() if "time" in v.dims and n != "time"}
    left_out = sorted(name for name, variable in over_time.items() if variable.dtype.kind not in "fiu")
    found = {
        name: _in_cells(name, variable, cells, count, rejected.get(name))
        for name, variable in over_time.items()
        if name not in left_out
    }
    for name in suite.names:
        empty = np.isnan(found[f"{name}_raw" if f"{name}_raw" in found else name].values)
        found[f"qc_{name}"].values[empty] |= MISSING
    step = np.timedelta64(round(1e9 / suite.rate_hz), "ns")
    stamps = xr.Variable("time", start + np.arange(count) * step, flight.variables["time"].attrs)
    others = flight.drop_vars([*over_time, "time"])
    grid = others.assign_coords(time=stamps).assign(found).set_coords([n for n in flight.coords if n in found])
    filled = len(np.unique(cells))
    lines.append(
        f"{len(cells):,} rows averaged onto a grid of {suite.rate_hz:g} Hz: {filled:,} of {count:,} cells filled"
    )
    lines += [f"not on the grid, dropped: {', '.join(left_out)}"] if left_out else []
    for line in lines:
        grid = add_history(grid, line)
    if "row_index" in grid:
        grid["row_index"] = grid["row_index"].copy(data=cells[grid["row_index"].values])
    return grid


def _without_sentinels(flight: xr.Dataset, suite: Suite) -> tuple[xr.Dataset, list[str]]:
    """The flight with sentinels replaced by NaN before averaging, and a line for each kind."""
    cleared, lines = {}, []
    for channel in suite.channels:
        variable = flight[channel.name].variable
        logged = np.asarray(variable.values, dtype=np.float64)
        named = np.isin(logged, suite.missing)
        values, described = without_sentinels(np.where(named, np.nan, logged), *channel.reading_limits)
        cleared[channel.name] = xr.Variable(variable.dims, values, variable.attrs)
        lines += [f"{channel.name}: {line}" for line in (*describe(logged[named]), *described)]
    return flight.assign(cleared), lines


def _rejected(flight: xr.Dataset, suite: Suite) -> dict[str, Mask]:
    """By variable, the rows flagged as not measured, which are used only if their cell has no others."""
    found: dict[str, Mask] = {}
    for name in suite.names:
        measured = f"{name}_raw" if f"{name}_raw" in flight else name
        found[measured] = found[f"qc_{name}"] = (flight.variables[f"qc_{name}"].values & NOT_MEASURED) != 0
    return found


def _in_cells(name: str, variable: xr.Variable, cells: Index, count: int, rejected: Mask | None) -> xr.Variable:
    """A variable over time on a grid of `count` cells: flags combined by OR, counts summed, all others averaged."""
    values = np.moveaxis(variable.values, variable.dims.index("time"), 0)
    dims = ("time", *(dim for dim in variable.dims if dim != "time"))
    if name.startswith("qc_") and values.ndim == 1 and values.dtype.kind in "iu":
        used = np.ones(len(cells), dtype=bool)
        if rejected is not None:
            used = ~rejected | ~np.isin(cells, cells[~rejected])
        bits = np.zeros(count, dtype=np.int32)
        np.bitwise_or.at(bits, cells[used], values[used].astype(np.int32))
        return xr.Variable(dims, bits, variable.attrs)
    columns = values.reshape(len(values), -1).astype(np.float64)
    if name.endswith("_samples") and values.dtype.kind in "iu":
        sums = [np.bincount(cells, column, minlength=count).astype(values.dtype) for column in columns.T]
        return xr.Variable(dims, np.stack(sums, axis=1).reshape(count, *values.shape[1:]), variable.attrs)
    aside = rejected if rejected is not None else np.zeros(len(cells), dtype=bool)
    means = [_means_within(cells, column, aside, count) for column in columns.T]
    kept = values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)
    mean = np.stack(means, axis=1).reshape(count, *values.shape[1:]) if means else np.empty((count, *values.shape[1:]))
    return xr.Variable(dims, mean.astype(kept), variable.attrs)


def _means_within(cells: Index, values: Array, aside: Mask, count: int) -> Array:
    """Cell means, clipped to the range of their rows: the mean of equal values is exactly that value."""
    low, high = np.full(count, np.nan), np.full(count, np.nan)
    np.fmin.at(low, cells, values)
    np.fmax.at(high, cells, values)
    return np.clip(cell_means(cells, values, aside, count)[0], low, high)


def without_lost_rows(flight: xr.Dataset, rate_hz: float) -> xr.Dataset:
    """The flight without the rows of its original file, if these no longer match its cells."""
    if "row_index" not in flight or _has_its_rows(flight, rate_hz):
        return flight
    lost = [name for name in ("row_index", "row_time", "row_stamp") if name in flight]
    return add_history(flight.drop_vars(lost), "rows of the original file dropped: the flight was trimmed or modified")


def _has_its_rows(flight: xr.Dataset, rate_hz: float) -> bool:
    """Whether rows match their cells, except a few with a lost clock, and the last row is in the last cell."""
    index, stamps, time = flight["row_index"], flight.get("row_time"), flight.variables["time"].values
    if index.ndim != 1 or "time" in index.dims or index.dtype.kind not in "iu" or index.size == 0:
        return False
    if stamps is None or any(flight[name].dims != index.dims for name in ("row_time", "row_stamp") if name in flight):
        return False
    if stamps.dtype.kind != "M" or index.values.min() < 0 or index.values.max() != len(time) - 1:
        return False
    within = 2 * np.timedelta64(round(1e9 / rate_hz), "ns")
    return bool(np.mean(np.abs(stamps.values - time[index.values]) <= within) > 0.9)
