"""Emission ratios and combustion efficiency with their uncertainties.

All functions take the excess over background of one encounter or one flight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array, Floats
from pc2dae.plumes.excess import Excess
from pc2dae.plumes.york import Line, york_line, york_slopes


@dataclass(frozen=True)
class Ratio:
    """A ratio and its standard uncertainty: of random errors, and of systematic ones, which more encounters keep."""

    value: float
    random: float
    systematic: float = 0.0
    effects: dict[str, float] = field(default_factory=dict, repr=False)  # of one standard uncertainty of each source

    @property
    def sigma(self) -> float:
        """Total standard uncertainty."""
        return float(np.hypot(self.random, self.systematic))


def covariance(results: Sequence[Ratio]) -> Array:
    """Covariance matrix of several results: each source moves all of them at once, with its sign.

    >>> gain = {"gain co": 0.3}
    >>> covariance([Ratio(2.0, 0.4, 0.3, gain | {"noise co": 0.4}), Ratio(1.0, 0.0, 0.3, gain)]).round(6).tolist()
    [[0.25, 0.09], [0.09, 0.09]]
    """
    sources = dict.fromkeys(name for result in results for name in result.effects)
    effects = np.array([[result.effects.get(name, 0.0) for name in sources] for result in results])
    return np.asarray(effects @ effects.T)


def propagated(
    value: float, terms: Mapping[str, tuple[float, Excess]], *, relative: Mapping[str, float] | None = None
) -> Ratio:
    """A function of the excess of several species, from its derivative by each.

    `relative` are further systematic uncertainties by name.

    Random errors add in quadrature. The effects of one systematic source are added with their signs first: what moves
    numerator and denominator alike leaves a ratio.

    >>> propagated(2.0, {"co": (0.5, Excess(4.0, 1.0, {"gain": 0.4})), "co2": (-1.0, Excess(2.0, 0.0, {"gain": 0.2}))})
    Ratio(value=2.0, random=0.5, systematic=0.0)
    """
    noise, effects = dict[str, float](), dict[str, float]()
    for species, (derivative, excess) in terms.items():
        noise[f"noise {species}"] = derivative * excess.random
        for name, effect in excess.effects.items():
            effects[name] = effects.get(name, 0.0) + derivative * effect
    effects |= {name: value * share for name, share in (relative or {}).items()}
    random, systematic = (float(np.sqrt(sum(e**2 for e in some.values()))) for some in (noise, effects))
    return Ratio(value, random, systematic, noise | effects)


def integral_ratio(numerator: Excess, denominator: Excess, *, names: tuple[str, str] = ("a", "b")) -> Ratio:
    """R = A/B of two integrated excesses; σ² = (σ_A² + R²σ_B²)/B² of random errors, Σ(a − Rb)²/B² of systematic ones.

    a and b are the effects of one source on A and B. First-order propagation; valid for B greater than about 4 σ_B.

    >>> integral_ratio(Excess(10.0, 1.0), Excess(100.0, 5.0)).value
    0.1
    """
    if denominator.value == 0:
        return Ratio(np.nan, np.nan)
    value = numerator.value / denominator.value
    terms = zip(names, ((1 / denominator.value, numerator), (-value / denominator.value, denominator)), strict=True)
    return propagated(value, dict(terms))


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


@dataclass(frozen=True)
class Samples:
    """One species of a pair that is compared sample by sample, at the resolution of both."""

    excess: Array
    error: Array  # standard uncertainty of each sample, random
    sum_variance: float = 0.0  # variance that each sample adds to a sum
    effects: dict[str, Array] = field(default_factory=dict)  # of one standard uncertainty of each systematic source
    smoothed: Array | None = None  # the excess at a coarser resolution
    removed: Array | None = None  # what denoising took away


def slope_ratio(x: Samples, y: Samples, *, block: int, seed: int = 0) -> Ratio:
    """Slope b of y on x by York regression, with its uncertainty; `block` is the error correlation length [samples].

    The random part is the largest of a block bootstrap's, √((v_y + b²v_x)/S_xx), where v is the variance that each
    sample adds to a sum, and the slope of what denoising took from y: noise that was smoothed away leaves no scatter to
    a bootstrap, but the same error in a slope, and a weak plume may go with it. The systematic part is the change of
    the slope by each source, by the resolution (where x and y resolve the same, their slope is the same at a coarser
    one), and half the distance to the slope with the scatter of the air in x: nothing says which of the two it is in.
    """
    line = york_line(x.excess, y.excess, x.error, y.error)
    value = line.slope

    def drawn(index: NDArray[np.intp]) -> Array:
        return york_slopes(*(series[index] for series in (x.excess, y.excess, x.error, y.error)), line=line)

    sources = dict.fromkeys((*x.effects, *y.effects))
    moved = {
        source: (x.excess + x.effects.get(source, 0.0), y.excess + y.effects.get(source, 0.0)) for source in sources
    }
    if x.smoothed is not None and y.smoothed is not None:
        moved["resolution"] = x.smoothed, y.smoothed
    turned = york_line(y.excess, x.excess, y.error, x.error).slope
    slopes = np.nan_to_num(_slopes(list(moved.values()), x.error, y.error, line) - value)
    effects = dict(zip(moved, slopes.tolist(), strict=True)) | {
        "scatter": (1 / turned - value) / 2 if turned > 0 else 0.0
    }
    systematic = float(np.sqrt(sum(e**2 for e in effects.values())))
    centred = x.excess - np.nanmean(x.excess)
    spread = float(np.nansum(centred**2)) or np.nan
    noise = float(np.sqrt((y.sum_variance + value**2 * x.sum_variance) / spread))
    lost = 0.0 if y.removed is None else abs(float(np.nansum(y.removed * centred)) / spread)
    random = block_bootstrap(drawn, len(centred), block=block, seed=seed)
    random = max(random, noise, lost)
    return Ratio(value, random, systematic, effects | {"noise of the slope": random})


def _slopes(pairs: list[tuple[Array, Array]], x_error: Array, y_error: Array, line: Line) -> Array:
    """The slope of each pair of series over the samples that are finite in all of them."""
    if not pairs:
        return np.empty(0)
    x, y = (np.stack(series) for series in zip(*pairs, strict=True))
    some = np.isfinite(x + y).all(axis=0)
    return york_slopes(x[:, some], y[:, some], x_error[some], y_error[some], line=line)


def block_bootstrap(
    statistic: Callable[[NDArray[np.intp]], Array], size: int, *, block: int, draws: int = 200, seed: int = 0
) -> float:
    """Standard deviation of a statistic of sample indices (draw, sample) by moving-block bootstrap.

    Künsch 1989, doi:10.1214/aos/1176347265. Draws with a non-finite result are ignored.
    """
    length = min(max(block, 1), max(size // 2, 1))
    starts = np.random.default_rng(seed).integers(0, size - length + 1, (draws, -(-size // length)))
    drawn = (starts[:, :, None] + np.arange(length)).reshape(draws, -1)[:, :size]
    results = statistic(drawn)
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
    return propagated(co2.value / total, {"co": (-co2.value / total**2, co), "co2": (co.value / total**2, co2)})
