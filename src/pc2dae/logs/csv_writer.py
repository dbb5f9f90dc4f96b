"""Formatting of numbers and time stamps as cells of a log."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array
from pc2dae.atomic import write_text
from pc2dae.flight.stream import Stream


def cells(values: Array, decimals: int, *, missing: str = "") -> list[str]:
    """Each number with `decimals` places, `missing` for NaN."""
    return [f"{v:.{decimals}f}" if v == v else missing for v in np.asarray(values, dtype=np.float64).tolist()]


def column(stream: Stream, name: str, *, default: float = np.nan) -> Array:
    """A column of the stream, or an array of `default` if the stream has no such column."""
    found = stream.columns.get(name)
    return np.full(len(stream.time), default) if found is None else np.asarray(found, dtype=np.float64)


def local_time(stream: Stream) -> NDArray[np.datetime64]:
    """The stream's stamps on the wall clock of its zone, `notes["utc_offset_min"]` [min] east of UTC."""
    local = stream.time.astype("datetime64[ns]") + np.timedelta64(utc_offset_min(stream), "m")
    return np.asarray(local, dtype="datetime64[ns]")


def utc_offset_min(stream: Stream) -> int:
    """Minutes east of UTC of the clock the instrument writes."""
    return int(stream.notes.get("utc_offset_min", 0))


def iso(time: NDArray[np.datetime64], unit: Literal["s", "ms"]) -> list[str]:
    """Stamps as ISO 8601 text, truncated (as a logger does) to whole seconds or milliseconds."""
    return [str(text) for text in np.datetime_as_string(time, unit=unit)]


def zone_text(minutes: int) -> str:
    """An offset as text: -420 → "-07:00"."""
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def write_table(path: str | PathLike[str], header: Sequence[str], columns: Sequence[Iterable[str]], *,
                preamble: str = "", quoted: bool = False, line_end: str = "\n") -> None:  # fmt: skip
    """Write a comma-separated table atomically."""
    text = io.StringIO(newline="")
    text.write(preamble)
    writer = csv.writer(text, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL, lineterminator=line_end)
    writer.writerow(header)
    writer.writerows(zip(*columns, strict=True))
    write_text(path, text.getvalue())
