"""Conversion of cells to numbers; invalid cells become missing and are counted.

The decimal sign is decided for each column from all rows of its file (`decimal_signs`): `150,629` is 150.629 beside
`18,60` and 150629 beside `12.5`. If it remains ambiguous, the file is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array, Mask
from pc2dae.errors import LogError
from pc2dae.logs.cells import Cells, Characters, different

_MISSING = ("", "na", "n/a", "nan", "null", "none", "-", "--", "#n/a", "-nan", "nan(ind)", "?")
_GROUPED = re.compile(
    r"[-+]?\d{1,3}([\xa0\u2009\u202f'’]\d{3})+([.,]\d*)?", re.ASCII
)  # a blank may separate two numbers
_NUMBER = {
    ".": re.compile(r"[-+]?([1-9]\d{0,2}(,\d{3})+(\.\d*)?|(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)", re.ASCII),
    ",": re.compile(r"[-+]?([1-9]\d{0,2}(\.\d{3})+(,\d*)?|(\d+,?\d*|,\d+)([eE][-+]?\d+)?)", re.ASCII),
}  # by decimal sign; the other sign may separate thousands
_OTHER = {".": ",", ",": "."}
_INFINITE = re.compile(r"[-+]?inf(inity)?", re.IGNORECASE)
_GROUPS = re.compile(r"\D?\d{1,3}([.,]\d{3}){2}", re.ASCII)
_SHORT = re.compile(r"[-+]?[1-9]\d{0,2}", re.ASCII)
_EXACT_DIGITS = 15  # up to which an integer and its quotient by a power of ten are rounded once, as `float` does
_IN_FLOATS = np.isin(np.arange(256), list(b"0123456789+-.eE\0"))
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

    def weigh(self, cells: Cells, at: NDArray[np.int64]) -> None:
        """Add the evidence of some cells, of which only the pattern matters: where there are digits, and zeros."""
        matrix = cells.matrix()
        is_digit = (matrix >= ord("1")) & (matrix <= ord("9"))
        shapes, rows, each = different(np.where(is_digit, np.uint8(ord("1")), matrix))
        counts = np.bincount(each)
        for shape in np.argsort(rows).tolist():
            text, _ = _ungrouped(shapes[shape].strip())
            shown = int(at[rows[shape]]), _ungrouped(cells[rows[shape]].strip())[0]
            fits = [sign for sign, pattern in _NUMBER.items() if pattern.fullmatch(text)]
            for sign in fits:
                if len(fits) == 1:
                    self.counts[sign] += int(counts[shape])
                    self.first.setdefault(sign, shown)
                elif sign in text:
                    self.unclear_counts[sign] += int(counts[shape])
                    self.unclear.setdefault(sign, shown)
            self.has_groups |= _GROUPS.match(text) is not None
            self.has_short |= _SHORT.fullmatch(text) is not None

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


def numbers(cells: Cells, at: NDArray[np.int64], *, name: str, sign: str | None, counts: Numbers) -> Array:
    """A text column as float64, NaN if not a finite number; `at` are line numbers for the list of repairs.

    Without a decimal `sign` (yet) it is the point, and a number with a comma raises `UndecidedSigns`.
    """
    matrix = cells.stripped().matrix()
    values, is_read, has_sign = _plain(matrix, sign or ".")
    has_comma = has_sign & (sign == ",")
    is_grouped, is_bad = np.zeros((2, len(cells)), dtype=bool)
    rest = np.flatnonzero(~is_read)
    if len(rest):
        texts, _, each = different(matrix[rest])
        found = np.array([_one(text, sign) for text in texts])[each]
        values[rest] = found[:, 0]
        is_grouped[rest], has_comma[rest], is_bad[rest] = found[:, 1:].T.astype(bool)
    counts.add(name, "thousands separators removed", is_grouped, at)
    counts.add(name, "decimal commas read as points", has_comma, at)
    if is_bad.any():
        shown = _ungrouped(cells[int(np.argmax(is_bad))].strip())[0][:30]
        counts.add(name, "cells that are not numbers taken as missing", is_bad, at, f", like '{shown}'")
    infinite = np.isinf(values)
    counts.add(name, "infinite values taken as missing", infinite, at)
    values[infinite] = np.nan
    return values


def _plain(matrix: Characters, decimal: str) -> tuple[Array, Mask, Mask]:
    """Numbers without exponent or separators of thousands; which cells are such, or empty; which have the decimal sign.

    Numbers with exponent or more digits are included if the sign is the point.
    """
    characters = np.ascontiguousarray(matrix.T)
    digits = characters - np.uint8(ord("0"))
    is_digit, is_sign = digits < 10, characters == ord(decimal)
    values = np.zeros(len(matrix))
    for digit, known in zip(digits, is_digit, strict=True):
        values = np.where(known, values * 10.0 + digit, values)
    length, count, signs = (_sum(where) for where in (characters != 0, is_digit, is_sign))
    behind = _sum(is_sign * np.arange(1, len(characters) + 1, dtype=np.uint8)[:, None])
    places = np.where(signs == 1, length - behind, 0)
    is_negative = characters[0] == ord("-")
    is_signed = is_negative | (characters[0] == ord("+"))
    is_read = (count + signs + is_signed == length) & (signs < 2) & (count > 0) & (count <= _EXACT_DIGITS)
    values /= np.power(10.0, np.arange(len(characters)))[places]
    np.negative(values, out=values, where=is_negative)
    values[~is_read] = np.nan
    is_read |= length == 0
    long = np.flatnonzero(~is_read & (decimal == "."))
    long = long[_IN_FLOATS[matrix[long]].all(axis=1)]
    if len(long):
        try:
            values[long] = matrix[long].view(f"S{matrix.shape[1]}").ravel().astype(np.float64)
            is_read[long] = True
        except ValueError:  # some of them are not numbers: read one by one
            values[long] = np.nan
    return values, is_read, signs > 0


def _sum(where: Mask | NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.asarray(where.view(np.uint8).sum(axis=0, dtype=np.uint8))


def _one(cell: str, sign: str | None) -> tuple[float, bool, bool, bool]:
    """The value of a cell; whether it has separators of thousands, has a decimal comma, is not a number."""
    if cell.strip().lower() in _MISSING:
        return np.nan, False, False, False
    text, is_grouped = _ungrouped(cell.strip())
    fits = {s: pattern.fullmatch(text) is not None for s, pattern in _NUMBER.items()}
    if sign is None and ("," in text if fits["."] else fits[","]):
        raise UndecidedSigns
    decimal = sign or "."
    if fits[decimal]:
        value = float(text.replace(_OTHER[decimal], "").replace(decimal, "."))
        return value, is_grouped or _OTHER[decimal] in text, decimal == "," and "," in text, False
    is_infinite = _INFINITE.fullmatch(text) is not None
    return float(text) if is_infinite else np.nan, is_grouped, False, not is_infinite


def _ungrouped(text: str) -> tuple[str, bool]:
    """A cell without narrow blanks and apostrophes between thousands, and whether it had them."""
    is_grouped = _GROUPED.fullmatch(text) is not None
    return re.sub(r"[^-+\d.,]", "", text) if is_grouped else text, is_grouped
