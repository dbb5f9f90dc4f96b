"""Optimised noise-reduction averaging (ONA) of aethalometer data over fixed increments of attenuation.

Hagler et al. 2011, doi:10.4209/aaqr.2011.05.0055. Averaging restarts at each tape advance (a drop in attenuation), so
that two spots are never mixed.
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

_TAPE_ADVANCE = 1.0  # drop in attenuation too large to be noise


def ona_groups(attenuation: Floats, *, rise: float = 0.05) -> NDArray[np.intp]:
    """Index of the averaging interval of each sample; samples without attenuation continue the current interval."""
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
    """Average each channel over attenuation increments of `rise`; channels without attenuation are left raw."""
    x, ok = observed(values, valid)
    smoothed = fill(values, valid)
    for row, series, seen, atn in zip(smoothed, x, ok, attenuation, strict=True):
        if seen.any() and np.isfinite(atn).any():
            groups = ona_groups(atn, rise=rise)
            count = np.bincount(groups, weights=seen)
            total = np.bincount(groups, weights=series)
            mean = np.divide(total, count, where=count > 0, out=np.zeros_like(total))
            row[:] = fill(mean[groups][None], (count > 0)[groups][None])[0]
    return smoothed


@dataclass(frozen=True)
class Ona:
    """ONA as a denoiser, with attenuation taken from the flight; other channels are left raw."""

    rise: float = 0.05
    name: str = "ona"
    latency_s: float = np.inf  # in clean air an averaging interval may last minutes

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """Look up the attenuation column of each channel: `uv_atn1` for `uv_bc1`."""
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
