"""Level and scatter of the air between plumes, followed through a record."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from pc2dae.arrays import Array, Floats, Mask

WINDOW_S = 60.0  # of the background: plumes are left out of it, so it may follow haze, which varies within minutes
_LEAST_WINDOW = 60  # samples: of a record slower than 1 Hz
_BLOCKS = 30  # blocks per window
_LEAST_BLOCKS = 3  # with clean air that a window needs; with fewer, interpolation is more reliable
_FIRST_WINDOWS = 16  # width of the first estimate in windows: a stay in smoke can take minutes
_MEDIAN_SQUARE = np.log(2.0)  # median of the mean square of two normal samples over their variance
_STEP = 8  # blocks from one first estimate to the next
_DECILE, _QUARTILE = 0.1, 0.25  # below plumes that fill three quarters of the windows
_BETWEEN = 0.6071  # from the lowest decile to the lower quartile of a standard normal distribution


def window_of(rate_hz: float) -> int:
    """Window of the background [samples].

    >>> window_of(1.0), window_of(10.0), window_of(1 / 60)
    (60, 600, 60)
    """
    return max(round(WINDOW_S * rate_hz), _LEAST_WINDOW)


def running_level(values: Floats, clean: Mask, *, window: int) -> Array:
    """Running median of the clean air of series (…, time), linear where there is none; NaN without any.

    The median of block means: noise averages out within a block, and the median follows the edge of an air mass and
    ignores what faint smoke is left in clean air.

    >>> air = np.full(900, 400.0)
    >>> air[300:320] += 50.0
    >>> float(running_level(air, air < 410, window=60)[310])
    400.0
    """
    means = _block_means(values, clean, window)
    return _to_samples(_middle(_around(means, _BLOCKS), at=0.5), values.shape[-1], window)


def running_scatter(residual: Floats, clean: Mask, *, window: int) -> Array:
    """Running standard deviation of clean air around its level, from the median of mean squares; 0 without any."""
    squares = _block_means(np.asarray(residual, np.float64) ** 2, clean, window)
    middle = _to_samples(_middle(_around(squares, _BLOCKS), at=0.5), residual.shape[-1], window)
    return np.asarray(np.sqrt(np.nan_to_num(middle) / _MEDIAN_SQUARE))


def first_estimate(values: Floats, *, window: int) -> tuple[Array, Array]:
    """Level and scatter to start with: lower quartile of block means in 16 windows, its distance from the decile."""
    means = _block_means(values, np.isfinite(values), window)
    around = _around(means, _BLOCKS * _FIRST_WINDOWS)[::_STEP]  # not all, to limit memory: a record can have days
    index = np.arange(len(means))
    lowest, low = (np.interp(index, index[::_STEP], _middle(around, at=at)) for at in (_DECILE, _QUARTILE))
    level, scatter = (_to_samples(x, len(values), window) for x in (low, (low - lowest) / _BETWEEN))
    return level, scatter


def _block(window: int) -> int:
    return max(window // _BLOCKS, 1)


def _block_means(values: Floats, where: Mask, window: int) -> Array:
    """Mean over the samples of each block that are marked, NaN if they are less than a third."""
    block = _block(window)
    pad = [(0, 0)] * (values.ndim - 1) + [(0, -values.shape[-1] % block)]
    shape = (*values.shape[:-1], -1, block)
    marked = np.pad(where & np.isfinite(values), pad).reshape(shape)
    x = np.where(marked, np.pad(np.asarray(values, np.float64), pad).reshape(shape), 0.0)
    count = marked.sum(axis=-1)
    return np.asarray(np.divide(x.sum(axis=-1), count, where=3 * count >= block, out=np.full(count.shape, np.nan)))


def _around(blocks: Array, width: int) -> Array:
    """The blocks around each block, (…, block, width + 1)."""
    pad = [(0, 0)] * (blocks.ndim - 1) + [(width // 2, width // 2)]
    return sliding_window_view(np.pad(blocks, pad, constant_values=np.nan), width // 2 * 2 + 1, axis=-1)


def _middle(rows: Array, *, at: float) -> Array:
    """A quantile of the finite values of each row; NaN if there are fewer than `_LEAST_BLOCKS`."""
    ordered = np.sort(rows, axis=-1)  # NaN last
    count = np.isfinite(rows).sum(axis=-1)
    place = at * np.maximum(count - 1, 0)
    ends = np.stack([np.floor(place), np.ceil(place)], axis=-1).astype(int)
    low, high = np.moveaxis(np.take_along_axis(ordered, ends, axis=-1), -1, 0)
    return np.where(count >= min(_LEAST_BLOCKS, rows.shape[-2]), low + (place % 1.0) * (high - low), np.nan)


def _to_samples(blocks: Array, size: int, window: int) -> Array:
    """Linear interpolation between the centres of the blocks that are known."""
    block = _block(window)
    at, centres = np.arange(size), np.minimum(np.arange(blocks.shape[-1]) * block + (block - 1) / 2, size - 1.0)
    rows = blocks.reshape(-1, blocks.shape[-1])
    known = [np.interp(at, centres[some], row[some]) if (some := np.isfinite(row)).any() else np.full(size, np.nan)
             for row in rows]  # fmt: skip
    return np.reshape(known, (*blocks.shape[:-1], size))
