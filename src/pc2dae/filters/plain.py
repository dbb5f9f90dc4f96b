"""Standard filters: moving average, Savitzky–Golay, and trivial baselines."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.signal import savgol_filter

from pc2dae.arrays import Array, Mask
from pc2dae.filters.gaps import fill, observed


def raw(values: Array, valid: Mask) -> Array:
    """Raw data with gaps interpolated linearly."""
    return fill(values, valid)


def constant(values: Array, valid: Mask) -> Array:
    """Mean of each channel at all times: perfectly smooth but uninformative, as a baseline."""
    x, ok = observed(values, valid)
    count = ok.sum(axis=-1, keepdims=True)
    mean = np.divide(x.sum(axis=-1, keepdims=True), count, where=count > 0, out=np.full(count.shape, np.nan))
    return np.broadcast_to(mean, x.shape).copy()


def moving_average(values: Array, valid: Mask, *, window: int) -> Array:
    """Centred mean of the observations within `window` samples; the window is truncated at the ends.

    y(t) = Σ w x / Σ w over |s − t| ≤ (window − 1)/2, w = 1 where observed; linear interpolation across empty windows.

    >>> moving_average(np.array([[0.0, 0.0, 3.0, 0.0, 0.0]]), np.ones((1, 5), bool), window=3)
    array([[0., 1., 1., 1., 0.]])
    """
    x, ok = observed(values, valid)
    total = uniform_filter1d(x, window, axis=-1, mode="constant")
    weight = uniform_filter1d(ok.astype(np.float64), window, axis=-1, mode="constant")
    some = weight > 0.5 / window
    return fill(np.divide(total, weight, where=some, out=np.zeros_like(x)), some)


def savitzky_golay(values: Array, valid: Mask, *, window: int, order: int = 3) -> Array:
    """Local polynomial fit of degree `order` around each sample (Savitzky & Golay 1964, doi:10.1021/ac60214a047)."""
    x = fill(values, valid)
    width = min(window, x.shape[-1] - (x.shape[-1] + 1) % 2)
    some = np.isfinite(x[:, 0])
    if width > order and some.any():
        x[some] = savgol_filter(x[some], width, order, axis=-1, mode="interp")
    return x
