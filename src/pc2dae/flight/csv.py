"""Flights as plain CSV: `time`, the columns of each channel (see `channel_schema`), then position and environment."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from pc2dae.arrays import Array
from pc2dae.channel_schema import CHANNEL_VARIABLES
from pc2dae.errors import FlightError, nearest
from pc2dae.flight.conform import conform, without_lost_rows
from pc2dae.flight.schema import add_history, new_flight, suite_of
from pc2dae.flight.track import iso_stamps
from pc2dae.suite import ENVIRONMENT, MOTION, Suite, load_suite, presets

_FORMULA = re.compile(r"'*[=+\-@\t\r]")  # including leading apostrophes, so that guarding is reversible
_COLUMNS = [variable for variable in CHANNEL_VARIABLES if variable.in_csv]
_LONGEST_HEAD = 100_000  # characters: below the field size limit of the csv module
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def write_csv(flight: xr.Dataset, path: Path) -> None:
    """Write a flight: the rows of its original file with their stamps, if the flight has them; else its grid.

    Numbers are the shortest that read back exactly; a missing value is an empty cell.
    """
    suite = suite_of(flight)
    names = [variable.of(name) for name in suite.names for variable in _COLUMNS]
    names = [name for name in (*names, *MOTION, *ENVIRONMENT) if name in flight]
    flight = without_lost_rows(flight, suite.rate_hz)
    rows = flight["row_index"].values if "row_index" in flight else np.arange(flight.sizes["time"])
    table = {"time": _stamps(flight)} | {name: flight[name].values[rows] for name in names}
    guarded(pd.DataFrame(table)).to_csv(path, index=False, lineterminator="\n")


def read_csv(path: Path, suite: Suite | None = None) -> xr.Dataset:
    """The flight of a CSV that `write_csv` wrote; without a suite, the preset whose channels are in its header.

    If the rows are not a regular grid, they are regridded and kept as rows, as in `align`.
    """
    table, is_cut = _cells(path)
    columns = [str(column) for column in table.columns]
    if "time" not in columns:
        raise FlightError(f"{path.name} has no column 'time'", hint=nearest("time", columns))
    suite = suite if suite is not None else _fitting(columns, path.name)
    stamps = table["time"].map(unguarded).to_numpy(dtype=object)
    time = _parsed(stamps, path.name)
    estimated = {v.of(n) for n in suite.names for v in _COLUMNS if v.by == "denoise"}.intersection(columns)
    numbers = {v.of(n) for n in suite.names for v in _COLUMNS if v.units != "1"} | {*ENVIRONMENT, *MOTION}
    known = [n for n in columns if n in numbers]
    values = {name: _numbers(table[name], path.name) for name in known}
    flags = {n: _flags(table[f"qc_{n}"], path.name) for n in suite.names if f"qc_{n}" in columns}
    level = "denoised" if estimated else "screened" if flags else "raw"
    flight = new_flight(time, values, suite, flags=flags, flight_id=path.stem, level=level, history=f"read {path.name}")
    if is_cut:
        flight = add_history(flight, f"last line of {path.name} left out: it is incomplete")
    rows = {"row_index": ("row", np.arange(len(time))), "row_time": ("row", time), "row_stamp": ("row", stamps)}
    on_grid = conform(flight.assign(rows), in_order=False)
    is_plain = np.array_equal(on_grid["time"].values, time) and np.array_equal(_stamps(flight), stamps)
    return on_grid.drop_vars(list(rows)) if is_plain else on_grid


def has_flags(path: Path) -> bool:
    """Whether a CSV has the columns `time` and `qc_<name>` of a flight."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        head = next(csv.reader([file.readline(_LONGEST_HEAD)]), [])
    return "time" in head and bool(_flagged(head))


def is_flight_table(header: list[str]) -> bool:
    """Whether a table has the columns that `write_csv` writes and no others."""
    channels = _flagged(header)
    known = {"time", *MOTION, *ENVIRONMENT, *channels, *(f"qc_{name}" for name in channels)}
    beside = tuple(f"{name}_" for name in channels)
    return bool(channels) and header[0] == "time" and all(n in known or n.startswith(beside) for n in header)


def _flagged(header: list[str]) -> list[str]:
    return [name[3:] for name in header if name.startswith("qc_") and name[3:] in header]


def _cells(path: Path) -> tuple[pd.DataFrame, bool]:
    """The cells of a table as text, without an incomplete last line; and whether there was one."""
    data = path.read_bytes()
    is_cut = not data.endswith((b"\n", b"\r"))
    whole = data[: max(data.rfind(b"\n"), data.rfind(b"\r")) + 1] if is_cut else data
    try:
        text = whole.decode("utf-8-sig")
        rows = csv.reader(io.StringIO(text, newline=""))
        head = next(rows, [])
        short = next((rows.line_num for row in rows if row and len(row) != len(head)), None)
        if short is not None:
            raise ValueError(f"line {short:,} has a different number of cells than the header")
        table = pd.read_csv(io.StringIO(text, newline=""), dtype=str, keep_default_na=False)
    except (ValueError, csv.Error, pd.errors.ParserError) as error:
        why = " ".join(str(error).split())
        raise FlightError(f"{path.name} is not a flight's CSV ({why})", hint="is the file complete?") from None
    return table, is_cut


def guarded(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before text that a spreadsheet would interpret as a formula."""
    texts = {name: column.map(_guarded) for name, column in table.items() if not is_numeric_dtype(column)}
    return table.assign(**{str(name): column for name, column in texts.items()}).rename(columns=_guarded)


def _guarded(cell: object) -> object:
    is_formula = isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def unguarded(cell: str) -> str:
    """The text that `guarded` wrote as `cell`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _parsed(stamps: NDArray[np.object_], where: str) -> NDArray[np.datetime64]:
    """Stamps in UTC."""
    time = pd.to_datetime(pd.Series(stamps), format="ISO8601", utc=True, errors="coerce").dt.tz_localize(None)
    if time.isna().any():
        row = int(np.argmax(time.isna()))
        raise FlightError(
            f"{where}, line {row + 2:,}: '{str(stamps[row])[:30]}' is not an ISO 8601 time stamp",
            hint="run `pc2dae ingest` on the original file",
        )
    return np.asarray(time.to_numpy("datetime64[ns]"))


def _numbers(column: pd.Series[str], where: str) -> Array:
    """A column's numbers, NaN for empty cells."""
    found = pd.to_numeric(column.mask(column == ""), errors="coerce").to_numpy(np.float64)
    odd = np.isnan(found) & ~column.str.lower().isin(["", "nan"]).to_numpy()
    if odd.any():
        row = int(np.argmax(odd))
        raise FlightError(
            f"{where}, line {row + 2:,}: '{str(column.iloc[row])[:30]}' in column '{column.name}' is not a number",
            hint="is the file complete?",
        )
    return np.asarray(found)


def _flags(column: pd.Series[str], where: str) -> NDArray[np.int32]:
    found = _numbers(column, where)
    odd = ~((found >= 0) & (found <= np.iinfo(np.int32).max) & (found == np.floor(found)))
    if odd.any():
        row = int(np.argmax(odd))
        raise FlightError(
            f"{where}, line {row + 2:,}: '{column.iloc[row]}' in column '{column.name}' is not a flag",
            hint="is the file complete?",
        )
    return found.astype(np.int32)


def _fitting(columns: list[str], where: str) -> Suite:
    for preset in presets():
        suite = load_suite(preset)
        families = [f.name for f in suite.family if all(channel.name in columns for channel in f.channel)]
        if families:
            return suite.only(families)
    raise FlightError(f"{where} does not name its suite", hint="pass --suite")


def _stamps(flight: xr.Dataset) -> NDArray[np.str_]:
    """Stamps as text: as in the original file if kept, else ISO 8601 in UTC with the necessary precision."""
    if {"row_index", "row_stamp"} <= {*flight.variables}:
        return np.asarray(flight["row_stamp"].values, dtype=str)
    return iso_stamps(flight["row_time" if "row_index" in flight else "time"].values.astype("datetime64[ns]"))
