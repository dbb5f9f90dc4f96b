"""What the residuals of a calibration say of the zero: its spread, how it wanders, ages and drifts."""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array, finite_mean
from pc2dae.calibration.fit import FOLDS

_HOUR_S, _CHECK_S = 3600.0, 1200.0
_DAY_S = 86_400.0


def spread(x: Array) -> float:
    """Robust root mean square: 90 % of normal values lie within 1.645 times it."""
    finite = np.abs(x[np.isfinite(x)])
    return float(np.quantile(finite, 0.9) / 1.645) if len(finite) else 0.0


def hourly(residual: Array, step_s: float) -> float:
    """Spread of hourly means, without their noise."""
    return without_noise(block_means(residual, step_s, _HOUR_S), residual, step_s, _HOUR_S)


def wander(residual: Array, step_s: float) -> float:
    """√½ · the root mean square change of ten-minute means over twenty minutes, without their noise."""
    means = block_means(residual, step_s, _CHECK_S / 2)
    changes = (means[2:] - means[:-2]) / np.sqrt(2)
    return without_noise(changes, residual, step_s, _CHECK_S / 2) if len(changes) else spread(residual)


def ageing(residual: Array, step_s: float) -> float:
    """What a zero moves by in a day, from the means of held-out blocks.

    A random walk is in a block as far from its mean over the M blocks before as in (M + 1)/3 blocks' time: M is 3 to 5.
    """
    length_s = len(residual) * step_s / FOLDS
    apart_s = length_s * (np.mean([3, 4, 5]) + 1) / 3
    return float(np.sqrt(_DAY_S / apart_s * np.mean(block_means(residual, step_s, length_s) ** 2)))


def trend(error: Array, step_s: float) -> tuple[float, float]:
    """Slope of residuals per day and its uncertainty, from the means of blocks; known from one day on."""
    days = len(error) * step_s / _DAY_S
    means = block_means(error, step_s, days * _DAY_S / FOLDS)
    if days < 1 or len(means) < 3:
        return 0.0, 0.0
    at = np.arange(len(means)) * days / FOLDS
    slope, intercept = np.polyfit(at, means, 1)
    rest = means - slope * at - intercept
    doubt = np.sqrt(rest @ rest / max(len(means) - 2, 1) / np.sum((at - at.mean()) ** 2))
    return float(slope), float(doubt)


def without_noise(means: Array, residual: Array, step_s: float, length_s: float) -> float:
    """Spread of means of `length_s`, less what the noise of the single values contributes."""
    white = spread(np.diff(residual)) ** 2 / 2
    return float(np.sqrt(max(spread(means) ** 2 - white * min(step_s / length_s, 1.0), 0.0)))


def block_means(series: Array, step_s: float, length_s: float) -> Array:
    """Means of consecutive parts of `length_s`; parts without any value are left out."""
    size = max(round(length_s / step_s), 1)
    count = len(series) // size
    parts = series[: count * size].reshape(count, size) if count else series[None]
    means = finite_mean(parts, axis=1)
    return np.asarray(means[np.isfinite(means)])
