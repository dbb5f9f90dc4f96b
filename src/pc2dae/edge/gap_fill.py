"""Gaps that hide a plume: what another channel saw meanwhile, where the two are known to go together.

A tape that advances or a logger that drops out for seconds leaves averages of the samples beside the gap, and a plume
within it is lost. In a gap of L samples from a to b the estimate y_i is replaced by
    ŷ_i = line_i + r (y_j − line_j),   line: straight between the samples beside the gap,
with r from bends of the same length elsewhere, d(t) = y(t) − ½ (y(t − h) + y(t + h)), h = (L + 1)/2, near ones first:
    r = ⟨d_i d_j⟩ / v_j,   ρ² = ⟨d_i d_j⟩² / (⟨d_i²⟩ v_j),   v_j = ⟨d_j²⟩ + 3/2 sd_j²: a noisy channel lends little.
The bends also tell how far the borrowed shape is off: sd² = sd²(beside) + r² sd_j² + (1/ρ² − 1) (ŷ_i − line_i)².
"""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Floats, Mask

_LEAST = 4  # samples: a shorter gap hides nothing that its neighbours do not tell
_FAR = 600  # samples on either side in which bends are looked at …
_NEAR = 300.0  # … and the distance at which one counts e times less
_BENDS = 10  # of the gap's length, at least, to know how two channels go together
_ALIKE = 0.5  # ρ²: half of what one does the other does too
_MISFIT = 0.1  # relative error of a borrowed shape at best: two plumes are never alike
_SEEN = 0.8  # share of the gap in which the other channel was observed
_CLEAR = 3.0  # sd that something must have passed by for the gap to be bridged


def bridged(estimate: Floats, sd: Floats, seen: Mask) -> tuple[Floats, Floats]:
    """Estimate and its uncertainty, (channel, time) each, with what passed in gaps taken from other channels."""
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
    """First sample and the one after the last of each gap, longer than the channel's own rhythm leaves them."""
    at = np.flatnonzero(observed)
    steps = np.diff(at)
    if steps.max(initial=0) <= _LEAST:
        return []
    wide = np.flatnonzero(steps > max(_LEAST, 2 * np.median(steps)))
    return [(int(a) + 1, int(b)) for a, b in zip(at[wide], at[wide + 1], strict=True)]


def _line(y: Floats, a: int, b: int) -> Floats:
    """Straight from the sample before a to sample b, at a … b − 1."""
    share = np.arange(1, b - a + 1) / (b - a + 1)
    return np.asarray(y[a - 1] + share * (y[b] - y[a - 1]))


def _partner(estimate: Floats, sd: Floats, seen: Mask, row: int, a: int, b: int) -> tuple[int, float, float] | None:
    """The channel whose bends go best with those of `row`: itself, slope r and 1/ρ² − 1; None where none does."""
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
