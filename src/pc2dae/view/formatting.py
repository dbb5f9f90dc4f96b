"""Numbers, units and times as people read them, and tables ready for display."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_UNITS = {"ug": "µg", "degC": "°C"}


@dataclass(frozen=True)
class Row:
    """One line of a table; `kind` is its style, `plume` the encounter a click shows; `best` is bold, `worse` red."""

    cells: Sequence[str]
    kind: str = ""
    plume: int | None = None
    best: tuple[int, ...] = ()
    worse: tuple[int, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table for display; `text` columns are left-aligned, `wide` ones wrap, `soft` ones are grey."""

    head: Sequence[str]
    rows: Sequence[Row]
    text: tuple[int, ...] = (0,)
    wide: tuple[int, ...] = ()
    soft: tuple[int, ...] = ()
    title: str = ""
    lead: str = ""
    note: str = ""
    folded: bool = False  # collapsed until opened


@dataclass(frozen=True)
class Tile:
    """A key figure in large type."""

    value: str
    label: str


@dataclass(frozen=True)
class Step:
    """One line of a flight's history."""

    text: str
    time: str = ""


def broken(words: str, width: int = 13) -> str:
    """A heading broken into short lines."""
    lines = [""]
    for word in words.replace("… ", "inside, ").split(" "):
        if lines[-1] and len(lines[-1]) + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def number(value: float, digits: int = 3) -> str:
    """A number with `digits` significant digits, thin spaces between thousands; – for NaN."""
    if not np.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    places = max(digits - 1 - int(np.floor(np.log10(abs(value)))), 0)
    text = f"{value:,.{min(places, 8)}f}".replace(",", "\u202f").replace("-", "−")
    return text if float(f"{value:.{min(places, 8)}f}") != 0 else "0"


def plus_minus(value: float, sigma: float, *, digits: int = 2) -> str:
    """Value ± uncertainty, the uncertainty with `digits` and the value rounded to the same place."""
    if not np.isfinite(value):
        return "–"
    if not np.isfinite(sigma) or sigma <= 0:
        return number(value)
    places = max(digits - 1 - int(np.floor(np.log10(sigma))), 0)
    rounded = [f"{v:,.{min(places, 8)}f}".replace(",", "\u202f").replace("-", "−") for v in (value, sigma)]
    return " ± ".join(rounded)


def counted(count: int, noun: str) -> str:
    """A count and its noun: 1 channel, 2 channels."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def percent(share: float, digits: int = 1) -> str:
    """A share of one as per cent."""
    return f"{100 * share:.{digits}f} %" if np.isfinite(share) else "–"


def units(text: str) -> str:
    """Units as printed: ng m⁻³ for "ng m-3"."""
    parts = []
    for part in text.split(" "):
        letters = part.rstrip("-0123456789")
        parts.append(_UNITS.get(letters, letters) + part[len(letters) :].translate(_SUPERSCRIPT))
    return " ".join(parts)


def duration(seconds: float) -> str:
    """A length of time: 47 s, 25 min, 2 h 10 min."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def clock(time: np.datetime64) -> str:
    """Hour, minute, second, UTC."""
    return str(np.datetime_as_string(np.datetime64(time), unit="s"))[11:]
