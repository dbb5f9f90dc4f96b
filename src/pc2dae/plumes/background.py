"""Level and scatter of the air between plumes, followed through a record."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from pc2dae.arrays import Array, Floats, Index, Mask, near, row_quantiles

WINDOW_S = 60.0  # of the background: plumes are left out of it, so it may follow haze, which varies within minutes
_LEAST_WINDOW = 60  # samples: of a record slower than 1 Hz
_BLOCKS = 30  # blocks per window
_LEAST_BLOCKS = 3  # with clean air that a window needs; with fewer, interpolation is more reliable
_FIRST_WINDOWS = 16  # width of the first estimate in windows: a stay in smoke can take minutes
_MEDIAN_SQUARE = np.log(2.0)  # median of the mean square of two normal samples over their variance
_AT_ONCE = 1 << 16  # values in windows that are sorted together: they fit into the cache
_STEP = 8  # blocks from one first estimate to the next
_DECILE, _QUARTILE = 0.1, 0.25  # below plumes that fill three quarters of the windows
_BETWEEN = 0.6071  # from the lowest decile to the lower quartile of a standard normal distribution


def window_of(rate_hz: float) -> int:
    """Window of the background [samples].

    >>> window_of(1.0), window_of(10.0), window_of(1 / 60)
    (60, 600, 60)
    """
    return max(round(WINDOW_S * rate_hz), _LEAST_WINDOW)


class RunningMedian:
    """Running median of the block means of series (…, time), linear where there are none; NaN without any.

    Noise averages out within a block, and the median follows the edge of an air mass and ignores what faint smoke is
    left in clean air. Called again, only the medians around blocks that have changed are computed.
    """

    def __init__(self, window: int) -> None:
        self.window = window
        self._means: Array | None = None
        self._medians: Array = np.empty(0)

    def __call__(self, values: Floats, clean: Mask) -> Array:
        """The median of clean air at each sample."""
        rows = zip(values.reshape(-1, size := values.shape[-1]), clean.reshape(-1, size), strict=True)
        means = np.stack([_block_means(*row, self.window) for row in rows]).reshape(*values.shape[:-1], -1)
        if self._means is None:
            self._medians, changed = np.full(means.shape, np.nan), np.ones(means.shape, bool)
        else:
            changed = (means != self._means) & ~(np.isnan(means) & np.isnan(self._means))
        self._means, around, count = means, _around(means, _BLOCKS), _known(means, _BLOCKS)
        places = np.nonzero(near(changed, _BLOCKS // 2, _BLOCKS // 2))
        least, step = min(_LEAST_BLOCKS, means.shape[-1]), max(_AT_ONCE // around.shape[-1], 1)
        for start in range(0, len(places[0]), step):
            some = tuple(place[start : start + step] for place in places)
            (self._medians[some],) = _quantiles(around[some], count[some], 0.5, least=least)
        return _to_samples(self._medians, size, self.window)


def running_level(values: Floats, clean: Mask, *, window: int) -> Array:
    """Running median of the clean air of series (…, time), linear where there is none; NaN without any.

    >>> air = np.full(900, 400.0)
    >>> air[300:320] += 50.0
    >>> float(running_level(air, air < 410, window=60)[310])
    400.0
    """
    return RunningMedian(window)(values, clean)


def running_scatter(residual: Floats, clean: Mask, median: RunningMedian) -> Array:
    """Running standard deviation of clean air around its level, from the median of mean squares; 0 without any."""
    square = median(np.asarray(residual, np.float64) ** 2, clean)
    return np.asarray(np.sqrt(np.nan_to_num(square, copy=False) / _MEDIAN_SQUARE))


def first_estimate(values: Floats, *, window: int) -> tuple[Array, Array]:
    """Level and scatter to start with: lower quartile of block means in 16 windows, its distance from the decile."""
    means = _block_means(values, np.isfinite(values), window)
    width = _BLOCKS * _FIRST_WINDOWS
    around, count = _around(means, width)[::_STEP], _known(means, width)[::_STEP]
    index, least, step = np.arange(len(means)), min(_LEAST_BLOCKS, len(around)), max(_AT_ONCE // width, 1)
    parts = [slice(start, start + step) for start in range(0, len(around), step)]
    found = [_quantiles(around[part], count[part], _DECILE, _QUARTILE, least=least) for part in parts]
    lowest, low = (np.interp(index, index[::_STEP], np.concatenate(x)) for x in zip(*found, strict=True))
    level, scatter = (_to_samples(x, len(values), window) for x in (low, (low - lowest) / _BETWEEN))
    return level, scatter


def _block(window: int) -> int:
    return max(window // _BLOCKS, 1)


def _block_means(values: Floats, where: Mask, window: int) -> Array:
    """Mean over the samples of each block of a series that are marked, NaN if they are less than a third."""
    block = _block(window)
    pad = -len(values) % block
    marked = np.pad(where & np.isfinite(values), (0, pad))
    x = np.where(marked, np.pad(np.asarray(values, np.float64), (0, pad)), 0.0)
    total, count = np.zeros(len(x) // block), np.zeros(len(x) // block, np.int32)
    for n in range(block):  # two at 1 Hz, over which `sum` would take three times as long
        total += x[n::block]
        count += marked[n::block]
    return np.asarray(np.divide(total, count, where=3 * count >= block, out=np.full(count.shape, np.nan)))


def _around(blocks: Array, width: int) -> Array:
    """The blocks around each block, (…, block, width + 1)."""
    pad = [(0, 0)] * (blocks.ndim - 1) + [(width // 2, width // 2)]
    return sliding_window_view(np.pad(blocks, pad, constant_values=np.nan), width // 2 * 2 + 1, axis=-1)


def _known(blocks: Array, width: int) -> Index:
    """How many of the blocks around each block are finite."""
    pad = [(0, 0)] * (blocks.ndim - 1) + [(width // 2 + 1, width // 2)]
    count = np.cumsum(np.pad(np.isfinite(blocks), pad), axis=-1)
    return np.asarray(count[..., width // 2 * 2 + 1 :] - count[..., : -(width // 2 * 2 + 1)])


def _quantiles(rows: Array, count: Index, *shares: float, least: int) -> list[Array]:
    """Quantiles of the finite values of each row, which are `count`; NaN if there are fewer than `least`."""
    ordered = np.sort(rows, axis=-1)  # NaN last
    return [np.where(count >= least, row_quantiles(ordered, count, share), np.nan) for share in shares]


def _to_samples(blocks: Array, size: int, window: int) -> Array:
    """Linear interpolation between the centres of the blocks that are known."""
    block = _block(window)
    at, centres = np.arange(size), np.minimum(np.arange(blocks.shape[-1]) * block + (block - 1) / 2, size - 1.0)
    rows = blocks.reshape(-1, blocks.shape[-1])
    known = [np.interp(at, centres[some], row[some]) if (some := np.isfinite(row)).any() else np.full(size, np.nan)
             for row in rows]  # fmt: skip
    return np.reshape(known, (*blocks.shape[:-1], size))
