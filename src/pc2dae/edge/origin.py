"""Where a channel has values, noise levels and an origin: what a network is given is relative to that (numpy only)."""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Floats, Mask

NEAR = 2e4  # σ above the bound: float32 still resolves a thousandth of σ there


def known_from_later(sigma: Floats) -> Floats:
    """Noise levels with unknown ones replaced by the next known level, else the last one, else 1."""
    filled = np.array(sigma)
    is_known = np.isfinite(filled)
    for row in np.flatnonzero(~is_known.all(axis=1)):
        known = np.flatnonzero(is_known[row])
        if len(known):
            at = np.minimum(np.searchsorted(known, np.arange(filled.shape[1])), len(known) - 1)
            filled[row] = filled[row, known[at]]
        else:
            filled[row] = 1.0
    return filled


def origin_of(values: Floats, new: Mask, sigma: Floats, bound: Floats) -> Floats:
    """The origin subtracted from values in double precision: float32 would lose the noise of a high level.

    It is the bound, or further from it by whole multiples of a power of two, so that estimates hardly depend on the
    stretch and streams equal flights. `sigma` (channel,) is the lowest noise level.
    """
    origin = np.array(bound, dtype=np.float64)
    step = 2.0 ** np.ceil(np.log2(NEAR * sigma))
    if (np.fmax.reduce(np.abs(values), axis=1, initial=0.0) + np.abs(origin) < step).all():  # nearly always
        return origin[:, None]
    farthest = np.where(new, np.abs(values - origin[:, None]), 0.0).max(axis=1, initial=0.0)
    for row in np.flatnonzero(farthest >= step):
        away = np.median(values[row, new[row]]) - origin[row]
        origin[row] += np.floor(abs(away) / step[row]) * step[row] * np.sign(away)
    return origin[:, None]
