"""Emission ratios of a flight and of each of its encounters, by integrals and by regression, and which to prefer.

Integrals do not depend on the resolution, because an encounter is widened by the slowest response. Samples do: a slope
is fitted at the coarser effective resolution of the two species.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pc2dae.arrays import Array
from pc2dae.plumes.excess import Excess
from pc2dae.plumes.ratios import Ratio, Samples, combustion_efficiency, correlation, integral_ratio, slope_ratio
from pc2dae.plumes.signals import Signal, at_resolution, slowed
from pc2dae.plumes.species import have_ratio
from pc2dae.response.kernels import smoothed

# name: (numerator, denominator)
RATIOS = {
    "bc/co": ("bc", "co"), "nox/co": ("nox", "co"), "co/co2": ("co", "co2"), "bc/co2": ("bc", "co2"),
    "pm25/co": ("pm25", "co"),
}  # fmt: skip
LEAST_CORRELATION = 0.5  # minimum correlation of two species for a meaningful slope
LEAST_SNR = 3.0  # minimum signal-to-noise ratio of the denominator's integral
_LEAST_WIDTH_S = 5.0  # resolution of a slope at best: two instruments are aligned to a second or two
_APART = 2.0  # standard uncertainties between integral and slope above which they do not agree
Interval = tuple[int, int]


class RatioRow(NamedTuple):
    """One ratio of one scope by one method."""

    ratio: str
    method: str  # integral or slope
    found: Ratio
    units: str
    resolution_s: float  # effective resolution of the slower of the two species
    is_preferred: bool
    reason: str  # why it is preferred or not


class Pair:
    """Two species of a ratio, for all scopes of a flight."""

    def __init__(self, name: str, above: Signal, below: Signal) -> None:
        self.name, self.above, self.below = name, above, below
        self.units = "1" if above.units == below.units else f"{above.units} per {below.units}"
        slower = max(above.t90_s, below.t90_s)
        self.y, self.x = (slowed(signal, slower) for signal in (above, below))
        self.width_s = max(self.y.width_s, self.x.width_s, _LEAST_WIDTH_S)
        self.y, self.x = (at_resolution(signal, self.width_s) for signal in (self.y, self.x))

    def rows(self, parts: Sequence[Interval], above: Excess, below: Excess) -> list[RatioRow]:
        """By integrals and, where the two rise together, by regression; none if the denominator is not significant."""
        if not below.value > LEAST_SNR * below.sigma:  # or its uncertainty is unknown
            return []
        integral, slope = integral_ratio(above, below), self._slope(parts)
        found = {"integral": integral} | ({} if slope is None else {"slope": slope})
        found = {method: ratio for method, ratio in found.items() if ratio.sigma > 0}
        preferred, reason = _preferred(found)
        return [
            RatioRow(self.name, method, ratio, self.units, self.width_s, method == preferred, reason)
            for method, ratio in found.items()
        ]

    def _slope(self, parts: Sequence[Interval]) -> Ratio | None:
        index = np.concatenate([np.arange(*part) for part in parts])
        if correlation(self.x.excess[index], self.y.excess[index]) < LEAST_CORRELATION:
            return None
        block = max(10, int(np.ceil(3 * self.width_s * self.x.rate_hz)))
        return slope_ratio(self._samples(self.x, parts, index), self._samples(self.y, parts, index), block=block)

    def _samples(self, signal: Signal, parts: Sequence[Interval], index: np.ndarray) -> Samples:
        width = self.width_s * signal.rate_hz / np.sqrt(8 * np.log(2))
        removed = None if signal.removed is None else signal.removed[index]
        return Samples(signal.excess[index], signal.error[index], signal.sum_variance, _effects(signal, parts),
                       smoothed(signal.excess, width)[index], removed)  # fmt: skip


def pairs_of(species: Mapping[str, Signal]) -> list[Pair]:
    """The pairs of species that a flight has, with units that can be compared."""
    return [
        Pair(name, species[above], species[below])
        for name, (above, below) in RATIOS.items()
        if above in species and below in species
        and have_ratio(species[above].units, species[below].units, above=above)
    ]  # fmt: skip


def ratio_rows(pairs: Sequence[Pair], parts: Sequence[Interval], excess: Mapping[str, Excess]) -> Iterator[RatioRow]:
    """All ratios and the combustion efficiency of one scope; `excess` are the totals of each species over it."""
    for pair in pairs:
        above, below = RATIOS[pair.name]
        yield from pair.rows(parts, excess[above], excess[below])
        if pair.name == "co/co2" and pair.units == "1" and excess["co2"].value > LEAST_SNR * excess["co2"].sigma:
            efficiency = combustion_efficiency(excess["co"], excess["co2"])
            if efficiency.sigma > 0:
                yield RatioRow("mce", "integral", efficiency, "1", pair.width_s, True, "")


def _preferred(found: Mapping[str, Ratio]) -> tuple[str, str]:
    """The method with the smaller total uncertainty, and why."""
    if len(found) < 2:
        return next(iter(found), ""), "the two species hardly vary together, so there is no slope"
    integral, slope = found["integral"], found["slope"]
    best = "integral" if integral.sigma <= slope.sigma else "slope"
    why = "depends less on the background" if best == "slope" else "depends less on resolution and scatter"
    apart = abs(integral.value - slope.value) / np.hypot(integral.sigma, slope.sigma)
    if apart > _APART:
        why += (
            f"; the methods differ by {apart:.1f} standard uncertainties: several sources, or smoke in the background"
        )
    return best, why


def _effects(signal: Signal, parts: Sequence[Interval]) -> dict[str, Array]:
    """What one standard uncertainty of each systematic source adds to the excess, all parts joined."""
    pieces = [signal.effects(part) for part in parts]
    names = dict.fromkeys(name for piece in pieces for name in piece)
    return {
        name: np.concatenate([piece.get(name, np.zeros(b - a)) for piece, (a, b) in zip(pieces, parts, strict=True)])
        for name in names
    }
