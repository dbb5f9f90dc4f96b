"""Reads text tables as numbers and time stamps; nothing is guessed silently, every repair is reported."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pc2dae.errors import LogError
from pc2dae.logs.builder import Builder, Layout
from pc2dae.logs.files import Lines, LogFile, lines
from pc2dae.logs.numbers import SignEvidence, UndecidedSigns, decimal_signs
from pc2dae.logs.text import LogTable, Stamps, clean_names, cut, delimiter_of

__all__ = ["LogTable", "Stamps", "clean_names", "cut", "delimiter_of", "read_table"]


def read_table(
    file: LogFile,
    *,
    is_header: Callable[[str], bool],
    time: Sequence[str] | Callable[[list[str]], Sequence[str]],
    wanted: Callable[[list[str]], Sequence[str]],
    texts: Sequence[str] = (),
    stamps: Stamps | None = None,
    header: Sequence[str] | None = None,
    skip: int = 0,
    comment: str | None = None,
    keep_stamps: bool = False,
    thin_s: float | None = None,
    signs: Mapping[str, str] | None = None,
) -> LogTable:
    """Read a table whose header line `is_header` recognises (or with columns `header`, after `skip` lines).

    `time` names the column(s) of the stamp, joined by a blank; `wanted` picks the number columns from the header.
    `signs` are their decimal signs; if not given, they are determined from all rows once a number has a comma.
    """
    builder: Builder | None = None
    repairs: list[str] = []
    preamble: list[str] = []
    looked = 0
    for piece in lines(file, repairs):
        if builder is None:
            texts_left, first = piece.texts, piece.first
            named = (number for number, text in enumerate(texts_left) if is_header(text))
            at = next(named, None) if header is None else max(skip - first + 1, 0)
            looked += len(texts_left)
            if at is None or at >= len(texts_left):
                preamble += texts_left
                if looked > 2000:
                    break
                continue
            preamble += texts_left[:at]
            after = [t for t in texts_left[at + 1 : at + 30] if t.strip()]
            sample = [t for t in after if comment is None or not t.startswith(comment)][:5]
            if header is None:
                separator = delimiter_of(texts_left[at], sample)
                names, line = clean_names(cut(texts_left[at], separator)), texts_left[at]
                at += 1
            else:
                separator, names, line = delimiter_of(texts_left[at], sample), list(header), ""
            names = _named_rows(names, sample, separator)
            early = sum(_is_row(text, separator, len(names)) for text in preamble) if header is None else 0
            if early:
                repairs.append(f"{early:,} rows before the line with the column names left out")
            columns = list(time(names) if callable(time) else time)
            picked = list(dict.fromkeys(wanted(names)))
            layout = Layout(file, names, line, separator, columns, picked, list(texts), stamps or Stamps(), comment,
                            keep_stamps, thin_s, signs)  # fmt: skip
            builder = Builder(layout, repairs)
            if at == len(texts_left):
                continue
            piece = Lines(first + at, "\n".join(texts_left[at:]), piece.is_cut)
        try:
            builder.add(piece)
        except UndecidedSigns:
            return read_table(file, is_header=is_header, time=time, wanted=wanted, texts=texts, stamps=stamps,
                              header=header, skip=skip, comment=comment, keep_stamps=keep_stamps, thin_s=thin_s,
                              signs=_signs(builder.layout))  # fmt: skip
    if builder is None:
        raise LogError(f"{file.name}: no line with column names was found", hint="is the file complete?")
    return builder.table(preamble)


def _signs(layout: Layout) -> dict[str, str]:
    """The decimal sign of each wanted column, from all rows of the file; other columns are considered as well."""
    builder = Builder(layout, [])
    others = [name for name in layout.names if name and name not in layout.time]
    evidence = {name: SignEvidence() for name in (*layout.wanted, *others)}
    for piece in lines(layout.file, []):
        if not piece.is_cut:
            builder.weigh(piece, evidence)
    return decimal_signs(evidence, layout.wanted, file=layout.file.name, separator=layout.separator)


def _is_row(line: str, separator: str, width: int) -> bool:
    """Whether a line before the header resembles a table row: most cells are filled, and one is a number."""
    cells = [cell.strip() for cell in cut(line, separator)]
    is_long = len(cells) > max(width / 2, 1) and not line.startswith("#")
    return is_long and any(re.fullmatch(r"[-+]?\d*\.?\d+([eE][-+]?\d+)?", cell) for cell in cells)


def _named_rows(names: list[str], sample: list[str], separator: str) -> list[str]:
    """The header, extended by one if every row is longer: row names in front (as in R) or a trailing delimiter.

    R's row names are text or count up by one. Otherwise the header lacks a delimiter and is returned unchanged.
    """
    rows = [cut(line, separator) for line in sample]
    if not rows or not all(len(row) == len(names) + 1 for row in rows):
        return names
    if all(line.rstrip(" ").endswith(separator) for line in sample):
        return [*names, ""]
    first = [row[0].strip() for row in rows]
    counts_up = all(text.isdigit() for text in first) and set(np.diff([int(text) for text in first])) <= {1}
    are_names = names[0] != "" and (counts_up or all(text.isidentifier() for text in first))
    return ["", *names] if are_names else names
