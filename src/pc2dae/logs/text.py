"""The contents of a text table (numeric columns and stamps), and how its lines are split into cells."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array
from pc2dae.logs.files import LogFile

_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Stamps:
    """The time format of a file, if not ISO 8601."""

    format: str | None = None  # strftime
    epoch: str = "1970-01-01"  # of stamps that count seconds
    order: str | None = None  # "dmy" or "mdy", if known from the instrument
    date: date | None = None  # of the first row, where stamps are times of day
    more: tuple[str, ...] = ()  # additional time stamp columns


@dataclass
class LogTable:
    """The usable rows of a file, as numbers under the file's own column names."""

    file: LogFile
    header: list[str]
    time: NDArray[np.datetime64]  # as stamped, UTC if `is_zoned`
    is_zoned: bool  # the stamps include Z or an offset
    numbers: dict[str, Array]
    texts: dict[str, list[str]]  # distinct values of text columns, in order of appearance
    rows_read: int
    more: dict[str, NDArray[np.datetime64]]  # additional time stamps
    repairs: list[str] = field(default_factory=list)
    preamble: list[str] = field(default_factory=list)  # lines before the header
    stamp_texts: NDArray[np.bytes_] | None = None  # the original text of the stamps, if requested
    is_thinned: bool = False  # rows are means over grid cells, not the file's rows


def cut(line: str, delimiter: str) -> list[str]:
    """The cells of one line, quotes removed."""
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter))
    except (csv.Error, StopIteration):
        return line.split(delimiter)


def delimiter_of(line: str, following: Sequence[str] = ()) -> str:
    """The delimiter that gives header and following lines the same number of cells, preferring more cells."""
    counts = {d: len(cut(line, d)) for d in _DELIMITERS}
    agreeing = {
        d: n for d, n in counts.items() if n > 1 and all(len(cut(f, d)) in (n, n + 1) for f in following if f.strip())
    }
    best = agreeing or counts
    return max(best, key=lambda d: best[d])


def clean_names(cells: Sequence[str]) -> list[str]:
    """Column names without byte order mark and outer blanks."""
    return [cell.replace("\ufeff", "").replace("\0", "").strip() for cell in cells]
