"""A denoiser that returns a stored estimate, so that changing the strength does not run the model again."""

from __future__ import annotations

import numpy as np
import xarray as xr

from pc2dae.arrays import Floats, Mask
from pc2dae.denoiser import Estimate, Job
from pc2dae.metrics.flight import denoised_suite
from pc2dae.plumes.duplicates import own_uncertainty
from pc2dae.suite import Suite


class CachedEstimate:
    """The estimate of a flight that was denoised at full strength."""

    latency_s = np.inf

    def __init__(self, clean: xr.Dataset) -> None:
        self.clean = clean
        self.name = str(clean.attrs["pc2dae_model"])
        self.sha256 = str(clean.attrs["pc2dae_model_sha256"])
        self.suite = denoised_suite(clean)

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """The stored estimate for the channels of `suite`."""

        def column(name: str, kind: str) -> Floats:
            if kind == "_uncertainty":
                found = own_uncertainty(self.clean, name)
            else:
                found = self.clean[f"{name}{kind}"].values.astype(np.float64) if f"{name}{kind}" in self.clean else None
            return np.full(self.clean.sizes["time"], np.nan) if found is None else found

        def job(values: Floats, environment: Floats, valid: Mask) -> Estimate:
            value, unbounded, sigma = (
                np.stack([column(name, kind) for name in suite.names]) for kind in ("", "_unbounded", "_uncertainty")
            )
            return Estimate(value, unbounded, sigma if np.isfinite(sigma).any() else None)

        return job
