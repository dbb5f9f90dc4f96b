"""Plume encounters: where a channel stands above its background, from onset to end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Floats, Mask

SHORTEST = 3  # samples above the threshold
_FOOT = 1 / 3  # share of the threshold at which an encounter begins and ends


@dataclass(frozen=True)
class Encounter:
    """One crossing of a plume by one channel, in samples and the channel's units."""

    start: int  # first sample: onset
    stop: int  # one past the last
    peak_at: int
    peak: float  # above background

    @property
    def duration(self) -> int:
        """Samples from onset to end."""
        return self.stop - self.start


def extents(excess: Floats, threshold: float, *, shortest: int = SHORTEST) -> list[tuple[int, int]]:
    """[start, stop) of every stretch that exceeds `threshold` for at least `shortest` samples, out to a third of it.

    >>> extents(np.array([0.0, 1.0, 5.0, 6.0, 5.0, 2.0, 0.0]), 3.0)
    [(2, 6)]
    """
    return [(int(start), int(stop)) for start, stop in _held(excess > threshold, excess > threshold * _FOOT, shortest)]


def in_plume(excess: Floats, limit: Floats, *, shortest: int = SHORTEST) -> Mask:
    """Samples that belong to a plume encounter of their channel, `shortest` samples or longer; `limit` is a column."""
    apart = ((0, 0), (0, 1))  # all channels as one record, a sample of nothing after each
    high, foot = (np.pad(excess > level, apart).ravel() for level in (limit, limit * _FOOT))
    edges = np.zeros(high.size + 1, np.int8)
    found = _held(high, foot, shortest)
    edges[found[:, 0]] = 1
    edges[found[:, 1]] = -1  # runs never touch
    inside = np.cumsum(edges[:-1], dtype=np.int8) > 0
    return inside.reshape(excess.shape[0], -1)[:, :-1]


def find_encounters(excess: Floats, threshold: float, *, shortest: int = SHORTEST) -> list[Encounter]:
    """The plume encounters of one channel, (time,), given its excess over background."""
    found = []
    for start, stop in extents(excess, threshold, shortest=shortest):
        peak_at = start + int(np.nanargmax(excess[start:stop]))
        found.append(Encounter(start, stop, peak_at, float(excess[peak_at])))
    return found


def widened(intervals: list[tuple[int, int]], margin: int, size: int) -> list[tuple[int, int]]:
    """The intervals with `margin` samples more on either side, those that then touch made one."""
    merged: list[tuple[int, int]] = []
    for start, stop in sorted((max(a - margin, 0), min(b + margin, size)) for a, b in intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def half_rise(excess: Floats, encounter: Encounter) -> float:
    """When the excess last rises through half its peak before it, in samples of the record; NaN if never."""
    half = excess[encounter.peak_at] / 2
    first = max(encounter.start - 1, 0)
    rise = excess[first : encounter.peak_at + 1]
    below = np.flatnonzero(rise < half)
    if half <= 0 or len(below) == 0:
        return np.nan
    t = first + int(below[-1])
    return float(t + (half - excess[t]) / (excess[t + 1] - excess[t]))


def _held(high: Mask, foot: Mask, shortest: int) -> NDArray[np.intp]:
    """[start, stop) of every run of `foot` that holds a run of `high` of that many samples, (run, 2)."""
    tall, feet = _runs(high), _runs(foot)
    cores = tall[tall[:, 1] - tall[:, 0] >= shortest, 0]
    return np.asarray(feet[np.unique(np.searchsorted(feet[:, 0], cores, side="right") - 1)])


def _runs(mask: Mask) -> NDArray[np.intp]:
    """[start, stop) of every run of True, (run, 2)."""
    edges = np.diff(np.concatenate([[0], mask.astype(np.int8), [0]]))
    return np.stack([np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)], axis=-1)
