"""A sensor loses nothing: the area of each plume is the same in the air and in the reading (numpy only)."""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Floats, Mask
from pc2dae.edge.lag import Lags
from pc2dae.response.kernels import LN10

_WINDOW, _TIMES = 61, 10.0  # samples, and time constants, over which areas are compared: the longer of both
_SURE = 30.0  # area in units of its noise from which it counts
_MOST = 0.1  # by which an excess is changed
_CLEAN = 0.05  # quantile of the reading


def with_areas(air: Floats, response: Floats, lags: Lags, reading: Floats, new: Mask, sigma: Floats) -> Floats:
    """Estimates of the air whose own reading (`response`) has the area of the measured one, plume by plume.

    The excess is multiplied by the ratio of both areas in a window around each sample, as far as noise leaves it
    known: a network that chooses averages keeps areas only on average.
    """
    done = air.copy()
    for row, kernel in enumerate(lags.kernels):
        both = new[row] & np.isfinite(response[row])
        if kernel is None or not both.any():
            continue
        clean = float(np.quantile(response[row, both], _CLEAN))
        width = max(_WINDOW, int(_TIMES * kernel.t90_s * lags.rate_hz / LN10))
        left, area, count = (
            _sums(np.where(both, x, 0.0), width) for x in (reading[row] - response[row], response[row] - clean, both)
        )
        noise = np.nan_to_num(sigma[row]) * np.sqrt(count)
        sure = area**2 / np.maximum(area**2 + (_SURE * noise) ** 2, 1e-300)
        change = np.clip(left / np.maximum(area, 1e-300), -_MOST, _MOST) * np.where(area > 0, sure, 0.0)
        done[row] += change * np.maximum(air[row] - clean, 0.0)
    return done


def _sums(x: Floats, width: int) -> Floats:
    """Sums over up to `width` samples around each."""
    total = np.append(0.0, np.cumsum(x))
    at = np.arange(len(x))
    return np.asarray(
        total[np.minimum(at + width // 2 + 1, len(x))] - total[np.maximum(at - width // 2, 0)], np.float64
    )
