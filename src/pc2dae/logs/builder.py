"""Converts lines to columns, block by block: complete rows are kept, all others are reported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array
from pc2dae.errors import LogError, nearest
from pc2dae.logs.cells import Cells, columns, joined
from pc2dae.logs.files import Lines, LogFile
from pc2dae.logs.numbers import Numbers, SignEvidence, numbers
from pc2dae.logs.stamps import StampParser, Times
from pc2dae.logs.text import LogTable, Stamps, cut

_UNEVEN = "rows with too few or too many cells"
MAX_STAMPS = 2_000_000  # rows up to which the text of the stamps is kept
MAX_NUMBERS = 16_000_000  # rows × columns held at once, 128 MB: more than any flight


@dataclass(frozen=True)
class Layout:
    """The layout of a table, known before its first row."""

    file: LogFile
    names: list[str]
    header_line: str
    separator: str
    time: list[str]
    wanted: list[str]
    texts: list[str]
    stamps: Stamps
    comment: str | None
    keep_stamps: bool  # as text, one per row
    thin_s: float | None  # average to cells of this length while reading
    signs: Mapping[str, str] | None  # decimal sign of each wanted column; None until one is ambiguous


class Builder:
    """Builds a table block by block."""

    def __init__(self, layout: Layout, repairs: list[str]) -> None:
        self.layout, self.repairs = layout, repairs
        counts, where = Counter(layout.names), layout.file.name
        for name in (*layout.time, *layout.wanted):
            if name not in counts:
                raise LogError(f"{where}: there is no column '{name}'", hint=nearest(name, [n for n in counts if n]))
            if counts[name] > 1:
                raise LogError(f"{where}: {counts[name]} columns are named '{name}'", hint="give each its own name")
        how = layout.stamps
        self.stamps = StampParser(where, how.format, epoch=how.epoch, order=how.order, date=how.date)
        self.more_stamps = {name: StampParser(where, order=how.order) for name in how.more if name in counts}
        self.index = {name: layout.names.index(name) for name in counts}
        self.parts: list[dict[str, Array]] = []
        self.more: list[dict[str, Times]] = []
        self.times: list[Times] = []
        self.texts: dict[str, dict[str, None]] = {name: {} for name in layout.texts if name in counts}
        self.rows = self.kept = self.before_thinning = 0
        self.first_cell = np.iinfo(np.int64).max
        self.held: tuple[Times, dict[str, Array]] | None = None  # rows of a cell that may continue in the next block
        self.dropped: dict[str, tuple[int, int]] = {}  # reason → count, first line
        self.cells = Numbers()
        self.stamp_texts: list[NDArray[np.bytes_]] | None = [] if layout.keep_stamps and layout.thin_s is None else None
        self.recent: list[str] = []  # the last cells of complete rows, to compare an incomplete one with

    def add(self, piece: Lines) -> None:
        """Add lines."""
        rows, at = self._complete_rows(piece)
        if not len(at):
            return
        layout, index = self.layout, self.index
        is_doubted = piece.is_cut and not self._is_whole(piece.text, rows[-1][0].strip())  # such a piece is one line
        if is_doubted and layout.names[-1] in (*layout.time, *self.more_stamps):
            self._drop("incomplete last line", int(at[-1]))
            return
        stamp = joined([rows[index[name]] for name in layout.time])
        times = self.stamps.parse(stamp, at)
        signs = layout.signs or {}
        part = {n: numbers(rows[index[n]], at, name=n, sign=signs.get(n), counts=self.cells) for n in layout.wanted}
        for name in self.texts:
            self.texts[name].update(dict.fromkeys(rows[index[name]].texts()))
        if is_doubted and layout.names[-1] in part:
            part[layout.names[-1]][-1] = np.nan
            self.repairs.append(
                f"the file ends without a line end (line {at[-1]:,}): the last cell '{rows[-1][0].strip()}' may be"
                " truncated: not used"
            )
        more = {name: parser.parse(rows[index[name]], at) for name, parser in self.more_stamps.items()}
        good = ~np.isnat(times)
        for line in at[~good].tolist():
            self._drop("rows whose time stamp cannot be read", line)
        self.more.append({name: stamps[good] for name, stamps in more.items()})
        if self.stamp_texts is not None:
            self.stamp_texts.append(stamp.array()[good])
        if layout.thin_s is not None:
            self._check_order(_cells(times[good], layout.thin_s), times[good], at[good])
        self._keep(times[good], {name: values[good] for name, values in part.items()})
        self.recent = [*self.recent, *rows[-1].texts(slice(-50, None))][-50:]

    def _keep(self, times: Times, part: dict[str, Array], *, is_last: bool = False) -> None:
        if self.layout.thin_s is not None:
            self.before_thinning += len(times)
            if self.held is not None:
                times = np.concatenate([self.held[0], times])
                part = {name: np.concatenate([self.held[1][name], values]) for name, values in part.items()}
            cells = _cells(times, self.layout.thin_s)
            open_end = np.zeros(len(cells), bool) if is_last or not len(cells) else cells == cells[-1]
            self.held = (times[open_end], {name: values[open_end] for name, values in part.items()})
            times, part = _thinned(cells[~open_end], {n: v[~open_end] for n, v in part.items()}, self.layout.thin_s)
        self.times.append(times)
        self.parts.append(part)
        self.kept += len(times)
        if self.kept > MAX_STAMPS:
            self.stamp_texts = None
        if self.kept * (len(self.layout.wanted) + 1) > MAX_NUMBERS:
            width = f"{len(self.layout.wanted)} column" + "s" * (len(self.layout.wanted) != 1)
            said = f"more than {self.kept:,} rows with {width} are too much for one flight"
            raise LogError(f"{self.layout.file.name}: {said}", hint="split the file by day")

    def _check_order(self, cells: NDArray[np.int64], times: Times, at: NDArray[np.int64]) -> None:
        """Refuse to average rows of different moments: those after a step back of the clock with those before."""
        steps = np.diff(cells)
        self.first_cell = min(self.first_cell, int(cells[0])) if len(cells) else self.first_cell
        back = (steps < -1) & (cells[1:] >= self.first_cell)
        if back.any() and np.median(steps) >= 0:
            row = int(np.argmax(back)) + 1
            old, new = (str(t.astype("datetime64[s]")).replace("T", " ") for t in times[row - 1 : row + 1])
            raise LogError(
                f"{self.layout.file.name}, line {int(at[row]):,}: time steps back from {old} to {new}, and a file of"
                " this size is averaged while it is read",
                hint="sort the rows by time, or split the file there",
            )

    def _complete_rows(self, piece: Lines) -> tuple[list[Cells], NDArray[np.int64]]:
        """The columns of the complete lines, and their line numbers; the other lines are reported."""
        layout, wanted = self.layout, len(self.layout.names)
        if (found := self._plain_columns(piece)) is not None:
            self.rows += len(found[0])
            return found, np.arange(piece.first, piece.first + len(found[0]))
        rows, at = [], []
        for number, line in enumerate(piece.texts, piece.first):
            if not line or line.isspace() or (layout.comment is not None and line.startswith(layout.comment)):
                continue
            self.rows += 1
            if "\0" in line:
                self._drop("lines with zero bytes (power loss)", number)
            elif line == layout.header_line:
                self._drop("repeated header lines", number)
            elif not self._is_complete(line):
                self._drop("incomplete last line" if piece.is_cut else _UNEVEN, number)
            else:
                rows.append(line)
                at.append(number)
        found = columns("\n".join(rows), layout.separator, wanted) if rows else []
        if found is None:
            found = [Cells.of(cells) for cells in zip(*(cut(row, layout.separator) for row in rows), strict=True)]
        return found, np.array(at, dtype=np.int64)

    def _is_complete(self, line: str) -> bool:
        separator, wanted = self.layout.separator, len(self.layout.names)
        if '"' not in line:
            return line.count(separator) == wanted - 1
        if line.count('"') % 2 or len(cut(line, separator)) != wanted:
            return False
        if len(cut(line + separator, separator)) == wanted:
            raise LogError(f"{self.layout.file.name}: quotes are not closed between lines", hint="repair the quotes")
        return True

    def _plain_columns(self, piece: Lines) -> list[Cells] | None:
        """The columns if all lines are whole rows without comments or damage, so that none needs a closer look."""
        layout, text = self.layout, piece.text
        unusual = ("\0", *filter(None, (layout.comment, layout.header_line)))
        if piece.is_cut or len(layout.names) == 1 or any(mark in text for mark in unusual):
            return None
        found = columns(text, layout.separator, len(layout.names))
        may_be_blank = found is not None and layout.separator.isspace() and found[0].begin_blank().any()
        return None if may_be_blank else found

    def weigh(self, piece: Lines, evidence: Mapping[str, SignEvidence]) -> None:
        """Collect evidence for the columns' decimal signs from lines, without adding them."""
        rows, at = self._complete_rows(piece)
        if len(at):
            for name, found in evidence.items():
                found.weigh(rows[self.layout.names.index(name)], at)

    def _is_whole(self, line: str, last: str) -> bool:
        """Whether the last cell of an unterminated line is certainly complete.

        It is if it is quoted; or a stamp without fraction in the format of all previous ones; or a number padded to the
        same number of decimals as all previous ones (shown by a trailing zero: 12.50, never 12.5) with no more digits.
        """
        if line.endswith('"'):
            return True
        recent = [text.strip() for text in self.recent]
        if self.layout.names[-1] not in self.layout.wanted:
            return "." not in last and {_shape(text) for text in recent} == {_shape(last)}
        sign = (self.layout.signs or {}).get(self.layout.names[-1], ".")
        decimals = {len(text.partition(sign)[2]) for text in recent}
        is_padded = len(decimals) == 1 and min(decimals) > 1 and any(text.endswith("0") for text in recent)
        return is_padded and _shape(last) in {_shape(text) for text in recent}

    def _drop(self, why: str, line: int) -> None:
        count, first = self.dropped.get(why, (0, line))
        self.dropped[why] = (count + 1, first)

    def table(self, preamble: list[str]) -> LogTable:
        """All blocks as one table."""
        layout = self.layout
        if self.held is not None:
            self._keep(self.held[0][:0], {name: values[:0] for name, values in self.held[1].items()}, is_last=True)
        if not self.kept:
            why = "; ".join(f"{why}: {count}" for why, (count, _) in self.dropped.items())
            raise LogError(
                f"{layout.file.name}: no row can be used" + (f" ({why})" if why else " (there is only a header)")
            )
        uneven, first = self.dropped.get(_UNEVEN, (0, 0))
        if uneven > self.rows / 2:
            raise LogError(
                f"{layout.file.name}, line {first:,}: {uneven:,} of {self.rows:,} rows do not have the"
                f" {len(layout.names)} cells that the header names",
                hint="correct the line with the column names",
            )
        for why, (count, first) in self.dropped.items():
            self.repairs.append(f"{count:,} {why} left out (first: line {first:,})")
        if layout.thin_s is not None:
            averaged = f"{self.before_thinning:,} rows averaged to {self.kept:,} cells while reading"
            self.repairs.append(f"a very large file: {averaged}, the rows themselves are not kept")
        self.stamps.check()
        self.repairs += self.cells.listed() + self.stamps.listed()
        # Column by column, to avoid a second copy of all data.
        values = {name: np.concatenate([part.pop(name) for part in self.parts]) for name in layout.wanted}
        return LogTable(
            file=layout.file,
            header=layout.names,
            time=np.concatenate(self.times),
            is_zoned=bool(self.stamps.is_zoned),
            numbers=values,
            texts={name: list(values) for name, values in self.texts.items()},
            rows_read=self.rows,
            more={name: np.concatenate([part[name] for part in self.more]) for name in self.more_stamps},
            repairs=self.repairs,
            preamble=preamble,
            stamp_texts=np.concatenate(self.stamp_texts) if self.stamp_texts else None,
            is_thinned=layout.thin_s is not None,
        )


def _shape(text: str) -> str:
    return re.sub(r"\d", "0", text)


def _cells(times: Times, cell_s: float) -> NDArray[np.int64]:
    return np.asarray(times.astype(np.int64) // round(cell_s * 1e9), dtype=np.int64)


def _thinned(cells: NDArray[np.int64], part: dict[str, Array], cell_s: float) -> tuple[Times, dict[str, Array]]:
    """Means of the values of each cell, stamped with its beginning."""
    kept, place = np.unique(cells, return_inverse=True)
    means = {}
    for name, values in part.items():
        good = np.isfinite(values)
        number = np.bincount(place[good], minlength=len(kept))
        total = np.bincount(place[good], values[good], minlength=len(kept))
        means[name] = np.where(number > 0, total / np.maximum(number, 1), np.nan)
    return (kept * round(cell_s * 1e9)).astype("datetime64[ns]"), means
