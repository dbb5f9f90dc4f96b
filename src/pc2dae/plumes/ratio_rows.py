"""Emission ratios of a flight and of each of its encounters, by integrals and by regression, and which to prefer.

Integrals do not depend on the resolution, because an encounter is widened by the slowest response. Samples do: a slope
is fitted at the coarser effective resolution of the two species.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from pc2dae.arrays import Array, Index, Mask, near
from pc2dae.errors import FlightError, nearest
from pc2dae.plumes.baselines import BackgroundUsed
from pc2dae.plumes.excess import FLANK
from pc2dae.plumes.ratios import Ratio, Samples, combustion_efficiency, correlation, integral_ratio, slope_ratio
from pc2dae.plumes.signals import Signal, at_resolution, over_common, scaled, share_of, slowed
from pc2dae.plumes.species import have_ratio
from pc2dae.response.kernels import smoothed
from pc2dae.suite.species import PPB

# name: (numerator, denominator)
RATIOS = {
    "bc/co": ("bc", "co"), "nox/co": ("nox", "co"), "co/co2": ("co", "co2"), "bc/co2": ("bc", "co2"),
    "pm25/co": ("pm25", "co"),
}  # fmt: skip
SMOKE, ENCOUNTER = "smoke", "encounter"  # kinds of an encounter
_TRACERS = ("co", "co2", "bc", "nox", "pm25")
_TRACER_WIDTH_S = 10.0  # of tracers that are compared: sensors of unknown lag differ by a few seconds
LEAST_CORRELATION = 0.5  # minimum correlation of two species for a meaningful slope
LEAST_SNR = 3.0  # minimum signal-to-noise ratio of the denominator's integral
_LEAST_WIDTH_S = 5.0  # resolution of a slope at best: two instruments are aligned to a second or two
_APART = 1.0  # combined standard uncertainties between integral and slope above which neither is preferred
_OWN_SOURCES = ("noise of the slope", "scatter", "resolution")  # of a slope: not shared with other pairs
Interval = tuple[int, int]


class RatioRow(NamedTuple):
    """One ratio of one scope by one method."""

    ratio: str
    method: str  # integral or slope
    found: Ratio
    units: str
    resolution_s: float  # effective resolution of the slower of the two species
    share: float  # of the samples of the scope at which both were measured
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
        self.measured = above.measured & below.measured
        reach = int(np.ceil(self.width_s * above.rate_hz / 2))
        self.resolved = ~near(~self.measured, reach, reach)  # nothing that was smoothed out of a gap

    def rows(self, parts: Sequence[Interval]) -> list[RatioRow]:
        """By integrals and, where the two rise together, by regression; none if the denominator is not significant.

        Only samples at which both were measured count.
        """
        above, below = over_common([self.above, self.below], parts, self.measured)
        if not below.value > LEAST_SNR * below.sigma:  # or its uncertainty is unknown
            return []
        numerator, denominator = self.name.split("/")
        found = {"integral": integral_ratio(above, below, names=(numerator, denominator))}
        if (slope := self._slope(parts)) is not None:
            found["slope"] = slope
        found = {method: ratio for method, ratio in found.items() if ratio.sigma > 0}
        preferred, reason = _preferred(found, self.above.background)
        share = share_of(self.measured, parts)
        rows = [
            RatioRow(self.name, method, ratio, self.units, self.width_s, share, method == preferred, reason)
            for method, ratio in found.items()
        ]
        if self.name == "co/co2" and self.units == "1":
            efficiency = combustion_efficiency(above, below)
            if efficiency.sigma > 0:
                rows.append(RatioRow("mce", "integral", efficiency, "1", self.width_s, share, preferred != "", reason))
        return rows

    def _slope(self, parts: Sequence[Interval]) -> Ratio | None:
        index = np.concatenate([np.arange(*part) for part in parts])
        used = self.resolved[index]
        index = index[used]
        if correlation(self.x.excess[index], self.y.excess[index]) < LEAST_CORRELATION:
            return None
        block = max(10, int(np.ceil(3 * self.width_s * self.x.rate_hz)))
        x, y = (self._samples(signal, parts, index, used) for signal in (self.x, self.y))
        found = slope_ratio(x, y, block=block)
        effects = {f"{self.name} {k}" if k in _OWN_SOURCES else k: effect for k, effect in found.effects.items()}
        return replace(found, effects=effects)

    def _samples(self, signal: Signal, parts: Sequence[Interval], index: Index, used: Mask) -> Samples:
        width = self.width_s * signal.rate_hz / np.sqrt(8 * np.log(2))
        removed = None if signal.removed is None else signal.removed[index]
        return Samples(signal.excess[index], signal.error[index], signal.sum_variance, _effects(signal, parts, used),
                       smoothed(signal.excess, width)[index], removed)  # fmt: skip


def pairs_of(species: Mapping[str, Signal], channels: Mapping[str, Signal], wanted: Sequence[str] = ()) -> list[Pair]:
    """The pairs of species that a flight has, with units that can be compared, and the `wanted` pairs A/B.

    A and B are species, or channels; an error names one that the flight does not have, or units that cannot be
    compared.
    """
    pairs = [
        Pair(name, species[above], species[below])
        for name, (above, below) in RATIOS.items()
        if above in species and below in species
        and have_ratio(species[above].units, species[below].units, above=above)
    ]  # fmt: skip
    known = {pair.name for pair in pairs}
    return pairs + [_own_pair(name, species, channels) for name in dict.fromkeys(wanted) if name not in known]


def kinds_of(species: Mapping[str, Signal], intervals: Sequence[Interval]) -> tuple[str, ...]:
    """Kind of each encounter: `SMOKE` where two tracers of combustion rise and vary together.

    Exhaust of one gas, respiration, drift and a lone channel do not.
    """
    tracers = [species[name] for name in _TRACERS if name in species]
    width = max([_TRACER_WIDTH_S, *(tracer.width_s for tracer in tracers)])
    pairs = list(combinations([(tracer, at_resolution(tracer, width)) for tracer in tracers], 2))

    def vary_together(part: Interval) -> bool:
        reach = max((part[1] - part[0]) // 2, FLANK)  # with air on both sides: a long one may vary little inside
        around = slice(max(part[0] - reach, 0), part[1] + reach)
        for (a, slow_a), (b, slow_b) in pairs:
            both = (a.measured & b.measured)[around]
            rise = all(x.value > LEAST_SNR * x.random for x in (a.over(part), b.over(part)))
            if rise and correlation(slow_a.excess[around][both], slow_b.excess[around][both]) >= LEAST_CORRELATION:
                return True
        return False

    return tuple(SMOKE if vary_together(part) else ENCOUNTER for part in intervals)


def _own_pair(name: str, species: Mapping[str, Signal], channels: Mapping[str, Signal]) -> Pair:
    parts, choices = name.split("/"), {**channels, **species}
    if len(parts) != 2:
        raise FlightError(f"invalid ratio '{name}'", hint="give two species or channels, as in so2/co2")
    for part in parts:
        if part not in choices:
            raise FlightError(f"ratio {name}: the flight has no '{part}'", hint=nearest(part, choices))
    above, below = (_in_common_units(choices[part]) for part in parts)
    if above.units != below.units and not have_ratio(above.units, below.units, above="pm25"):
        raise FlightError(
            f"ratio {name}: {above.units} and {below.units} cannot be compared",
            hint="two mole fractions, two masses per volume, or a mass per volume over a mole fraction",
        )
    return Pair(name, above, below)


def _in_common_units(signal: Signal) -> Signal:
    """A mole fraction in ppb; anything else as it is."""
    factor = PPB.get(signal.units, 1.0)
    return signal if factor == 1.0 else scaled(signal, np.full(len(signal.excess), factor), "ppb")


def _preferred(found: Mapping[str, Ratio], background: BackgroundUsed | None) -> tuple[str, str]:
    """The method with the smaller total uncertainty, and why; none if the methods or the background contradict it."""
    if background is not None and not background.is_good:
        return "", background.reason
    if len(found) < 2:
        return next(iter(found), ""), "the two species hardly vary together, so there is no slope"
    integral, slope = found["integral"], found["slope"]
    best = "integral" if integral.sigma <= slope.sigma else "slope"
    why = "depends less on the background" if best == "slope" else "depends less on resolution and scatter"
    apart = abs(integral.value - slope.value) / np.hypot(integral.sigma, slope.sigma)
    if apart > _APART:
        return (
            "",
            f"the methods differ by {apart:.1f} standard uncertainties: several sources, or smoke in the background",
        )
    return best, why


def _effects(signal: Signal, parts: Sequence[Interval], used: Mask) -> dict[str, Array]:
    """What one standard uncertainty of each systematic source adds to the excess, the used samples of all parts."""
    pieces = [signal.effects(part) for part in parts]
    names = dict.fromkeys(name for piece in pieces for name in piece)
    return {
        name: np.concatenate([piece.get(name, np.zeros(b - a)) for piece, (a, b) in zip(pieces, parts, strict=True)])[
            used
        ]
        for name in names
    }
