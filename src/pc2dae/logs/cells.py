"""The cells of a text table as places in a block of text, so that numpy reads all cells of a column at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from pc2dae.arrays import Mask

Characters = NDArray[np.uint8]
Places = NDArray[np.intp]
WIDEST = 64  # bytes of a cell that can be a number or a stamp
_LINE_END, _QUOTE, _BLANK = b'\n" '


@dataclass(frozen=True)
class Cells:
    """The cells of one column: UTF-8 text, and where each begins and ends in it."""

    text: bytes  # with a line end behind the last cell
    starts: Places
    ends: Places

    @classmethod
    def of(cls, texts: Sequence[str]) -> Cells:
        """Cells with these texts."""
        encoded = [text.encode("utf-8", "replace") for text in texts]
        lengths = np.array([len(text) for text in encoded], dtype=np.intp)
        ends = np.cumsum(lengths)
        return cls(b"".join(encoded) + b"\n", ends - lengths, ends)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, row: int) -> str:
        return self.text[self.starts[row] : self.ends[row]].decode()

    def texts(self, rows: slice | Mask | Places = slice(None)) -> list[str]:
        """The text of some cells."""
        places = zip(self.starts[rows].tolist(), self.ends[rows].tolist(), strict=True)
        return [self.text[start:end].decode() for start, end in places]

    def begin_blank(self) -> Mask:
        """Which cells are empty or begin with a blank."""
        return np.frombuffer(self.text, np.uint8)[self.starts] <= _BLANK

    def stripped(self) -> Cells:
        """The cells without blanks around them, up to `WIDEST` on each side."""
        characters, starts, ends = np.frombuffer(self.text, np.uint8), self.starts, self.ends
        for _ in range(WIDEST):
            before = (characters[starts] == _BLANK) & (starts < ends)
            after = (characters[ends - 1] == _BLANK) & (starts + before < ends)
            if not (before | after).any():
                break
            starts, ends = starts + before, ends - after
        return Cells(self.text, starts, ends)

    def array(self) -> NDArray[np.bytes_]:
        """The cells as bytes."""
        return _texts(self.matrix())

    def matrix(self) -> Characters:
        """One row of bytes per cell, filled up with zeros; only quotes for a cell wider than `WIDEST`."""
        lengths = self.ends - self.starts
        width = int(np.clip(lengths.max(initial=1), 1, WIDEST))
        found = sliding_window_view(np.frombuffer(self.text + bytes(width), np.uint8), width)[self.starts]
        if (lengths != width).any():
            found *= np.arange(width) < lengths[:, None]
            found[lengths > WIDEST] = _QUOTE
        return found


def columns(text: str, separator: str, width: int) -> list[Cells] | None:
    """The columns of a table of `width` cells in each line, or None if a line has more or fewer, or unusual quotes.

    Quotes are usual around a whole cell without a separator.
    """
    encoded = text.encode("utf-8", "replace") + b"\n"
    characters = np.frombuffer(encoded, np.uint8)
    marks = np.flatnonzero((characters == ord(separator)) | (characters == _LINE_END))
    if len(marks) % width:
        return None
    ends = marks.reshape(-1, width)
    if ((characters[ends] == _LINE_END) != (np.arange(width) == width - 1)).any():
        return None
    starts = np.concatenate([[0], marks[:-1] + 1]).reshape(-1, width)
    if _QUOTE in encoded:
        before = np.concatenate([[0], np.cumsum(characters == _QUOTE)])
        quotes = before[ends] - before[starts]
        is_quoted = (quotes == 2) & (characters[starts] == _QUOTE) & (characters[ends - 1] == _QUOTE)
        if (is_quoted != (quotes > 0)).any():
            return None
        starts, ends = starts + is_quoted, ends - is_quoted
    return [Cells(encoded, starts[:, column], ends[:, column]) for column in range(width)]


def joined(columns: Sequence[Cells]) -> Cells:
    """The cells of some columns, joined by a blank."""
    if len(columns) == 1:
        return columns[0]
    if all(a.text is b.text and (a.ends + 1 == b.starts).all() for a, b in pairwise(columns)):
        text = np.frombuffer(columns[0].text, np.uint8).copy()
        for cells in columns[:-1]:
            text[cells.ends] = _BLANK
        return Cells(text.tobytes(), columns[0].starts, columns[-1].ends)
    return Cells.of([" ".join(texts) for texts in zip(*(cells.texts() for cells in columns), strict=True)])


def different(matrix: Characters) -> tuple[list[str], Places, Places]:
    """The different rows of a matrix of characters as text, the first place of each, and which of them each row is."""
    alike = matrix[:1] if (matrix == matrix[:1]).all() else np.ascontiguousarray(matrix)
    found, first, each = np.unique(_texts(alike), return_index=True, return_inverse=True)
    return [text.decode("utf-8", "replace") for text in found.tolist()], first, np.broadcast_to(each, len(matrix))


def _texts(matrix: Characters) -> NDArray[np.bytes_]:
    return matrix.view(f"S{matrix.shape[1]}").ravel()
