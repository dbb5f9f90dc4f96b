"""Integrated excess over background and its uncertainty in the presence of autocorrelated errors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from pc2dae.arrays import Array, Floats, Mask

FLANK = 30  # samples on each side that determine the background beneath an encounter: half its window at 1 Hz
_JITTER = 0.1  # timing uncertainty of a logger [sample intervals]
_MOST_PLACES = 50_000  # positions that are looked at: of a longer record every second, third, …
_LEAST_PLACES = 20  # plume-free positions required for a reliable scatter estimate


@dataclass(frozen=True)
class Excess:
    """Integral over an encounter and its standard uncertainty, in the channel's units × samples.

    `random` errors are independent between encounters and species. `effects` are what one standard uncertainty of each
    systematic source does to the integral, with its sign: sources are independent of each other, the effects of one
    source on several integrals are fully correlated.
    """

    value: float
    random: float
    effects: dict[str, float] = field(default_factory=dict)

    @property
    def systematic(self) -> float:
        """Standard uncertainty due to systematic sources."""
        return float(np.sqrt(sum(effect**2 for effect in self.effects.values())))

    @property
    def sigma(self) -> float:
        """Total standard uncertainty."""
        return float(np.hypot(self.random, self.systematic))


def add_up(pieces: Iterable[Excess]) -> Excess:
    """Sum of integrals: random parts add in quadrature, systematic ones source by source.

    >>> add_up([Excess(10.0, 3.0, {"gain": 1.0}), Excess(20.0, 4.0, {"gain": 2.0})])
    Excess(value=30.0, random=5.0, effects={'gain': 3.0})
    """
    value, variance, effects = 0.0, 0.0, dict[str, float]()
    for piece in pieces:
        value, variance = value + piece.value, variance + piece.random**2
        effects |= {name: effects.get(name, 0.0) + effect for name, effect in piece.effects.items()}
    return Excess(value, float(np.sqrt(variance)), effects)


class CleanAir:
    """The plume-free air of one channel: how far integrals over it scatter, remembered for each length.

    >>> plume = np.r_[np.zeros(20), np.full(5, 10.0), np.zeros(20)]
    >>> CleanAir(plume, plume == 0).scatter(5)
    0.0
    """

    def __init__(self, excess: Floats, outside: Mask) -> None:
        self._total = np.concatenate([[0.0], np.cumsum(np.where(outside, excess, 0.0))])
        self._count = np.concatenate([[0], np.cumsum(outside)])
        self._known: dict[int, float] = {}

    def scatter(self, size: int) -> float:
        """Variance, over plume-free positions, of the sum of `size` samples minus `size` × the mean of both flanks."""
        if size not in self._known:
            self._known[size] = self._scatter(size)
        return self._known[size]

    def _scatter(self, size: int) -> float:
        step = len(self._count) // _MOST_PLACES + 1
        inside, around = _moving(self._count, size, step)
        clean = (inside == size) & (around >= FLANK)
        if step * np.count_nonzero(clean) < max(_LEAST_PLACES * size, 1):
            return 0.0
        value, level = (sums[clean] for sums in _moving(self._total, size, step))
        return float(np.mean((value - size * level / around[clean]) ** 2))


def integrate(
    excess: Floats,
    interval: tuple[int, int],
    outside: Mask,
    *,
    noise_sum_variance: float,
    clean: CleanAir | None = None,
    flank: int = FLANK,
    seen: Mask | None = None,
    unseen_sigma: Floats | None = None,
    used: Mask | None = None,
) -> Excess:
    """Sum of the excess of one channel over `interval`, with its random uncertainty.

    `outside` marks plume-free samples, of which those within `flank` samples determine the background, and `seen` the
    observed samples; `clean` is the air of this channel, if several intervals are integrated, and `used` the samples
    that are summed, if not all. The variance is max(propagated, observed) + timing + gaps:

    - propagated: v·(n + n²/m), where v is the variance that each sample adds to a sum (σ² times the integral of the
      error autocorrelation) and m is the number of plume-free samples within the flanks;
    - observed: the scatter of the same integral over plume-free air;
    - timing: Σ (m²/12 + j²)Δ² over steps Δ across m missing samples, whose values may lie anywhere between both ends,
      with a timing uncertainty of j sample intervals; relevant where the plume is steep;
    - gaps: (Σ s)² for each gap, where s is the stated uncertainty of samples that were not observed (`unseen_sigma`, 0
      elsewhere); errors within a gap are assumed fully correlated.

    >>> plume = np.r_[np.zeros(20), np.full(5, 10.0), np.zeros(20)]
    >>> integrate(plume, (20, 25), plume == 0, noise_sum_variance=1.0).value
    50.0
    """
    start, stop = interval
    inside = np.ones(stop - start, bool) if used is None else used[start:stop]
    size = int(np.count_nonzero(inside))
    flanks = outside[max(start - flank, 0) : start].sum() + outside[stop : stop + flank].sum()
    propagated = noise_sum_variance * (size + size**2 / max(int(flanks), 1))
    observed = (clean or CleanAir(excess, outside)).scatter(size)
    timing = _timing(excess[start:stop], inside, inside if seen is None else seen[start:stop] & inside)
    unseen = 0.0 if unseen_sigma is None else _in_gaps(np.where(inside, unseen_sigma[start:stop], 0.0))
    return Excess(
        float(np.nansum(excess[start:stop][inside])), float(np.sqrt(max(propagated, observed) + timing + unseen))
    )


def estimate_sum_variance(sigma: float, correlation_s: float, *, rate_hz: float = 1.0) -> float:
    """v = σ²·τ·rate, for an estimate with standard uncertainty σ and integral error correlation time τ [s].

    >>> estimate_sum_variance(2.0, 5.0)
    20.0
    """
    return float(sigma**2 * max(correlation_s * rate_hz, 1.0))


def _timing(excess: Floats, inside: Mask, seen: Mask) -> float:
    at = np.flatnonzero(seen & np.isfinite(excess))
    left_out = np.cumsum(~inside)[at]  # a step across samples that are not summed moves nothing
    variance = ((np.diff(at) - 1) ** 2 / 12.0 + _JITTER**2) * np.diff(excess[at]) ** 2
    return float(np.sum(variance[np.diff(left_out) == 0]))


def _in_gaps(sigma: Floats) -> float:
    if not sigma.any():
        return 0.0
    total = np.concatenate([[0.0], np.cumsum(sigma)])
    bounds = np.concatenate([[0], np.flatnonzero(sigma == 0), [len(sigma)]])
    return float(np.sum(np.diff(total[bounds]) ** 2))


def _moving(cumulated: Array, size: int, step: int) -> tuple[Array, Array]:
    """Sums over `size` samples and over both flanks around them, at every `step`-th position with whole flanks."""
    places = max(len(cumulated) - size - 2 * FLANK, 0)
    first, start, stop, last = (cumulated[at : at + places : step] for at in (0, FLANK, FLANK + size, 2 * FLANK + size))
    return stop - start, start - first + (last - stop)
