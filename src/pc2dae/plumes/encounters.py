"""Detection of plume encounters: intervals in which a channel exceeds its background."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Floats, Mask

SHORTEST = 3  # minimum number of samples above the threshold
FOOT = 1 / 3  # fraction of the threshold at which an encounter starts and ends


@dataclass(frozen=True)
class Encounter:
    """One plume encounter of one channel, in samples and in the channel's units."""

    start: int  # onset: first sample
    stop: int  # one past the last sample
    peak_at: int
    peak: float  # above background

    @property
    def duration(self) -> int:
        """Samples from onset to end."""
        return self.stop - self.start


def extents(excess: Floats, threshold: float | Floats, *, shortest: int = SHORTEST) -> list[tuple[int, int]]:
    """[start, stop) of each interval above a third of `threshold` that exceeds `threshold` for `shortest` samples.

    >>> extents(np.array([0.0, 1.0, 5.0, 6.0, 5.0, 2.0, 0.0]), 3.0)
    [(2, 6)]
    """
    return [(int(start), int(stop)) for start, stop in held(excess > threshold, excess > threshold * FOOT, shortest)]


def in_plume(excess: Floats, limit: Floats, *, shortest: int = SHORTEST) -> Mask:
    """Mask of samples within plume encounters of at least `shortest` samples; `limit` has shape (channel, 1)."""
    return held_mask(excess > limit, excess > limit * FOOT, shortest)


def held_mask(high: Mask, foot: Mask, shortest: int) -> Mask:
    """Mask (…, time) of each run of `foot` that contains a run of `high` of at least `shortest` samples.

    >>> held_mask(np.array([[0, 1, 0, 0], [0, 1, 1, 0]]) > 0, np.array([[1, 1, 0, 0], [1, 1, 1, 0]]) > 0, 2).astype(int)
    array([[0, 0, 0, 0],
           [1, 1, 1, 0]])
    """
    return _marked(held(_in_line(high), _in_line(foot), shortest), high.shape)


def long_runs(mask: Mask, most: float) -> Mask:
    """The runs of True along the last axis that are longer than `most` samples."""
    found = runs(_in_line(mask))
    return _marked(found[found[:, 1] - found[:, 0] > most], mask.shape)


def without_gaps(mask: Mask, least: float) -> Mask:
    """The mask (time,) with gaps of fewer than `least` samples between its runs closed."""
    gaps = runs(~mask)
    is_closed = (gaps[:, 0] > 0) & (gaps[:, 1] < len(mask)) & (gaps[:, 1] - gaps[:, 0] < least)
    return np.asarray(mask | _marked(gaps[is_closed], mask.shape))


def _in_line(mask: Mask) -> Mask:
    """All rows (…, time) behind each other, with an empty sample after each, which separates their runs."""
    lined = np.zeros((*mask.shape[:-1], mask.shape[-1] + 1), bool)
    lined[..., :-1] = mask
    return lined.ravel()


def _marked(intervals: NDArray[np.intp], shape: tuple[int, ...]) -> Mask:
    """Mask of this shape with the intervals, which are never adjacent, of its rows in line."""
    edges = np.zeros((*shape[:-1], shape[-1] + 1), np.int8)
    edges.reshape(-1)[intervals[:, 0]] = 1
    edges.reshape(-1)[intervals[:, 1]] = -1
    return np.asarray(np.cumsum(edges, axis=-1, dtype=np.int8)[..., :-1] > 0)


def find_encounters(excess: Floats, threshold: float | Floats, *, shortest: int = SHORTEST) -> list[Encounter]:
    """Plume encounters of one channel, from its excess over background (time,)."""
    found = []
    for start, stop in extents(excess, threshold, shortest=shortest):
        peak_at = start + int(np.nanargmax(excess[start:stop]))
        found.append(Encounter(start, stop, peak_at, float(excess[peak_at])))
    return found


def widened(intervals: list[tuple[int, int]], margin: int, size: int) -> list[tuple[int, int]]:
    """Extend each interval by `margin` samples on both sides and merge those that touch or overlap."""
    merged: list[tuple[int, int]] = []
    for start, stop in sorted((max(a - margin, 0), min(b + margin, size)) for a, b in intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def half_rise(excess: Floats, encounter: Encounter) -> float:
    """Sample position at which the excess last crosses half its peak before the peak; NaN if it never does."""
    half = excess[encounter.peak_at] / 2
    first = max(encounter.start - 1, 0)
    rise = excess[first : encounter.peak_at + 1]
    below = np.flatnonzero(rise < half)
    if half <= 0 or len(below) == 0:
        return np.nan
    t = first + int(below[-1])
    return float(t + (half - excess[t]) / (excess[t + 1] - excess[t]))


def held(high: Mask, foot: Mask, shortest: int) -> NDArray[np.intp]:
    """[start, stop) of each run of `foot` that contains a run of `high` of at least `shortest` samples, (run, 2)."""
    high_runs, foot_runs = runs(high), runs(foot)
    cores = high_runs[high_runs[:, 1] - high_runs[:, 0] >= shortest, 0]
    return np.asarray(foot_runs[np.unique(np.searchsorted(foot_runs[:, 0], cores, side="right") - 1)])


def runs(mask: Mask) -> NDArray[np.intp]:
    """[start, stop) of each run of True, (run, 2)."""
    padded = np.zeros(len(mask) + 2, bool)
    padded[1:-1] = mask
    return np.flatnonzero(padded[1:] != padded[:-1]).reshape(-1, 2)  # a start and a stop in turn
