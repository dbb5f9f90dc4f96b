"""The cleanest parts of a record in which smoke is the normal state: a running background would follow the smoke."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pc2dae.arrays import Array, Floats, Mask, finite_mean

_BLOCKS = 6  # per window of the background: short beside a gap between plumes, long beside noise
_LOW, _HIGH = 3.0, 95.0  # percentiles [%] of the blocks that are taken as the ends of a channel's range
_NEAR = 0.07  # of that range from its lower end, mean of the species: clean
_RAISED = 0.1  # of that range above its lower end: a species shares a rise
_LEAST = 6  # blocks, a window of time: of clean air, below which a record has none, and of a rise that counts

Rows = Mapping[str, Sequence[int]]  # rows of the channels of each species of smoke


def cleanest_parts(values: Floats, species: Rows, *, window: int) -> tuple[Mask, bool]:
    """Samples (time,) at which all species are near their lowest, and whether there is a window of them in all.

    Without, they are the blocks that come nearest: all of a record may be smoke.
    """
    distance = finite_mean(np.abs(_heights(values, values, species, window)), axis=0)
    order = np.sort(distance[np.isfinite(distance)])
    is_clean = bool(np.count_nonzero(order < _NEAR) >= min(_LEAST, len(order)))
    limit = _NEAR if is_clean else order[min(_LEAST, len(order)) - 1]
    return np.repeat(distance <= limit, _block(window))[: values.shape[-1]], is_clean


def height_over(values: Floats, species: Rows, samples: slice, *, window: int) -> float:
    """Mean height of all species over some samples, 0 at their lowest and 1 at their highest."""
    height = finite_mean(_heights(values, values, species, window), axis=0)
    return float(finite_mean(np.repeat(height, _block(window))[: values.shape[-1]][samples], axis=0))


def lowest_level(values: Floats, *, window: int) -> Array:
    """Lower end of the blocks of each channel (channel, 1)."""
    return np.asarray(np.nanpercentile(_means(values, window), _LOW, axis=-1))[:, None]


def follows_smoke(level: Floats, values: Floats, clean: Mask, species: Rows, spans: Floats, *, window: int) -> bool:
    """Whether a background rises, for a window of time or more, as outdoor air cannot and with a second species.

    `spans` are how much outdoor air varies [channel's units], infinite where that is not known. One sensor alone may
    drift; outdoor air with several ppm more of carbon monoxide, and more of another tracer too, is smoke.
    """
    above = _means(level - finite_mean(np.where(clean, values, np.nan), axis=-1)[:, None], window)
    impossible = [finite_mean(above[list(rows)] / spans[list(rows), None], axis=0) > 1 for rows in species.values()]
    shared = np.count_nonzero(_heights(level, values, species, window) > _RAISED, axis=0) > 1
    return bool(np.count_nonzero(np.any(impossible, axis=0) & shared) >= _LEAST)


def _heights(series: Floats, values: Floats, species: Rows, window: int) -> Array:
    """Height of each species' blocks within the range of its values (species, block): 0 the lowest, 1 the highest."""
    low, high = np.nanpercentile(_means(values, window), [_LOW, _HIGH], axis=-1)[..., None]
    relative = (_means(series, window) - low) / np.where(high > low, high - low, np.inf)
    return np.stack([finite_mean(relative[list(rows)], axis=0) for rows in species.values()])


def _means(series: Floats, window: int) -> Array:
    """Mean of each block of series (channel, time); NaN where nothing was observed."""
    size = _block(window)
    pad = np.pad(np.asarray(series, np.float64), [(0, 0), (0, -series.shape[-1] % size)], constant_values=np.nan)
    return finite_mean(pad.reshape(len(series), -1, size), axis=-1)


def _block(window: int) -> int:
    return max(window // _BLOCKS, 1)
