"""Integrated excess over background and its uncertainty in the presence of autocorrelated errors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Floats, Mask

FLANK = 30  # samples on each side that determine the background beneath an encounter: half its window at 1 Hz
_JITTER = 0.1  # timing uncertainty of a logger [sample intervals]
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


def integrate(
    excess: Floats,
    interval: tuple[int, int],
    outside: Mask,
    *,
    noise_sum_variance: float,
    flank: int = FLANK,
    seen: Mask | None = None,
    unseen_sigma: Floats | None = None,
) -> Excess:
    """Sum of the excess of one channel over `interval`, with its random uncertainty.

    `outside` marks plume-free samples, of which those within `flank` samples determine the background, and `seen` the
    observed samples. The variance is
    max(propagated, observed) + timing + gaps:

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
    size = stop - start
    flanks = outside[max(start - flank, 0) : start].sum() + outside[stop : stop + flank].sum()
    propagated = noise_sum_variance * (size + size**2 / max(int(flanks), 1))
    observed = _scatter(np.where(outside, excess, 0.0), outside, size)
    timing = _timing(excess[start:stop], None if seen is None else seen[start:stop])
    unseen = 0.0 if unseen_sigma is None else _in_gaps(unseen_sigma[start:stop])
    return Excess(float(np.nansum(excess[start:stop])), float(np.sqrt(max(propagated, observed) + timing + unseen)))


def estimate_sum_variance(sigma: float, correlation_s: float, *, rate_hz: float = 1.0) -> float:
    """v = σ²·τ·rate, for an estimate with standard uncertainty σ and integral error correlation time τ [s].

    >>> estimate_sum_variance(2.0, 5.0)
    20.0
    """
    return float(sigma**2 * max(correlation_s * rate_hz, 1.0))


def _timing(excess: Floats, seen: Mask | None) -> float:
    at = np.flatnonzero(np.isfinite(excess) if seen is None else seen & np.isfinite(excess))
    return float(np.sum(((np.diff(at) - 1) ** 2 / 12.0 + _JITTER**2) * np.diff(excess[at]) ** 2))


def _in_gaps(sigma: Floats) -> float:
    total = np.concatenate([[0.0], np.cumsum(sigma)])
    bounds = np.concatenate([[0], np.flatnonzero(sigma == 0), [len(sigma)]])
    return float(np.sum(np.diff(total[bounds]) ** 2))


def _scatter(excess: Floats, outside: Mask, size: int) -> float:
    """Variance, over plume-free positions, of the sum of `size` samples minus `size` × the mean of both flanks."""
    flank = min(FLANK, max(size, 30))
    total = np.concatenate([[0.0], np.cumsum(excess)])
    count = np.concatenate([[0], np.cumsum(outside)])
    at = np.arange(flank, len(excess) - size - flank + 1)
    if len(at) == 0:
        return 0.0

    def between(sums: Floats, a: NDArray[np.intp], b: NDArray[np.intp]) -> Floats:
        return np.asarray(sums[b] - sums[a])

    clean = between(count, at, at + size) == size
    around = between(count, at - flank, at) + between(count, at + size, at + size + flank)
    clean &= around >= flank
    if np.count_nonzero(clean) < _LEAST_PLACES * size:
        return 0.0
    level = between(total, at - flank, at) + between(total, at + size, at + size + flank)
    residual = between(total, at, at + size)[clean] - size * level[clean] / around[clean]
    return float(np.mean(residual**2))
