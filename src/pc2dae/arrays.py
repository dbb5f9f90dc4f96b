"""Array types for annotations, and what several rooms do with arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Array32 = NDArray[np.float32]
Floats = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
Bits = NDArray[np.int32]  # QC flags
Index = NDArray[np.int64]


def near(mask: Mask, before: int, after: int) -> Mask:
    """Mask (…, time) of samples with a marked one at most `before` samples earlier or `after` samples later.

    >>> near(np.array([0, 0, 0, 1, 0, 0]) > 0, 1, 1).astype(int)
    array([0, 0, 1, 1, 1, 0])
    """
    pad = [(0, 0)] * (mask.ndim - 1) + [(before + 1, after)]
    count = np.cumsum(np.pad(mask, pad), axis=-1, dtype=np.int32)
    return np.asarray(count[..., before + after + 1 :] > count[..., : -before - after - 1])


def finite_mean(x: Floats, *, axis: int) -> Array:
    """Mean of what is finite, NaN where nothing is.

    >>> finite_mean(np.array([[1.0, np.nan], [3.0, np.nan]]), axis=0)
    array([ 2., nan])
    """
    count = np.isfinite(x).sum(axis=axis)
    return np.asarray(np.divide(np.nansum(x, axis=axis), count, where=count > 0, out=np.full(count.shape, np.nan)))


def row_quantiles(ordered: Array, count: NDArray[np.integer[Any]], share: float) -> Array:
    """The quantile of the first `count` values of each sorted row.

    >>> row_quantiles(np.array([[1.0, 2.0, 4.0], [3.0, 5.0, np.nan]]), np.array([3, 2]), 0.5)
    array([2., 4.])
    """
    place = share * np.maximum(count - 1, 0)
    row, below = np.arange(len(ordered)), place.astype(np.intp)
    low, high = ordered[row, below], ordered[row, np.ceil(place).astype(np.intp)]
    return np.asarray(low + (place - below) * (high - low))
