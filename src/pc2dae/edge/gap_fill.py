"""Filling gaps that hide a plume from another channel, where the two are correlated.

After a tape advance or a drop-out of the logger, the estimate is an average of the samples beside the gap, and a plume
within it is lost. In a gap of L samples from a to b the estimate y_i is replaced by
    ŷ_i = line_i + r (y_j − line_j),   line: straight between the samples beside the gap,
with r from bends of the same length elsewhere, d(t) = y(t) − ½ (y(t − h) + y(t + h)), h = (L + 1)/2, by distance:
    r = ⟨d_i d_j⟩ / v_j,   ρ² = ⟨d_i d_j⟩² / (⟨d_i²⟩ v_j),   v_j = ⟨d_j²⟩ + 3/2 sd_j²: a noisy channel counts little.
The bends also give the error of the transferred shape: sd² = sd²(beside) + r² sd_j² + (1/ρ² − 1) (ŷ_i − line_i)².
"""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Floats, Mask

_LEAST = 4  # samples: in a shorter gap the neighbouring samples suffice
_FAR = 600  # samples on either side whose bends are used …
_NEAR = 300.0  # … and the distance at which their weight is 1/e
_BENDS = 10  # least number of bends of the gap's length to correlate two channels
_ALIKE = 0.5  # least ρ²
_MISFIT = 0.1  # least relative error of a transferred shape, as plumes differ
_SEEN = 0.8  # share of the gap in which the other channel was observed
_CLEAR = 3.0  # sd that the change in the gap must exceed for it to be filled


def bridged(estimate: Floats, sd: Floats, seen: Mask) -> tuple[Floats, Floats]:
    """Estimate and uncertainty, (channel, time) each, with gaps filled from other channels."""
    value, spread = estimate.copy(), sd.copy()
    for row, observed in enumerate(seen):
        for a, b in _gaps(observed):
            beside = [a - 1, b]
            if not np.isfinite(estimate[row, beside]).all():
                continue
            partner = _partner(estimate, sd, seen, row, a, b)
            if partner is None:
                continue
            other, slope, unexplained = partner
            moved = slope * (estimate[other, a:b] - _line(estimate[other], a, b))
            own, lent = sd[row, beside].max(), abs(slope) * sd[other, a:b]
            if np.abs(moved).max() > _CLEAR * max(own, lent.max()):
                value[row, a:b] = _line(estimate[row], a, b) + moved
                spread[row, a:b] = np.sqrt(own**2 + lent**2 + max(unexplained, _MISFIT**2) * moved**2)
    return value, spread


def _gaps(observed: Mask) -> list[tuple[int, int]]:
    """First sample and one past the last of each gap that is longer than the channel's usual interval."""
    at = np.flatnonzero(observed)
    steps = np.diff(at)
    if steps.max(initial=0) <= _LEAST:
        return []
    wide = np.flatnonzero(steps > max(_LEAST, 2 * np.median(steps)))
    return [(int(a) + 1, int(b)) for a, b in zip(at[wide], at[wide + 1], strict=True)]


def _line(y: Floats, a: int, b: int) -> Floats:
    """A straight line from the sample before a to sample b, at a … b − 1."""
    share = np.arange(1, b - a + 1) / (b - a + 1)
    return np.asarray(y[a - 1] + share * (y[b] - y[a - 1]))


def _partner(estimate: Floats, sd: Floats, seen: Mask, row: int, a: int, b: int) -> tuple[int, float, float] | None:
    """The channel whose bends correlate best with those of `row`: its row, slope r and 1/ρ² − 1; None if none does."""
    h, first = (b - a + 1) // 2, max(a - _FAR, 0)
    y = estimate[:, first : b + _FAR]
    middle = np.arange(first + h, first + y.shape[1] - h)
    away = np.maximum(a - middle, middle - b + 1)
    weight = np.exp(-away / _NEAR) * (away > h) * seen[row, middle]
    if weight.sum() < _BENDS * (b - a):
        return None
    bend = y[:, h:-h] - 0.5 * (y[:, : -2 * h] + y[:, 2 * h :])
    bend = np.where(np.isfinite(bend), bend, 0.0)
    joint, square = bend @ (weight * bend[row]), bend**2 @ weight
    noisy = square + 1.5 * weight.sum() * np.mean(sd[:, a:b] ** 2, axis=1)
    able = (noisy > 0) & (seen[:, a:b].mean(axis=1) >= _SEEN) & np.isfinite(estimate[:, a - 1 : b + 1]).all(axis=1)
    alike = np.divide(joint**2, noisy * square[row], where=able & (square[row] > 0), out=np.zeros(len(joint)))
    alike[row] = 0.0
    other = int(np.argmax(alike))
    if alike[other] < _ALIKE:
        return None
    return other, float(joint[other] / noisy[other]), float(1.0 / alike[other] - 1.0)
