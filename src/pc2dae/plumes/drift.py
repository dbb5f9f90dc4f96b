"""Drift of a sensor's zero within an encounter, as far as the background on both sides does not follow it."""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array

DRIFT_S = 500.0  # correlation length of a zero's drift [s]: of the temperature of a cell or an optical bench
_NODES = 16  # points that represent the interval and each flank in the quadrature


def bridged_drift(size: int, left: int, right: int, *, sigma: float, correlation: float) -> float:
    """Standard uncertainty of the sum of a drifting zero over `size` samples, less a line between its two flanks.

    The zero is a stationary process of standard deviation `sigma` and covariance σ²(1 + √3h/ℓ)·exp(−√3h/ℓ) (Matérn 3/2:
    continuous with a continuous rate), ℓ = `correlation` [samples]. Its means over the `left` samples before and
    `right` samples after the interval are known; a line through both is subtracted, or the only one, or nothing.

    >>> alone, between = (bridged_drift(100, n, n, sigma=1.0, correlation=500.0) for n in (0, 150))
    >>> round(alone), round(between)
    (100, 17)
    """
    if sigma == 0.0:
        return 0.0
    inside = _nodes(0, size)
    at, weight = [inside], [np.full(_NODES, 1.0 / _NODES)]
    flanks = [(-left / 2, _nodes(-left, 0))] * (left > 0) + [(size + right / 2, _nodes(size, size + right))] * (
        right > 0
    )
    if len(flanks) == 2:
        (first, _), (last, _) = flanks
        shares = [float(np.mean((last - inside) / (last - first))), float(np.mean((inside - first) / (last - first)))]
    else:
        shares = [1.0] * len(flanks)
    for share, (_, nodes) in zip(shares, flanks, strict=True):
        at.append(nodes)
        weight.append(np.full(_NODES, -share / _NODES))
    t, w = np.concatenate(at), np.concatenate(weight)
    h = np.sqrt(3.0) * np.abs(t[:, None] - t[None]) / correlation
    variance = float(w @ ((1 + h) * np.exp(-h)) @ w)
    return float(size * sigma * np.sqrt(max(variance, 0.0)))


def _nodes(start: float, stop: float) -> Array:
    return np.asarray(start + (np.arange(_NODES) + 0.5) * (stop - start) / _NODES, np.float64)
