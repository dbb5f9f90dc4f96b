"""Tables of text as numbers and stamps, block by block: nothing is guessed silently, every repair is listed."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from pc2dae.errors import LogError, nearest
from pc2dae.flight.stream import Array
from pc2dae.logs.files import Lines, LogFile, lines
from pc2dae.logs.numbers import Numbers, numbers
from pc2dae.logs.stamps import StampParser

MAX_STAMPS = 2_000_000  # rows up to which the text of the stamps is kept
MAX_NUMBERS = 30_000_000  # rows × columns held at once, 240 MB: more is no flight
_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Stamps:
    """How a file writes its time, where that is not ISO 8601."""

    format: str | None = None  # strftime
    epoch: str = "1970-01-01"  # of stamps that count seconds
    order: str | None = None  # "dmy" or "mdy" where the instrument is known for it
    more: tuple[str, ...] = ()  # further columns of stamps


@dataclass
class Table:
    """The rows of a file that could be used, as numbers under the file's own column names."""

    file: LogFile
    header: list[str]
    time: NDArray[np.datetime64]  # as stamped, UTC if `is_zoned`
    is_zoned: bool  # the stamps carry Z or an offset
    numbers: dict[str, Array]
    texts: dict[str, list[str]]  # distinct values of text columns, in order of appearance
    rows_read: int
    more: dict[str, NDArray[np.datetime64]]  # further stamps
    repairs: list[str] = field(default_factory=list)
    preamble: list[str] = field(default_factory=list)  # lines before the header
    stamp_texts: pa.Array | None = None  # the stamps as they stand in the file, where asked for


def cut(line: str, delimiter: str) -> list[str]:
    """The cells of one line, quotes removed."""
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter))
    except (csv.Error, StopIteration):
        return line.split(delimiter)


def delimiter_of(line: str, following: Sequence[str] = ()) -> str:
    """The delimiter under which the header and the lines after it have the same number of cells, most cells first."""
    counts = {d: len(cut(line, d)) for d in _DELIMITERS}
    agreeing = {d: n for d, n in counts.items() if n > 1 and all(len(cut(f, d)) in (n, n + 1) for f in following if f.strip())}
    best = agreeing or counts
    return max(best, key=lambda d: best[d])


def clean_names(cells: Sequence[str]) -> list[str]:
    """Column names without byte order mark and outer blanks."""
    return [cell.replace("\ufeff", "").replace("\0", "").strip() for cell in cells]


def read_table(
    file: LogFile,
    *,
    is_header: Callable[[str], bool],
    time: Sequence[str] | Callable[[list[str]], Sequence[str]],
    wanted: Callable[[list[str]], Sequence[str]],
    texts: Sequence[str] = (),
    stamps: Stamps = Stamps(),
    header: Sequence[str] | None = None,
    skip: int = 0,
    comment: str | None = None,
    keep_stamps: bool = False,
) -> Table:
    """Read a table whose header line `is_header` knows (or whose columns are given as `header`, after `skip` lines).

    `time` names the column(s) of the stamp, joined by a blank; `wanted` picks the number columns from the header.
    """
    builder: _Builder | None = None
    repairs: list[str] = []
    preamble: list[str] = []
    looked = 0
    for piece in lines(file, repairs):
        texts_left, first = piece.texts, piece.first
        if builder is None:
            at = _header_at(texts_left, is_header) if header is None else max(skip - first + 1, 0)
            looked += len(texts_left)
            if at is None or at >= len(texts_left):
                preamble += texts_left[:200]
                if looked > 2000:
                    break
                continue
            preamble += texts_left[:at]
            sample = [t for t in texts_left[at + 1 : at + 30] if t.strip() and not _is_comment(t, comment)][:5]
            if header is None:
                separator = delimiter_of(texts_left[at], sample)
                names, line = clean_names(cut(texts_left[at], separator)), texts_left[at]
                at += 1
            else:
                separator, names, line = delimiter_of(texts_left[at], sample), list(header), ""
            names = _named_rows(names, [cut(t, separator) for t in sample])
            columns = time if not callable(time) else time(names)
            builder = _Builder(file, names, line, separator, columns, wanted(names), texts, stamps, comment, repairs, keep_stamps)
            texts_left, first = texts_left[at:], first + at
        builder.add(Lines(first, texts_left, piece.is_cut))
    if builder is None:
        raise LogError(f"{file.name}: no line with column names was found", hint="is the file complete?")
    return builder.table(preamble)


def _is_comment(line: str, comment: str | None) -> bool:
    return comment is not None and line.startswith(comment)


def _header_at(texts: list[str], is_header: Callable[[str], bool]) -> int | None:
    return next((i for i, text in enumerate(texts) if is_header(text)), None)


def _named_rows(names: list[str], sample: list[list[str]]) -> list[str]:
    """The header, longer by one where every row is: row names in front (as R writes them) or a delimiter at the end."""
    if sample and all(len(row) == len(names) + 1 for row in sample):
        return [*names, ""] if all(not row[-1].strip() for row in sample) else ["", *names]
    return names


class _Builder:
    """Collects a table block by block."""

    def __init__(self, file: LogFile, names: list[str], header_line: str, separator: str, time: Sequence[str], wanted: Sequence[str],
                 texts: Sequence[str], how: Stamps, comment: str | None, repairs: list[str],
                 keep_stamps: bool) -> None:  # fmt: skip
        self.file, self.names, self.header_line, self.separator, self.comment = file, names, header_line, separator, comment
        self.time, self.wanted, self.text_names, self.repairs = list(time), list(dict.fromkeys(wanted)), list(texts), repairs
        counts = Counter(names)
        for name in (*self.time, *self.wanted):
            if name not in counts:
                raise LogError(f"{file.name}: there is no column '{name}'", hint=nearest(name, [n for n in counts if n]))
            if counts[name] > 1:
                raise LogError(f"{file.name}: {counts[name]} columns are named '{name}'", hint="give each its own name")
        self.stamps = StampParser(file.name, how.format, epoch=how.epoch, order=how.order)
        self.more_stamps = {name: StampParser(file.name, order=how.order) for name in how.more if name in counts}
        self.unique = [f"{i}" for i in range(len(names))]  # duplicate names of columns nobody wants do no harm
        self.parts: list[dict[str, Array]] = []
        self.more: list[dict[str, NDArray[np.datetime64]]] = []
        self.times: list[NDArray[np.datetime64]] = []
        self.texts: dict[str, dict[str, None]] = {name: {} for name in texts if name in counts}
        self.rows = 0
        self.kept = 0
        self.dropped: dict[str, list[int]] = {}
        self.cells = Numbers()
        self.stamp_texts: list[pa.Array] | None = [] if keep_stamps else None
        self.recent: list[str] = []  # the last complete rows, to judge a cut one by

    def add(self, piece: Lines) -> None:
        rows, at = self._complete_rows(piece)
        if not rows:
            return
        self.kept += len(rows)
        if self.kept * (len(self.wanted) + 1) > MAX_NUMBERS:
            raise LogError(f"{self.file.name}: more than {self.kept // 1_000_000 * 1_000_000:,} rows with {len(self.wanted)} columns are too much for one flight",
                           hint="split the file by day")  # fmt: skip
        data = self._columns(rows)
        stamp = data[self.time[0]]
        if len(self.time) > 1:
            stamp = pa.compute.binary_join_element_wise(*(data[name] for name in self.time), " ")
        times = self.stamps.parse(stamp, at)
        part = {name: numbers(data[name], at, name=name, separator=self.separator, counts=self.cells) for name in self.wanted}
        for name in self.texts:
            self.texts[name].update(dict.fromkeys(data[name].unique().to_pylist()))
        if piece.is_cut and at[-1] == piece.first + len(piece.texts) - 1:
            self._doubt_last_cell(rows, part)
        more = {name: parser.parse(data[name], at) for name, parser in self.more_stamps.items()}
        good = ~np.isnat(times)
        if not good.all():
            for line in np.asarray(at)[~good].tolist():
                self._drop("rows whose time stamp cannot be read", line)
            times, part = times[good], {name: values[good] for name, values in part.items()}
        if self.stamp_texts is not None:
            self.stamp_texts.append(stamp.filter(pa.array(good)))
            if self.kept > MAX_STAMPS:
                self.stamp_texts = None
        self.times.append(times)
        self.parts.append(part)
        self.more.append({name: stamps[good] for name, stamps in more.items()})
        self.recent = rows[-50:]

    def _complete_rows(self, piece: Lines) -> tuple[list[str], NDArray[np.int64]]:
        """The lines that have every cell, and their numbers; the others are listed."""
        rows, at, wanted = [], [], len(self.names)
        separator, marker = self.separator, self.header_line
        for number, line in enumerate(piece.texts, piece.first):
            if not line or line.isspace() or (self.comment is not None and line.startswith(self.comment)):
                continue
            self.rows += 1
            if "\0" in line:
                self._drop("lines with zero bytes (power loss)", number)
            elif line == marker:
                self._drop("repeated header lines", number)
            elif line.count(separator) == wanted - 1 and '"' not in line:
                rows.append(line)
                at.append(number)
            elif '"' in line and line.count('"') % 2 == 0 and len(cut(line, separator)) == wanted:
                rows.append(line)
                at.append(number)
            elif piece.is_cut and number == piece.first + len(piece.texts) - 1:
                self._drop("last line, which is cut", number)
            else:
                self._drop("rows with too few or too many cells", number)
        return rows, np.array(at, dtype=np.int64)

    def _columns(self, rows: list[str]) -> dict[str, pa.Array]:
        needed = [*self.time, *self.wanted, *self.texts, *self.more_stamps]
        index = {name: str(self.names.index(name)) for name in needed}
        try:
            table = pa.csv.read_csv(
                pa.BufferReader(("\n".join(rows) + "\n").encode("utf-8", "replace")),
                read_options=pa.csv.ReadOptions(column_names=self.unique, use_threads=False, block_size=1 << 26),
                parse_options=pa.csv.ParseOptions(delimiter=self.separator),
                convert_options=pa.csv.ConvertOptions(column_types=dict.fromkeys(self.unique, pa.string()), include_columns=list(dict.fromkeys(index.values())),
                                                      strings_can_be_null=False),
            )  # fmt: skip
        except pa.ArrowInvalid as error:
            raise LogError(f"{self.file.name}: the table cannot be read ({str(error).splitlines()[0]})") from None
        if table.num_rows != len(rows):
            raise LogError(f"{self.file.name}: quotes are not closed between lines", hint="repair the quotes")
        return {name: table.column(i).combine_chunks() for name, i in index.items()}

    def _doubt_last_cell(self, rows: list[str], part: dict[str, Array]) -> None:
        """Without a line end the last number may be cut: it counts only if it has as many decimals as its column always has."""
        name = self.names[-1]
        if name not in part or np.isnan(part[name][-1]):
            return
        last = cut(rows[-1], self.separator)[-1].strip()
        decimals = {len(cut(row, self.separator)[-1].strip().partition(".")[2]) for row in self.recent}
        if decimals == {len(last.partition(".")[2])} and decimals != {0}:
            return
        part[name][-1] = np.nan
        self.repairs.append(f"the file ends without a line end: the last cell '{last}' may be cut and is not used")

    def _drop(self, why: str, line: int) -> None:
        self.dropped.setdefault(why, []).append(line)

    def table(self, preamble: list[str]) -> Table:
        """All blocks as one table."""
        if not self.times or not sum(len(t) for t in self.times):
            why = "; ".join(f"{why}: {len(at)}" for why, at in self.dropped.items())
            raise LogError(f"{self.file.name}: no row can be used" + (f" ({why})" if why else " (there is only a header)"))
        for why, at in self.dropped.items():
            self.repairs.append(f"{len(at):,} {why} left out (first: line {at[0]:,})")
        self.repairs += self.cells.listed() + self.stamps.listed()
        columns = {}
        for name in self.wanted:  # column by column, so that no second copy of everything exists
            columns[name] = np.concatenate([part.pop(name) for part in self.parts])
        time = np.concatenate(self.times)
        more = {name: np.concatenate([part[name] for part in self.more]) for name in self.more_stamps}
        return Table(self.file, self.names, time, bool(self.stamps.is_zoned), columns, {n: list(v) for n, v in self.texts.items()}, self.rows, more, self.repairs, preamble,
                     pa.concat_arrays(self.stamp_texts) if self.stamp_texts else None)
