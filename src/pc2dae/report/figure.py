"""Figures as plain data: what plotly.js draws, packed small enough that a whole flight fits in one page."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
Trace = dict[str, Any]

MOST_POINTS = 6000  # per line: a flight of 100 minutes in full; a longer one keeps the extremes of each stretch
_TYPES = {"f4": "f4", "f8": "f8", "i1": "i1", "u1": "u1", "i4": "i4"}


@dataclass(frozen=True)
class Figure:
    """One drawing: an element's id, its traces, its layout; colours come from the page's theme by the traces' role."""

    id: str
    data: list[Trace]
    layout: dict[str, Any] = field(default_factory=dict)
    linked: bool = False  # shares the time axis with every other linked figure

    def as_json(self) -> dict[str, Any]:
        """As the page's script reads it."""
        return {"id": self.id, "data": self.data, "layout": self.layout, "linked": self.linked}


def packed(values: Values) -> dict[str, str]:
    """An array as plotly.js reads it: little-endian bytes in base64; floats in single precision, NaN a gap."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        array = array.astype("<f4")
    shape = {"shape": ", ".join(map(str, array.shape))} if array.ndim > 1 else {}
    dtype = _TYPES[array.dtype.str[1:]]
    return {"dtype": dtype, "bdata": base64.b64encode(array.tobytes()).decode("ascii")} | shape


def stride(size: int) -> int:
    """How many samples become one pair of points so that a line has at most `MOST_POINTS`."""
    return 1 if size <= MOST_POINTS else -(-2 * size // MOST_POINTS)


def thinned(values: Values) -> Values:
    """A line that looks the same with fewer points: of each stretch its least and greatest value, in their order."""
    width = stride(len(values))
    if width == 1:
        return values
    padded = np.full(-(-len(values) // width) * width, np.nan)
    padded[: len(values)] = values
    rows = padded.reshape(-1, width)
    low_at = np.argmin(np.where(np.isnan(rows), np.inf, rows), axis=1)
    high_at = np.argmax(np.where(np.isnan(rows), -np.inf, rows), axis=1)
    index = np.arange(len(rows))
    first, second = np.minimum(low_at, high_at), np.maximum(low_at, high_at)
    return np.stack([rows[index, first], rows[index, second]], axis=1).ravel()


def line(time: Values, values: Values, role: str, **more: Any) -> Trace:
    """`values` over a regular `time` as a line in the colour of its `role`."""
    size = len(values)
    step = float((time[1] - time[0]) / np.timedelta64(1, "ms")) if size > 1 else 1000.0
    width = stride(size)
    return {
        "type": "scatter",
        "mode": "lines",
        "x0": stamp(time[0]),
        "dx": step if width == 1 else step * width / 2,
        "y": packed(thinned(values)),
        "meta": {"role": role},
        "name": role,
    } | more


def stamp(time: np.datetime64) -> str:
    """A time as plotly.js reads it, UTC."""
    return str(np.datetime_as_string(time, unit="ms")).replace("T", " ")
