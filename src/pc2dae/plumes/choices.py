"""Other sensible backgrounds beneath an encounter: how far they lie from the one that was used is its uncertainty.

No rule tells haze from plume, or a faint wing of smoke from clean air. Beneath one encounter the alternatives to the
background that was used are its immediate surroundings and the cleanest air nearby.
"""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array, Floats, Index, Mask

_NEAR = 30  # samples on each side that are the immediate surroundings: short beside haze, long beside noise
_LEAST = 5  # samples that a side needs
_REACH = 300  # samples on each side in which clean air is looked for
_LOW = 10.0  # percentile [%] of means over `_NEAR` samples that is taken as the cleanest air


def other_backgrounds(excess: Floats, interval: tuple[int, int], outside: Mask) -> dict[str, Array]:
    """Alternative backgrounds beneath `interval`, as differences from the one that was subtracted.

    - flanks: straight line between the means of the nearest `_NEAR` samples on both sides;
    - percentile: the 10th percentile of means over `_NEAR` samples within `_REACH` samples.

    `outside` marks the samples that belong to no encounter. A choice that the record does not allow is omitted.

    >>> hazy = np.r_[np.full(100, 2.0), np.full(20, 9.0), np.full(100, 4.0)]
    >>> found = other_backgrounds(hazy, (100, 120), hazy < 9)
    >>> round(float(found["flanks"].mean()), 6), float(found["percentile"][0])
    (3.0, 2.0)
    """
    start, stop = interval
    left = start - 1 - np.flatnonzero(outside[max(start - _REACH, 0) : start][::-1])
    right = stop + np.flatnonzero(outside[stop : stop + _REACH])
    found: dict[str, Array] = {}
    sides = [side[:_NEAR] for side in (left, right) if len(side) >= _LEAST]
    if sides:
        at, level = [float(side.mean()) for side in sides], [float(excess[side].mean()) for side in sides]
        found["flanks"] = np.interp(np.arange(start, stop, dtype=np.float64), at, level)
    means = np.sort(np.concatenate([_means(excess, left), _means(excess, right)]))
    if len(means):  # by hand: np.percentile takes ten times as long for so few
        low = np.interp(_LOW / 100 * (len(means) - 1), np.arange(len(means)), means)
        found["percentile"] = np.full(stop - start, low)
    return found


def _means(excess: Floats, index: Index) -> Array:
    whole = index[: len(index) // _NEAR * _NEAR]
    return np.asarray(excess[whole].reshape(-1, _NEAR).mean(axis=1))
