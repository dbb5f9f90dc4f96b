"""The air between plumes: a background that drifts, found while plumes go by."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter1d

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.plumes.encounters import in_plume

_WINDOW = 301  # samples the background is averaged over: minutes, longer than a crossing and shorter than drift
_BLOCK = 30  # samples of one quantile in the first guess
_FIRST_QUANTILE = 0.25  # below most smoke, above most noise
_FIRST_WINDOWS = 3  # the first guess looks this much further: a stay in smoke can outlast a window
_ROUNDS = 5  # by then no sample changes sides


def threshold(values: Floats, sigma: Floats) -> Array:
    """How far above background a plume starts, for each channel: max(3 σ, 5 % of the channel's range).

    >>> threshold(np.array([[0.0, 10.0, 100.0]]), np.array([1.0]))
    array([5.])
    """
    spread = np.nan_to_num(np.nanmax(_seen(values), axis=-1) - np.nanmin(_seen(values), axis=-1))
    return np.asarray(np.maximum(3.0 * np.nan_to_num(sigma), 0.05 * spread))


def background(values: Floats, sigma: Floats, *, window: int = _WINDOW) -> Array:
    """The background of each channel, (channel, time): the running mean of clean air, straight under plumes.

    A first guess from low quantiles tells plumes from air; the mean of the air replaces it until both agree. A mean,
    not a quantile: noise does not bias it. Air is what lies within 3 σ of the level, above or below: puffs too faint
    to count as encounters do not lift it, nor do ozone's dips lower it. `sigma` is the noise of the raw record.

    >>> air = np.full((1, 900), 400.0)
    >>> air[0, 300:320] += 50.0
    >>> float(background(air, np.array([1.0]))[0, 310])
    400.0
    """
    rows = zip(np.asarray(values, np.float64), np.asarray(sigma, np.float64), strict=True)
    return np.stack([_background(x[None], s[None], window)[0] for x, s in rows])  # one by one: a day at 10 Hz is large


def _background(x: Array, sigma: Array, window: int) -> Array:
    level = _quantiles(x, _FIRST_WINDOWS * window)
    for _ in range(_ROUNDS):
        outside = clean_air(x - level, sigma)
        level = _running_mean(np.where(outside, x, 0.0), outside, window, fallback=level)
    return np.where(np.isfinite(x).any(axis=-1, keepdims=True), level, np.nan)


def clean_air(excess: Array, sigma: Floats) -> Mask:
    """Samples within 3 σ of the background, and not on the foot of anything that leaves it."""
    limit = 3.0 * np.nan_to_num(np.asarray(sigma, np.float64))[:, None]
    return ~in_plume(np.abs(excess), limit, shortest=1) & np.isfinite(excess)


def _quantiles(x: Array, window: int) -> Array:
    """A low quantile in blocks, the low quantile of the blocks within the window, joined by straight lines."""
    size = x.shape[-1]
    blocks = np.pad(x, ((0, 0), (0, -size % _BLOCK)), constant_values=np.nan).reshape(len(x), -1, _BLOCK)
    reach = max(window // (2 * _BLOCK), 1)
    low = np.pad(_low_quantile(blocks), ((0, 0), (reach, reach)), constant_values=np.nan)
    level = _low_quantile(np.lib.stride_tricks.sliding_window_view(low, 2 * reach + 1, axis=-1))
    centres = np.minimum(np.arange(blocks.shape[1]) * _BLOCK + (_BLOCK - 1) / 2, size - 1.0)
    steps = np.arange(float(size))
    return np.stack([_joined(steps, centres, row) for row in level])


def _low_quantile(x: Array) -> Array:
    """The lowest quarter's end along the last axis, of what is finite; NaN of nothing."""
    ordered = np.sort(np.where(np.isfinite(x), x, np.nan), axis=-1)  # NaN goes last
    rank = (_FIRST_QUANTILE * np.maximum(np.isfinite(x).sum(axis=-1, keepdims=True) - 1, 0)).astype(int)
    return np.take_along_axis(ordered, rank, axis=-1)[..., 0]


def _running_mean(x: Array, weight: Mask, window: int, *, fallback: Array) -> Array:
    total = uniform_filter1d(x, window, axis=-1, mode="constant")
    share = uniform_filter1d(weight.astype(np.float64), window, axis=-1, mode="constant")
    some = share > 0.05  # fewer samples than that say less than a straight line does
    mean = np.divide(total, share, where=some, out=np.full(x.shape, np.nan))
    steps = np.arange(float(x.shape[-1]))
    return np.stack([_joined(steps, steps, row) if np.isfinite(row).any() else other
                     for row, other in zip(mean, fallback, strict=True)])  # fmt: skip


def _joined(steps: Floats, at: Floats, level: Array) -> Array:
    """Straight lines through the finite levels; NaN if there is none."""
    some = np.isfinite(level)
    return np.interp(steps, np.asarray(at)[some], level[some]) if some.any() else np.full(len(steps), np.nan)


def _seen(x: Array | Floats) -> Array:
    """`x` with 0 in rows that hold no number at all, so that a quantile of nothing warns nobody."""
    return np.where(np.isfinite(x).any(axis=-1, keepdims=True), x, 0.0)
