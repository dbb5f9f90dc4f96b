"""Cells as numbers: what is no number becomes missing and is counted."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pc2dae.flight.stream import Array

_MISSING = ("", "na", "n/a", "nan", "null", "none", "-", "--", "#n/a", "-nan", "nan(ind)", "?")
_NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
_THOUSANDS = r"^[-+]?\d{1,3}(,\d{3})+(\.\d+)?$"
_DECIMAL_COMMA = r"^[-+]?\d{1,3}(\.\d{3})*(,\d+)?$|^[-+]?\d*,\d+([eE][-+]?\d+)?$"


@dataclass
class Numbers:
    """What had to be mended, by column and kind: how often, and first on which line."""

    found: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    example: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, name: str, kind: str, where: NDArray[np.bool_], at: NDArray[np.int64], example: str = "") -> None:
        """Count a kind of repair."""
        if where.any():
            count, line = self.found.get((name, kind), (0, int(at[int(np.argmax(where))])))
            self.found[name, kind] = (count + int(where.sum()), line)
            self.example.setdefault((name, kind), example)

    def listed(self) -> list[str]:
        """One line per repair."""
        return [
            f"column '{name}': {count:,} {kind}{self.example[name, kind]} (first: line {line:,})"
            for (name, kind), (count, line) in self.found.items()
        ]


def numbers(cells: pa.Array, at: NDArray[np.int64], *, name: str, separator: str, counts: Numbers) -> Array:
    """A text column as float64, NaN where there is no finite number; `at` are line numbers for the list of repairs."""
    try:
        values = _floats(pc.if_else(pc.equal(cells, ""), pa.scalar(None, pa.string()), cells).cast(pa.float64()))
    except pa.ArrowInvalid:
        values = _careful(cells, at, name=name, separator=separator, counts=counts)
    infinite = np.isinf(values)
    if infinite.any():
        counts.add(name, "infinite values taken as missing", infinite, at)
        values = np.where(infinite, np.nan, values)
    return values


def _floats(cells: pa.Array) -> Array:
    return np.array(cells.to_numpy(zero_copy_only=False), dtype=np.float64)


def _careful(cells: pa.Array, at: NDArray[np.int64], *, name: str, separator: str, counts: Numbers) -> Array:
    text = pc.utf8_trim_whitespace(cells)
    absent = pc.is_in(pc.utf8_lower(text), value_set=pa.array(_MISSING))
    none = pa.scalar(None, pa.string())
    text = pc.if_else(absent, none, text)
    has_comma = pc.fill_null(pc.match_substring(text, ","), False)
    if pc.any(has_comma).as_py():
        with_comma = np.asarray(has_comma)
        pattern = _DECIMAL_COMMA if separator == ";" and not _both(text) else _THOUSANDS
        fits = pc.fill_null(pc.match_substring_regex(text, pattern), False)
        if pattern == _THOUSANDS:
            mended, kind = pc.replace_substring(text, ",", ""), "thousands separators removed"
        else:
            mended, kind = (
                pc.replace_substring(pc.replace_substring(text, ".", ""), ",", "."),
                "decimal commas read as points",
            )
        text = pc.if_else(pc.and_(has_comma, fits), mended, text)
        counts.add(name, kind, with_comma & np.asarray(fits), at)
    is_number = pc.or_(
        pc.match_substring_regex(text, _NUMBER), pc.match_substring_regex(text, r"(?i)^[-+]?inf(inity)?$")
    )
    bad = ~np.asarray(pc.fill_null(is_number, True))
    if bad.any():
        shown = str(text[int(np.argmax(bad))])[:30]
        counts.add(name, "cells that are no number taken as missing", bad, at, f", like '{shown}'")
    return _floats(pc.if_else(pc.fill_null(is_number, False), text, none).cast(pa.float64()))


def _both(text: pa.Array) -> bool:
    """Points after commas somewhere ("1,234.5"): then the comma is the thousands separator even between semicolons."""
    return bool(pc.any(pc.match_substring_regex(text, r",\d{3}\.\d")).as_py())
