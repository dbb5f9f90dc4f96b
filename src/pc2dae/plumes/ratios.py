"""Emission ratios and combustion efficiency with their uncertainties.

All functions take the excess over background of one encounter or one flight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Floats
from pc2dae.plumes.excess import Excess


@dataclass(frozen=True)
class Ratio:
    """A ratio and its standard uncertainty."""

    value: float
    sigma: float


def integral_ratio(numerator: Excess, denominator: Excess) -> Ratio:
    """R = A/B of two integrated excesses with independent errors; σ² = (σ_A² + R²σ_B²)/B².

    First-order propagation; valid for B greater than about 4 σ_B.

    >>> integral_ratio(Excess(10.0, 1.0), Excess(100.0, 5.0)).value
    0.1
    """
    if denominator.value == 0:
        return Ratio(np.nan, np.nan)
    value = numerator.value / denominator.value
    return Ratio(value, float(np.hypot(numerator.sigma, value * denominator.sigma) / abs(denominator.value)))


def orthogonal_slope(x: Floats, y: Floats, *, sigma_x: float, sigma_y: float) -> float:
    """Slope of y against x with errors in both variables (Deming regression), δ = σ_y²/σ_x².

    b = [S_yy − δS_xx + √((S_yy − δS_xx)² + 4δS_xy²)] / 2S_xy; NaN if S_xy = 0.

    >>> x = np.arange(5.0)
    >>> orthogonal_slope(x, 2 * x, sigma_x=1.0, sigma_y=1.0)
    2.0
    """
    some = np.isfinite(x) & np.isfinite(y)
    if np.count_nonzero(some) < 3 or sigma_x <= 0:
        return np.nan
    dx, dy = x[some] - x[some].mean(), y[some] - y[some].mean()
    sxx, syy, sxy = float(dx @ dx), float(dy @ dy), float(dx @ dy)
    if sxy == 0:
        return np.nan
    delta = (sigma_y / sigma_x) ** 2
    rest = syy - delta * sxx
    root = np.hypot(rest, 2 * np.sqrt(delta) * sxy)
    # Both forms give the same root; choose the one without cancellation.
    return float((rest + root) / (2 * sxy) if rest > 0 else 2 * delta * sxy / (root - rest))


def correlation(x: Floats, y: Floats) -> float:
    """Pearson correlation r = S_xy/√(S_xx·S_yy) over samples finite in both; 0 if either is constant.

    >>> correlation(np.arange(5.0), -np.arange(5.0))
    -1.0
    """
    some = np.isfinite(x) & np.isfinite(y)
    if not some.any():
        return 0.0
    dx, dy = x[some] - x[some].mean(), y[some] - y[some].mean()
    power = float(np.sqrt((dx @ dx) * (dy @ dy)))
    return float(dx @ dy) / power if power > 0 else 0.0


def slope_ratio(x: Floats, y: Floats, *, sigma_x: float, sigma_y: float, block: int, seed: int = 0) -> Ratio:
    """Orthogonal slope with block-bootstrap uncertainty; `block` is the error correlation length [samples]."""

    def slope(index: NDArray[np.intp]) -> float:
        return orthogonal_slope(x[index], y[index], sigma_x=sigma_x, sigma_y=sigma_y)

    return Ratio(slope(np.arange(len(x))), block_bootstrap(slope, len(x), block=block, seed=seed))


def block_bootstrap(
    statistic: Callable[[NDArray[np.intp]], float], size: int, *, block: int, draws: int = 200, seed: int = 0
) -> float:
    """Standard deviation of a statistic of sample indices by moving-block bootstrap.

    Künsch 1989, doi:10.1214/aos/1176347265. Draws with a non-finite result are ignored.
    """
    length = min(max(block, 1), max(size // 2, 1))
    starts = np.random.default_rng(seed).integers(0, size - length + 1, (draws, -(-size // length)))
    drawn = (starts[:, :, None] + np.arange(length)).reshape(draws, -1)[:, :size]
    results = np.array([statistic(index) for index in drawn])
    finite = results[np.isfinite(results)]
    if len(finite) < draws // 2:
        return np.nan
    low, high = np.percentile(finite, [15.865, 84.135])  # robust: poorly determined slopes have heavy tails
    return float((high - low) / 2)


def combustion_efficiency(co: Excess, co2: Excess) -> Ratio:
    """Modified combustion efficiency ΔCO₂/(ΔCO₂ + ΔCO), both as mole fractions in the same unit.

    >>> combustion_efficiency(Excess(10.0, 1.0), Excess(90.0, 5.0)).value
    0.9
    """
    total = co.value + co2.value
    if total == 0:
        return Ratio(np.nan, np.nan)
    sigma = np.hypot(co2.value * co.sigma, co.value * co2.sigma) / total**2
    return Ratio(co2.value / total, float(sigma))
