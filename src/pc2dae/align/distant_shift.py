"""A first guess of a clock offset of minutes, by cross-correlation of what two instruments measure."""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array
from pc2dae.response.kernels import smoothed

FARTHEST_S = 600.0  # largest offset searched; a larger one is a time zone or another day
STEP_S = 3.0  # of the comparison; the guess is refined afterwards
SLOW_S = 50.0  # slower changes than this smoothing keeps are removed: they agree at almost any shift
LEAST_SHARE = 0.5  # of the shorter record that must overlap after shifting
LEAST_S = 300.0  # … and at least
LONGEST_S = 30 * 86400.0  # of the search


def distant_shift(tx: Array, x: Array, ty: Array, y: Array) -> float:
    """The shift of y behind x [s] at which they correlate best, within ± 10 min; 0 if they do not overlap.

    The score at shift s is −n/2·log(1 − r²), with r the correlation over the n points in common at that shift.
    """
    if min(len(tx), len(ty)) < 2:
        return 0.0
    start = max(tx[0], ty[0] - FARTHEST_S)
    end = min(max(tx[-1], start), max(ty[-1], ty[0]) + FARTHEST_S)
    origin = min(start, ty[0])
    if max(end, ty[-1]) - origin > LONGEST_S:
        return 0.0
    x, has_x = _quick(tx, x, origin, start, end)
    y, has_y = _quick(ty, y, origin, max(ty[0], tx[0] - FARTHEST_S), min(ty[-1], tx[-1] + FARTHEST_S))
    if min(has_x.sum(), has_y.sum()) * STEP_S < LEAST_S:
        return 0.0
    reach = round(FARTHEST_S / STEP_S)
    size = 1 << (len(x) + len(y) + reach).bit_length()  # a power of two is fast

    def correlation(a: Array, b: Array) -> Array:
        products = np.fft.irfft(np.fft.rfft(b, size) * np.conj(np.fft.rfft(a, size)), size)
        return np.concatenate([products[-reach:], products[: reach + 1]])

    count = correlation(has_x, has_y)
    product, power = correlation(x, y), correlation(x**2, has_y) * correlation(has_x, y**2)
    r = np.clip(product / np.sqrt(np.maximum(power, 1e-12 * max(float(power.max()), 1e-300))), 0.0, 1 - 1e-9)
    enough = count >= max(LEAST_S / STEP_S, LEAST_SHARE * min(has_x.sum(), has_y.sum()))
    score = np.where(enough, -count * np.log1p(-(r**2)), 0.0)
    return float(STEP_S * (int(np.argmax(score)) - reach)) if score.max() > 0 else 0.0


def _quick(t: Array, v: Array, origin: float, start: float, end: float) -> tuple[Array, Array]:
    """The quick changes of a record on a grid from `origin` to `end`, zero before `start`; and 1 where it is known."""
    grid = np.arange(origin, max(end, origin) + STEP_S, STEP_S)
    known = ((grid >= start) & (grid <= end)).astype(np.float64)
    values = np.interp(grid, t, v)
    return (values - smoothed(values, SLOW_S / STEP_S)) * known, known
