"""Detection of single-sample spikes; real plumes can be one sample wide, so further evidence is required."""

from __future__ import annotations

from functools import reduce

import numpy as np

from pc2dae.arrays import Array, Bits, Mask
from pc2dae.flags import SPIKE
from pc2dae.qc.flags import marked
from pc2dae.sentinels import is_lone

_FACTOR = 8.0  # minimum deviation from both neighbours [σ]
_SLOW_S = 3.0  # t90 above which a sensor cannot follow a 1-s puff
_TRUSTED_S = 2.0  # upper limit of the assumed t90: cells in a flow chamber are far faster than specified


def spike(
    values: Array,
    valid: Mask,
    *,
    sigma: float,
    lower_bound: float,
    t90_s: float | None = None,
    rate_hz: float = 1.0,
    accompanied: Mask | None = None,
    valid_max: float | None = None,
) -> Bits:
    """Flag samples more than 8 σ above (or below) both neighbours that meet one of five further criteria.

    1. A slow sensor (t90 ≥ 3 s) decays faster than it would in the cleanest air of the flight:
       x(t+1) < u + (x(t) − u)·exp(−ln10 / t90) − 2 σ, u the 1st percentile of 5-sample medians, t90 at most 2 s.
    2. It is more than 8 σ below the lower bound and below both neighbours.
    3. It is adjacent to such a sample with opposite sign (a shock to an aethalometer produces a pair).
    4. Its deviation from the median is twice that of any unsuspected sample, and no other instrument responded
       (`accompanied`).
    5. It is more than twice `valid_max`, and neither neighbour is above `valid_max`.
    """
    flagged = np.zeros(len(values), dtype=bool)
    index = np.flatnonzero(valid & np.isfinite(values))
    if not np.isfinite(sigma) or sigma <= 0 or len(index) < 5:
        return marked(flagged, SPIKE)
    x = np.asarray(values[index], dtype=np.float64)
    before, after = np.append(np.nan, x[:-1]), np.append(x[1:], np.nan)
    close = np.diff(index) <= max(round(2 * rate_hz), 1)  # samples across a gap are not neighbours
    before[1:][~close], after[:-1][~close] = np.nan, np.nan
    up = np.fmin(x - before, x - after)
    down = np.fmin(before - x, after - x)
    has_neighbours = np.isfinite(before) & np.isfinite(after)
    suspect = has_neighbours & (np.fmax(up, down) > _FACTOR * sigma)
    impossible = (down > 0) & (x < lower_bound - _FACTOR * sigma)
    if t90_s is not None and t90_s >= _SLOW_S:
        left = np.exp(-np.log(10.0) / (min(t90_s, _TRUSTED_S) * rate_hz)) ** np.diff(index)
        clean = np.quantile(np.median(np.lib.stride_tricks.sliding_window_view(x, 5), axis=1), 0.01)
        too_fast = x[1:] < clean + (x[:-1] - clean) * left - 2 * sigma
        impossible[:-1] |= too_fast
        impossible[1:] |= too_fast
    found = suspect & impossible
    found |= suspect & _mirrors(x, found)
    centre = np.median(x)
    reach = np.max(np.abs(x - centre)[~suspect], initial=_FACTOR * sigma)
    alone = ~accompanied[index] if accompanied is not None else np.ones(len(x), dtype=bool)
    found |= suspect & alone & (np.abs(x - centre) > 2 * reach)
    if valid_max is not None:
        found |= suspect & is_lone(x, np.fmax(before, after), valid_max)
    flagged[index[found]] = True
    return marked(flagged, SPIKE)


def moves(values: Array, valid: Mask, *, sigma: float) -> Mask:
    """Mask of samples with a change of more than 6 σ within ±2 samples, which indicates a change in the air."""
    x = np.where(valid, values, np.nan)
    padded = np.pad(x, 2, constant_values=np.nan)
    around = [padded[n : n + len(x)] for n in range(5)]
    return np.asarray(reduce(np.fmax, around) - reduce(np.fmin, around) > 6 * sigma)


def _mirrors(x: Array, found: Mask) -> Mask:
    """Samples adjacent to a detected spike with a deviation of opposite sign and 0.5 to 2 times its size."""
    centre = np.median(x)
    swing = x - centre
    out = np.zeros(len(x), dtype=bool)
    for side in (1, -1):
        partner, partner_found = np.roll(swing, side), np.roll(found, side)
        size = np.abs(swing) / np.maximum(np.abs(partner), 1e-300)
        out |= partner_found & (np.sign(swing) != np.sign(partner)) & (size > 0.5) & (size < 2.0)
    return out
