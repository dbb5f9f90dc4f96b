"""A flight's arrays for the page: written by the worker as plain numbers, read, cut and thinned by the server."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute  # now: the first page should not wait for it
from numpy.typing import NDArray

from pc2dae.atomic import replacing

Span = tuple[int, int, int, str]  # from [ms], to [ms], kind, words


def write_columns(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays by name, uncompressed; no pickle."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **columns)


class Columns:
    """Arrays by name, each read when it is asked for."""

    def __init__(self, path: Path) -> None:
        self._file = np.load(path, allow_pickle=False)

    def __contains__(self, name: str) -> bool:
        return name in self._file.files

    def __getitem__(self, name: str) -> NDArray[Any]:
        return np.asarray(self._file[name])

    def get(self, name: str) -> NDArray[Any] | None:
        """The array, or None where there is none."""
        return self[name] if name in self._file.files else None


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


def extremes(values: NDArray[Any], width: int) -> NDArray[np.intp]:
    """Which samples to keep: the lowest and the highest of every bucket, in the order in which they come."""
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


def json_numbers(values: NDArray[Any]) -> str:
    """A JSON list with six significant digits, null where there is no number; a hundred times faster than `json`."""
    if values.dtype.kind in "iu":
        return f"[{','.join(map(str, values.tolist()))}]"
    wide = values.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        digits = 5 - np.floor(np.log10(np.abs(wide)))
        scale = np.power(10.0, np.clip(np.where(np.isfinite(digits), digits, 0.0), -290, 290))
        rounded = np.where(scale >= 1, np.round(wide * scale) / scale, np.round(wide * scale) * (1 / scale))
    texts = pa.array(rounded, mask=~np.isfinite(rounded)).cast(pa.string()).fill_null("null").to_pylist()
    return f"[{','.join(texts)}]"


def runs_of(kind: NDArray[np.integer[Any]]) -> list[tuple[int, int, int]]:
    """Stretches of equal numbers other than 0: first sample, one past the last, number."""
    edges = np.flatnonzero(np.diff(kind, prepend=0, append=0))
    return [(int(a), int(b), int(kind[a])) for a, b in pairwise(edges) if kind[a]]
