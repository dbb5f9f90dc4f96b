"""Optimised noise-reduction averaging: an aethalometer averages until its filter has darkened by a set amount.

Hagler et al. 2011, doi:10.4209/aaqr.2011.05.0055. It restarts at every tape advance (a jump down in attenuation): an
average across one would mix two spots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.denoiser import Estimate, Job
from pc2dae.filters.gaps import fill, observed
from pc2dae.suite import Suite

if TYPE_CHECKING:
    import xarray as xr

_TAPE_ADVANCE = 1.0  # a fall in attenuation that noise never makes


def ona_groups(attenuation: Floats, *, rise: float = 0.05) -> NDArray[np.intp]:
    """The number of the averaging interval each sample belongs to; missing attenuation continues the interval."""
    groups = np.zeros(len(attenuation), dtype=np.intp)
    start = last = np.nan
    group = 0
    for t, value in enumerate(attenuation):
        if np.isfinite(value):
            if last - value > _TAPE_ADVANCE or value - start >= rise:
                group += 1
                start = value
            elif np.isnan(start):
                start = value
            last = value
        groups[t] = group
    return groups


def ona(values: Array, valid: Mask, attenuation: Array, *, rise: float = 0.05) -> Array:
    """Each channel averaged over its intervals of `rise` in attenuation; a channel without attenuation stays raw."""
    x, ok = observed(values, valid)
    smoothed = fill(values, valid)
    for row, series, seen, dark in zip(smoothed, x, ok, attenuation, strict=True):
        if seen.any() and np.isfinite(dark).any():
            groups = ona_groups(dark, rise=rise)
            count = np.bincount(groups, weights=seen)
            total = np.bincount(groups, weights=series)
            mean = np.divide(total, count, where=count > 0, out=np.zeros_like(total))
            row[:] = fill(mean[groups][None], (count > 0)[groups][None])[0]
    return smoothed


@dataclass(frozen=True)
class Ona:
    """ONA as a denoiser: each aethalometer channel's attenuation comes from the flight; other channels stay raw."""

    rise: float = 0.05
    name: str = "ona"
    latency_s: float = np.inf  # clean air darkens a filter slowly: an interval may last minutes

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """Find the attenuation of each channel: `uv_bc1` of an instrument has its own in `uv_atn1`."""
        attenuation = np.full((len(suite.names), flight.sizes["time"]), np.nan)
        for row, name in zip(attenuation, suite.names, strict=True):
            source = suite.sources.get(name)
            if source is None or "bc" not in source.column:
                continue
            variable = source.variable(source.column.replace("bc", "atn"))
            if variable in flight:
                row[:] = flight[variable].values

        def job(values: Floats, environment: Floats, valid: Mask) -> Estimate:
            mean = ona(np.asarray(values, np.float64), valid, attenuation, rise=self.rise)
            return Estimate(mean, mean)

        return job
