"""Paired comparison of two methods; the statistical unit is the flight, not the seed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pc2dae.arrays import Array, Floats


@dataclass(frozen=True)
class Difference:
    """Mean paired difference with its bootstrap interval."""

    mean: float
    low: float
    high: float
    flights: int

    @property
    def is_lead(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0


def paired_difference(first: Floats, second: Floats, *, draws: int = 10_000, seed: int = 0) -> Difference:
    """Mean of first − second over flights, with the 95 % percentile interval of a bootstrap over flights.

    Flights in which either value is NaN are omitted.
    """
    gap = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    gap = gap[np.isfinite(gap)]
    if len(gap) == 0:
        return Difference(np.nan, np.nan, np.nan, 0)
    low, high = np.percentile(_resampling(len(gap), draws, seed) @ gap, [2.5, 97.5])
    return Difference(float(gap.mean()), float(low), float(high), len(gap))


@lru_cache(maxsize=8)
def _resampling(flights: int, draws: int, seed: int) -> Array:
    """Weight of each flight in each bootstrap mean, (draw, flight): draw count divided by the number of flights."""
    drawn = np.random.default_rng(seed).integers(0, flights, (draws, flights))
    weight = np.zeros((draws, flights))
    np.add.at(weight, (np.arange(draws)[:, None], drawn), 1.0 / flights)
    return weight
