"""The rule by which scores against the truth tell plumes from clean air.

It is fixed, so that scores stay comparable between versions; `pc2dae.plumes` detects encounters by another one.
"""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.plumes.encounters import in_plume

_WINDOW = 301  # averaging window of the background [samples]: longer than a plume crossing, shorter than drift
_BLOCK = 30  # samples per quantile in the initial estimate
_FIRST_QUANTILE = 0.25  # below most plume samples, above most of the noise
_FIRST_WINDOWS = 3  # width of the initial estimate in windows: a long stay in smoke can exceed one window
_ROUNDS = 5  # iterations; the classification has converged by then


def threshold(values: Floats, sigma: Floats) -> Array:
    """Plume threshold of each channel above its background: max(3 σ, 5 % of the channel's range).

    >>> threshold(np.array([[0.0, 10.0, 100.0]]), np.array([1.0]))
    array([5.])
    """
    spread = np.nan_to_num(np.nanmax(_seen(values), axis=-1) - np.nanmin(_seen(values), axis=-1))
    return np.asarray(np.maximum(3.0 * np.nan_to_num(sigma), 0.05 * spread))


def background(values: Floats, sigma: Floats) -> Array:
    """Background of each channel (channel, time): running mean of clean air, interpolated linearly beneath plumes.

    An initial estimate from low quantiles separates plumes from clean air; it is then refined iteratively with the mean
    of the clean air. Unlike a quantile, the mean is not biased by noise. Clean air is defined as samples within ±3 σ of
    the background, so that neither puffs too faint to count as encounters nor dips in ozone bias the result. `sigma` is
    the noise level of the raw data.

    >>> air = np.full((1, 900), 400.0)
    >>> air[0, 300:320] += 50.0
    >>> float(background(air, np.array([1.0]))[0, 310])
    400.0
    """
    rows = zip(np.asarray(values, np.float64), np.asarray(sigma, np.float64), strict=True)
    # One channel at a time to limit memory: a day at 10 Hz is large.
    return np.stack([_background(x[None], s[None])[0] for x, s in rows])


def _background(x: Array, sigma: Array) -> Array:
    level = _quantiles(x)
    for _ in range(_ROUNDS):
        outside = clean_air(x - level, sigma)
        level = _running_mean(np.where(outside, x, 0.0), outside, fallback=level)
    return np.where(np.isfinite(x).any(axis=-1, keepdims=True), level, np.nan)


def clean_air(excess: Array, sigma: Floats) -> Mask:
    """Mask of samples within 3 σ of the background that are not on the flank of a larger deviation."""
    limit = 3.0 * np.nan_to_num(np.asarray(sigma, np.float64))[:, None]
    return ~in_plume(np.abs(excess), limit, shortest=1) & np.isfinite(excess)


def _quantiles(x: Array) -> Array:
    """Low quantile per block, then low quantile of the blocks within three windows, interpolated linearly."""
    size = x.shape[-1]
    blocks = np.pad(x, ((0, 0), (0, -size % _BLOCK)), constant_values=np.nan).reshape(len(x), -1, _BLOCK)
    reach = _FIRST_WINDOWS * _WINDOW // (2 * _BLOCK)
    low = np.pad(_low_quantile(blocks), ((0, 0), (reach, reach)), constant_values=np.nan)
    level = _low_quantile(np.lib.stride_tricks.sliding_window_view(low, 2 * reach + 1, axis=-1))
    centres = np.minimum(np.arange(blocks.shape[1]) * _BLOCK + (_BLOCK - 1) / 2, size - 1.0)
    steps = np.arange(float(size))
    return np.stack([_joined(steps, centres, row) for row in level])


def _low_quantile(x: Array) -> Array:
    """Lower quartile of the finite values along the last axis; NaN if there are none."""
    ordered = np.sort(np.where(np.isfinite(x), x, np.nan), axis=-1)  # NaN sorts last
    rank = (_FIRST_QUANTILE * np.maximum(np.isfinite(x).sum(axis=-1, keepdims=True) - 1, 0)).astype(int)
    return np.take_along_axis(ordered, rank, axis=-1)[..., 0]


def _running_mean(x: Array, weight: Mask, *, fallback: Array) -> Array:
    from scipy.ndimage import uniform_filter1d  # only scores against a truth need it

    total = uniform_filter1d(x, _WINDOW, axis=-1, mode="constant")
    share = uniform_filter1d(weight.astype(np.float64), _WINDOW, axis=-1, mode="constant")
    some = share > 0.05  # with fewer samples, linear interpolation is more reliable
    mean = np.divide(total, share, where=some, out=np.full(x.shape, np.nan))
    steps = np.arange(float(x.shape[-1]))
    return np.stack([_joined(steps, steps, row) if np.isfinite(row).any() else other
                     for row, other in zip(mean, fallback, strict=True)])  # fmt: skip


def _joined(steps: Floats, at: Floats, level: Array) -> Array:
    """Linear interpolation between the finite levels; NaN if there are none."""
    some = np.isfinite(level)
    return np.interp(steps, np.asarray(at)[some], level[some]) if some.any() else np.full(len(steps), np.nan)


def _seen(x: Array | Floats) -> Array:
    """`x` with all-NaN rows replaced by 0, to avoid NumPy's all-NaN warnings."""
    return np.where(np.isfinite(x).any(axis=-1, keepdims=True), x, 0.0)
