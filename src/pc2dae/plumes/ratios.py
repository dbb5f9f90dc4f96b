"""Emission ratios and combustion efficiency with their uncertainties.

All functions take the excess over background of one encounter or one flight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Floats
from pc2dae.plumes.excess import Excess


@dataclass(frozen=True)
class Ratio:
    """A ratio and its standard uncertainty: of random errors, and of systematic ones, which more encounters keep."""

    value: float
    random: float
    systematic: float = 0.0

    @property
    def sigma(self) -> float:
        """Total standard uncertainty."""
        return float(np.hypot(self.random, self.systematic))


def integral_ratio(numerator: Excess, denominator: Excess) -> Ratio:
    """R = A/B of two integrated excesses; σ² = (σ_A² + R²σ_B²)/B² of random errors, Σ(a − Rb)²/B² of systematic ones.

    a and b are the effects of one source on A and B: what moves both alike leaves the ratio. First-order propagation;
    valid for B greater than about 4 σ_B.

    >>> integral_ratio(Excess(10.0, 1.0), Excess(100.0, 5.0)).value
    0.1
    """
    if denominator.value == 0:
        return Ratio(np.nan, np.nan)
    value = numerator.value / denominator.value
    return _propagated(value, numerator, denominator, 1 / denominator.value, -value / denominator.value)


def _propagated(value: float, first: Excess, second: Excess, by_first: float, by_second: float) -> Ratio:
    """A function of two excesses from its derivatives."""
    sources = first.effects.keys() | second.effects.keys()
    effects = [by_first * first.effects.get(s, 0.0) + by_second * second.effects.get(s, 0.0) for s in sources]
    random = np.hypot(by_first * first.random, by_second * second.random)
    return Ratio(value, float(random), float(np.sqrt(sum(e**2 for e in effects))))


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


def slope_ratio(
    x: Floats,
    y: Floats,
    *,
    sigma_x: float,
    sigma_y: float,
    block: int,
    sum_variance_x: float = 0.0,
    sum_variance_y: float = 0.0,
    effects_x: Mapping[str, Floats] | None = None,
    effects_y: Mapping[str, Floats] | None = None,
    smoothed: tuple[Floats, Floats] | None = None,
    removed_y: Floats | None = None,
    seed: int = 0,
) -> Ratio:
    """Orthogonal slope b and its uncertainty; `block` is the error correlation length [samples].

    The random part is the largest of a block bootstrap's, √((v_y + b²v_x)/S_xx), where v is the variance that each
    sample adds to a sum (`sum_variance_x`, `sum_variance_y`), and the slope of what denoising took from y
    (`removed_y`): noise that was smoothed away leaves no scatter to a bootstrap, but the same error in a slope, and a
    weak plume may go with it. `effects_x` and `effects_y` are what one standard uncertainty of each
    systematic source adds to x and y; its part is the change of the slope. `smoothed` are x and y at a coarser
    resolution: where both resolve the same, their slope is the same.
    """

    def slope(index: NDArray[np.intp]) -> float:
        return orthogonal_slope(x[index], y[index], sigma_x=sigma_x, sigma_y=sigma_y)

    value = slope(np.arange(len(x)))
    in_x, in_y = effects_x or {}, effects_y or {}
    none = np.zeros(len(x))
    moved = [
        orthogonal_slope(x + in_x.get(s, none), y + in_y.get(s, none), sigma_x=sigma_x, sigma_y=sigma_y)
        for s in in_x.keys() | in_y.keys()
    ]
    if smoothed is not None:
        moved.append(orthogonal_slope(*smoothed, sigma_x=sigma_x, sigma_y=sigma_y))
    systematic = float(np.sqrt(sum((m - value) ** 2 for m in moved)))
    spread = float(np.nansum((x - np.nanmean(x)) ** 2)) or np.nan
    propagated = float(np.sqrt((sum_variance_y + value**2 * sum_variance_x) / spread))
    lost = 0.0 if removed_y is None else abs(float(np.nansum(removed_y * (x - np.nanmean(x)))) / spread)
    random = block_bootstrap(slope, len(x), block=block, seed=seed)
    return Ratio(value, max(random, propagated, lost), systematic)


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
    return _propagated(co2.value / total, co, co2, -co2.value / total**2, co.value / total**2)
