"""Series for drawing: cut to a stretch of time, thinned so that no peak is lost, written as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]
Columns = Mapping[str, Column]
MOST_POINTS = 6000  # of a line in a report, and of a track
COARSE_POINTS = 1500  # of a line over a whole flight: two for each pixel of a panel
_PARTS = {"estimate": "", "low": " low", "high": " high", "unbounded": " unbounded"}


def series_json(
    measured: Columns,
    done: Columns,
    flags: Mapping[str, Sequence[Sequence[Any]]],
    names: Sequence[str],
    *,
    rate_hz: float,
    points: int = MOST_POINTS,
    start: float | None = None,
    stop: float | None = None,
) -> str:
    """Raw, estimate, 90 % interval, noise-free reading, truth and flags of some channels over common times [ms]."""
    here = cut(measured["time"], start, stop)
    time = measured["time"][here]
    width = buckets(len(time), points)
    low, high = -np.inf if start is None else start, np.inf if stop is None else stop
    channels = {}
    for name in names:
        parts = {"raw": _thinned(measured.get(name), measured.get(name), here, width)}
        for key, suffix in _PARTS.items():  # the band keeps the samples of its estimate
            parts[key] = _thinned(done.get(name + suffix), done.get(name), here, width)
        for key, other in (("response", done.get(f"{name} response")), ("truth", measured.get(f"{name} truth"))):
            parts[key] = _thinned(other, other, here, width)
        spans = [span for span in flags.get(name, []) if span[1] >= low and span[0] <= high]
        parts["flags"] = json.dumps(spans, separators=(",", ":"))
        channels[name] = _object(parts)
    head = {"time": json_numbers(bucket_times(time, width)), "step_s": json.dumps(1 / rate_hz)}
    return _object(head | {"thinned": json.dumps(width > 1), "channels": _object(channels)})


def track_json(columns: Columns) -> str:
    """East, north and altitude [m] over time [ms], each null where not known; null where the flight has none."""
    if "track east" not in columns and "track altitude" not in columns:
        return "null"
    step = -(-len(columns["time"]) // MOST_POINTS)
    parts = {"time": columns["time"]} | {k: columns.get(f"track {k}") for k in ("east", "north", "altitude")}
    return _object({key: "null" if v is None else json_numbers(v[::step]) for key, v in parts.items()})


def _object(members: Mapping[str, str]) -> str:
    return f"{{{','.join(f'{json.dumps(key)}:{text}' for key, text in members.items())}}}"


def _thinned(values: Column | None, chosen_by: Column | None, here: slice, width: int) -> str:
    if values is None or chosen_by is None:
        return "null"
    return json_numbers(values[here][extremes(chosen_by[here], width)])


def cut(time: NDArray[np.int64], start: float | None, stop: float | None) -> slice:
    """The samples from `start` to `stop` [ms], one more on either side so that lines reach the edge."""
    first = 0 if start is None else max(int(np.searchsorted(time, start)) - 1, 0)
    last = len(time) if stop is None else min(int(np.searchsorted(time, stop, side="right")) + 1, len(time))
    return slice(first, max(last, first))


def buckets(count: int, points: int) -> int:
    """How many samples share a bucket so that two points of each make at most `points`; 1: nothing is thinned."""
    return 1 if count <= points else -(-2 * count // max(points, 2))


def bucket_times(time: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """The times of a thinned record: begin and middle of every bucket."""
    if width == 1:
        return time
    begins = np.arange(0, len(time), width)
    middles = np.minimum(begins + width // 2, len(time) - 1)
    return np.asarray(time[np.stack([begins, middles], axis=1).ravel()])


def extremes(values: Column, width: int) -> NDArray[np.intp]:
    """Which samples to keep: the lowest and the highest of every bucket, in their order."""
    count = len(values)
    if width == 1:
        return np.arange(count)
    padded = np.full(-(-count // width) * width, np.nan)
    padded[:count] = values
    rows = padded.reshape(-1, width)
    low = np.where(np.isnan(rows), np.inf, rows).argmin(axis=1)
    high = np.where(np.isnan(rows), -np.inf, rows).argmax(axis=1)
    pair = np.sort(np.stack([low, high], axis=1), axis=1) + width * np.arange(len(rows))[:, None]
    return np.minimum(pair.ravel(), count - 1)


def json_numbers(values: Column) -> str:
    """A JSON list with six significant digits and null for NaN; formatted at once, faster than by `json`."""
    if values.dtype.kind in "iu":
        return f"[{','.join(map(str, values.tolist()))}]"
    known = np.where(np.isfinite(values), values, np.nan)
    return f"[{','.join(['%.6g'] * len(known)) % tuple(known.tolist())}]".replace("nan", "null")
