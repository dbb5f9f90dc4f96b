"""Straight line through data with errors in both variables and a scatter of the air itself (York regression)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pc2dae.arrays import Array, Floats

_ROUNDS = 50  # iterations of York's equation; it converges in about five
_CLOSE = 1e-10  # relative change of the slope at convergence
_NEARLY = 1e-6  # … of a slope of which only the spread, or the residuals, are used
_ZERO = 1e-3  # of the logarithm that decides about the scatter


class Line(NamedTuple):
    """A fitted line y = intercept + slope·x."""

    slope: float
    intercept: float
    sigma: float  # standard uncertainty of the slope if the errors of the samples are independent
    scatter: float  # intrinsic standard deviation of y about the line that the errors do not explain


_NONE = Line(np.nan, np.nan, np.nan, np.nan)


def york_line(x: Floats, y: Floats, sigma_x: Floats, sigma_y: Floats, *, scatter: float | None = None) -> Line:
    """Least-squares line with errors σ_x and σ_y of each sample and an intrinsic scatter s of y.

    Minimises Σ(y − a − bx)²/(σ_y² + s² + b²σ_x²) by the iteration of York et al. 2004 (doi:10.1119/1.1632486); s is
    the value that makes the sum n − 2 (Tremaine et al. 2002, doi:10.1086/341002), 0 if it is less without, or `scatter`
    where given. Two species are not emitted in one exact proportion: without s the errors in x alone would have to
    explain that, and the line would turn towards the regression of x on y. NaN with fewer than three samples, or if x
    does not vary.

    >>> x = np.arange(5.0)
    >>> line = york_line(x, 1 + 2 * x, np.full(5, 0.1), np.full(5, 0.1))
    >>> round(line.slope, 6), round(line.intercept, 6), line.scatter
    (2.0, 1.0, 0.0)
    """
    some = np.isfinite(x) & np.isfinite(y)
    if np.count_nonzero(some) < 3 or not np.ptp(x[some]) > 0:
        return _NONE
    xs, ys, var_x, var_y = (series[some].astype(np.float64) for series in (x, y, sigma_x**2, sigma_y**2))

    slope = _plain_slope(xs, ys)

    def excess(variance: float) -> float:
        nonlocal slope
        slope, intercept, _ = _fit(xs, ys, var_x, var_y + variance, slope, close=_NEARLY)
        r = ys - intercept - slope * xs
        total = float(np.sum(r**2 / (var_y + variance + slope**2 * var_x)))
        return math.log(max(total, 1e-300) / (len(xs) - 2))  # nearly a line over the logarithm of the variance

    if scatter is not None:
        variance = scatter**2
    else:
        largest = float(np.var(ys)) * len(ys)  # of no line at all
        tiny = 1e-12 * largest  # keeps weights finite where no error is stated
        variance = tiny if largest == 0 or excess(tiny) <= 0 else _zero(excess, tiny, largest)
        variance = 0.0 if variance == tiny and np.all(var_y > 0) else variance
    slope, intercept, sigma = _fit(xs, ys, var_x, var_y + variance, slope)
    return Line(float(slope), float(intercept), float(sigma), float(np.sqrt(variance)))


def _zero(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function of a positive number is nearly zero, by the Illinois method on its logarithm."""
    ends, values = [math.log(low), math.log(high)], [falling(low), falling(high)]
    while values[1] < 0:
        middle = (values[0] * ends[1] - values[1] * ends[0]) / (values[0] - values[1])
        value = falling(math.exp(middle))
        if abs(value) < _ZERO or ends[1] - ends[0] < _ZERO:
            return math.exp(middle)
        side = 0 if value > 0 else 1
        ends[side], values[side] = middle, value
        values[1 - side] /= 2  # moves the next point across the zero
    return high


def york_slopes(x: Floats, y: Floats, sigma_x: Floats, sigma_y: Floats, *, line: Line) -> Array:
    """Slopes of lines with the scatter of `line`, and near it, each through the samples of the last axis.

    NaN with fewer than three samples, or where x does not vary.
    """
    if x.shape[-1] < 3:
        return np.full(x.shape[:-1], np.nan)
    start = np.where(np.ptp(x, axis=-1) > 0, line.slope, np.nan)
    return _fit(x, y, sigma_x**2, sigma_y**2 + line.scatter**2, start, close=_NEARLY)[0]


def _plain_slope(x: Floats, y: Floats) -> Array:
    """Slope of y on x without regard to errors."""
    dx = x - x.mean()
    return np.asarray((dx * (y - y.mean())).sum() / (dx * dx).sum())


def _fit(
    x: Floats, y: Floats, var_x: Floats, var_y: Floats, slope: Array, *, close: float = _CLOSE
) -> tuple[Array, Array, Array]:
    """Slope, intercept and standard uncertainty of the slope for known variances, along the last axis.

    The iteration begins with `slope`; where that is NaN the results are.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(_ROUNDS):
            b = slope[..., None]
            weight = 1.0 / np.maximum(var_y + b**2 * var_x, 1e-300)
            middle_x, middle_y = (_mean(z, weight) for z in (x, y))
            u, v = x - middle_x, y - middle_y
            at = weight * (u * var_y + b * v * var_x)  # adjusted x: where the point meets the line
            before, slope = slope, (weight * at * v).sum(axis=-1) / (weight * at * u).sum(axis=-1)
            if np.all((np.abs(slope - before) <= close * np.abs(slope)) | ~np.isfinite(slope)):
                break
        spread = (weight * (at - _mean(at, weight)) ** 2).sum(axis=-1)
        return slope, (middle_y - slope[..., None] * middle_x)[..., 0], 1 / np.sqrt(spread)


def _mean(x: Floats, weight: Floats) -> Array:
    return np.asarray((weight * x).sum(axis=-1, keepdims=True) / weight.sum(axis=-1, keepdims=True))
