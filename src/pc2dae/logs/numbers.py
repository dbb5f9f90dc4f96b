"""Conversion of cells to numbers; invalid cells become missing and are counted.

The decimal sign is decided for each column from all rows of its file (`decimal_signs`): `150,629` is 150.629 beside
`18,60` and 150629 beside `12.5`. If it remains ambiguous, the file is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pc2dae.arrays import Array, Mask
from pc2dae.errors import LogError

_MISSING = ("", "na", "n/a", "nan", "null", "none", "-", "--", "#n/a", "-nan", "nan(ind)", "?")
_GROUPED = r"^[-+]?\d{1,3}([\x{a0}\x{2009}\x{202f}'’]\d{3})+([.,]\d*)?$"  # no plain blank: it may separate two numbers
_NUMBER = {
    ".": r"^[-+]?([1-9]\d{0,2}(,\d{3})+(\.\d*)?|(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)$",
    ",": r"^[-+]?([1-9]\d{0,2}(\.\d{3})+(,\d*)?|(\d+,?\d*|,\d+)([eE][-+]?\d+)?)$",
}  # by decimal sign; the other sign may separate thousands
_STRAY = 0.01  # up to this share, cells with the other sign are damaged, not another number format
_WEAK = 0.05  # unambiguous cells decide how `1.234` is read if they are at least this share of the ambiguous ones
_HINT = "write all numbers with a decimal point and without thousands separators"


class UndecidedSigns(Exception):
    """A cell holds a comma, and the decimal signs of the file's columns have not been decided yet."""


@dataclass
class Numbers:
    """Repairs by column and kind: count and first line."""

    found: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    example: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, name: str, kind: str, where: Mask, at: NDArray[np.int64], example: str = "") -> None:
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


@dataclass
class SignEvidence:
    """Evidence from the cells of one column for its decimal sign."""

    counts: dict[str, int] = field(default_factory=lambda: {".": 0, ",": 0})  # unambiguous cells
    first: dict[str, tuple[int, str]] = field(default_factory=dict)  # of these: line and cell
    unclear: dict[str, tuple[int, str]] = field(default_factory=dict)  # by sign: the first such as `150,629`
    unclear_counts: dict[str, int] = field(default_factory=lambda: {".": 0, ",": 0})
    has_groups: bool = False  # `1,234,567`: a sign that occurs twice separates thousands
    has_short: bool = False  # integers below 1000, as occur beside `1.234` if points separate thousands

    def weigh(self, cells: pa.Array, at: NDArray[np.int64]) -> None:
        """Add the evidence of some cells."""
        text = _ungrouped(pc.utf8_trim_whitespace(cells))[0]
        fits = {sign: np.asarray(pc.match_substring_regex(text, pattern)) for sign, pattern in _NUMBER.items()}
        for sign, other in ((".", ","), (",", ".")):
            sure = fits[sign] & ~fits[other]
            unclear = fits["."] & fits[","] & np.asarray(pc.match_substring(text, sign))
            self.counts[sign] += int(sure.sum())
            self.unclear_counts[sign] += int(unclear.sum())
            for where, found in ((sure, self.first), (unclear, self.unclear)):
                if where.any():
                    row = int(np.argmax(where))
                    found.setdefault(sign, (int(at[row]), str(text[row])))
        self.has_groups |= bool(pc.any(pc.match_substring_regex(text, r"^\D?\d{1,3}([.,]\d{3}){2}")).as_py())
        self.has_short |= bool(pc.any(pc.match_substring_regex(text, r"^[-+]?[1-9]\d{0,2}$")).as_py())

    def sign(self) -> str | None:
        """The sign shown by the column's own cells; None if they show none or both."""
        point, comma = self.counts["."], self.counts[","]
        if min(point, comma) > _STRAY * max(point, comma) or not point + comma:
            return None
        shown = "." if point > comma else ","
        return shown if self.has_groups or not self.is_weak else None

    @property
    def is_weak(self) -> bool:
        """Whether unambiguous cells are so few relative to ambiguous ones that they may be damaged."""
        shown, other = (".", ",") if self.counts["."] > self.counts[","] else (",", ".")
        return self.counts[shown] <= _WEAK * self.unclear_counts[other]


def decimal_signs(
    evidence: Mapping[str, SignEvidence], wanted: Sequence[str], *, file: str, separator: str
) -> dict[str, str]:
    """The decimal sign of each wanted column: by its own cells, else by the other columns, else by the separator."""
    signs: dict[str, str] = {}
    shown = [
        {c.sign() for name, c in evidence.items() if (name in wanted) == is_wanted and not c.is_weak} - {None}
        for is_wanted in (True, False)
    ]
    in_file = next((found for found in shown if found), {","} if separator == ";" else set())
    for name in wanted:
        column = evidence[name]
        seen = [*column.first.values(), *(column.unclear[sign] for sign in column.unclear if sign not in column.first)]
        is_file_clear = len(in_file) == 1 and len(column.first) < 2
        if column.sign() is None and column.first and not is_file_clear:
            (line, cell), (other_line, other) = sorted(seen, reverse=True)[:2]
            raise LogError(
                f"{file}, line {line:,}: column '{name}' has '{cell}', but '{other}' in line {other_line:,}:"
                " decimal point and decimal comma",
                hint=_HINT,
            )
        by_file = next(iter(in_file)) if len(in_file) == 1 else None
        sign = (by_file if column.is_weak else None) or column.sign() or by_file
        with_points_only = "." in column.unclear and "," not in column.unclear
        is_clear = sign is not None or "," not in column.unclear
        if with_points_only and sign == ",":
            is_clear = column.has_short
        if column.sign() is None and not is_clear:
            line, cell = column.unclear.get(",") or column.unclear["."]
            whole, _, decimals = cell.replace(",", ".").partition(".")
            raise LogError(
                f"{file}, line {line:,}: '{cell}' in column '{name}' may be {whole}.{decimals} or {whole}{decimals},"
                " and no other number shows which",
                hint=_HINT,
            )
        signs[name] = sign or "."
    return signs


def numbers(cells: pa.Array, at: NDArray[np.int64], *, name: str, sign: str | None, counts: Numbers) -> Array:
    """A text column as float64, NaN if not a finite number; `at` are line numbers for the list of repairs.

    Without a decimal `sign` (yet) it is the point, and a number with a comma raises `UndecidedSigns`.
    """
    values = _plain(cells) if sign != "," else None
    if values is None:
        values = _careful(cells, at, name=name, sign=sign, counts=counts)
    infinite = np.isinf(values)
    if infinite.any():
        counts.add(name, "infinite values taken as missing", infinite, at)
        values = np.where(infinite, np.nan, values)
    return values


def _plain(cells: pa.Array) -> Array | None:
    """The column if every cell is empty or a number with a decimal point, else None."""
    try:
        return _floats(pc.if_else(pc.equal(cells, ""), pa.scalar(None, pa.string()), cells).cast(pa.float64()))
    except pa.ArrowInvalid:
        return None


def _floats(cells: pa.Array) -> Array:
    return np.array(cells.to_numpy(zero_copy_only=False), dtype=np.float64)


def _careful(cells: pa.Array, at: NDArray[np.int64], *, name: str, sign: str | None, counts: Numbers) -> Array:
    text = pc.utf8_trim_whitespace(cells)
    absent = pc.is_in(pc.utf8_lower(text), value_set=pa.array(_MISSING))
    text, grouped = _ungrouped(pc.if_else(absent, "", text))
    fits = {s: pc.match_substring_regex(text, pattern) for s, pattern in _NUMBER.items()}
    has_comma = pc.match_substring(text, ",")
    if sign is None and pc.any(pc.or_(pc.and_(fits["."], has_comma), pc.and_not(fits[","], fits["."]))).as_py():
        raise UndecidedSigns
    decimal = sign or "."
    group = "." if decimal == "," else ","
    is_number = fits[decimal]
    grouped |= np.asarray(pc.and_(is_number, pc.match_substring(text, group)))
    counts.add(name, "thousands separators removed", grouped, at)
    if decimal == ",":
        counts.add(name, "decimal commas read as points", np.asarray(pc.and_(is_number, has_comma)), at)
    plain = pc.replace_substring(pc.replace_substring(text, group, ""), decimal, ".")
    infinite = pc.match_substring_regex(text, r"(?i)^[-+]?inf(inity)?$")
    bad = ~np.asarray(pc.or_(pc.or_(is_number, infinite), pc.equal(text, "")))
    if bad.any():
        shown = str(text[int(np.argmax(bad))])[:30]
        counts.add(name, "cells that are not numbers taken as missing", bad, at, f", like '{shown}'")
    return _floats(pc.if_else(pc.or_(is_number, infinite), plain, pa.scalar(None, pa.string())).cast(pa.float64()))


def _ungrouped(text: pa.Array) -> tuple[pa.Array, Mask]:
    """Cells with narrow blanks and apostrophes between thousands removed, and which cells had them."""
    grouped = pc.match_substring_regex(text, _GROUPED)
    return pc.if_else(grouped, pc.replace_substring_regex(text, r"[^-+\d.,]", ""), text), np.array(grouped)
