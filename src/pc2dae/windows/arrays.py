"""A flight's channels as arrays for a denoiser, and its answer back in the flight."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from pc2dae.emit import Array, Estimate, Mask
from pc2dae.flight.schema import observed
from pc2dae.noise import Noise, sum_variance
from pc2dae.suite import ENVIRONMENT, Suite


def arrays_of(flight: xr.Dataset, suite: Suite) -> tuple[Array, Array, Mask]:
    """Values (channel, time), environment (3, time) and validity (channel, time) of a flight."""
    values = np.stack([flight[name].values for name in suite.names]).astype(np.float64)
    valid = np.stack([observed(flight, name) for name in suite.names])
    unknown = np.full(flight.sizes["time"], np.nan)
    environment = np.stack([flight[name].values if name in flight else unknown for name in ENVIRONMENT])
    return values, environment.astype(np.float64), valid


def blend(estimate: Estimate, values: Array, valid: Mask, *, noise: Array, strength: float) -> Estimate:
    """strength · estimate + (1 − strength) · raw where something was observed; noise [of raw] is (channel, 1)."""
    if strength == 1.0:
        return estimate
    share = np.where(valid, strength, 1.0)
    raw = np.where(valid, values, 0.0)
    value, unbounded = (share * x + (1 - share) * raw for x in (estimate.value, estimate.unbounded))
    blended = None if estimate.sigma is None else share * estimate.sigma + (1 - share) * np.nan_to_num(noise)
    return Estimate(value, unbounded, blended)


def with_estimate(flight: xr.Dataset, suite: Suite, estimate: Estimate, noise: Noise) -> xr.Dataset:
    """The flight with the estimate in its channels; a channel without any observation is left alone."""
    new: dict[str, Any] = {}  # put in all at once: xarray copies its list of variables each time
    for row, channel in enumerate(suite.channels):
        name, units = channel.name, channel.units
        seen = observed(flight, name)
        if not seen.any():
            continue
        attrs = dict(flight[name].attrs)
        before = {"long_name": f"{attrs.get('long_name', name)}, before denoising"}
        new[f"{name}_raw"] = ("time", flight[name].values, attrs | before)
        named = {"units": units, "family": attrs.get("family", "")}
        unbounded = named | {"long_name": f"{name} before its lower bound, for integrals and ratios"}
        new[f"{name}_unbounded"] = ("time", estimate.unbounded[row], unbounded)
        ancillary = f"qc_{name}"
        if estimate.sigma is not None:
            standard = {"standard_name": f"{attrs['standard_name']} standard_error"} if "standard_name" in attrs else {}
            spread = named | standard | {"long_name": f"one-sigma standard uncertainty of {name}, noise alone"}
            spacing = float(np.median(np.diff(np.flatnonzero(seen)))) if seen.sum() > 1 else 1.0
            held = sum_variance(noise.sigma[row], noise.lag1[row]) * spacing
            spread["error_correlation_s"] = _correlation_s(held, estimate.sigma[row], suite.rate_hz)
            new[f"{name}_uncertainty"] = ("time", estimate.sigma[row], spread)
            ancillary += f" {name}_uncertainty"
        attrs |= {"ancillary_variables": ancillary, "processing_level": "denoised"}
        new[name] = ("time", np.maximum(estimate.value[row], channel.lower_bound), attrs)
    return flight.assign(new)


def _correlation_s(held: float, sigma: Array, rate_hz: float) -> float:
    """How long errors hold together [s]: τ = v / σ̂², with v what a raw sample adds to the variance of a long sum.

    A smoother that keeps means keeps the errors of long sums: an average of N samples of white noise has 1/N of their
    variance, and its errors last as long.
    """
    ratio = np.nanmedian(held / np.maximum(sigma, 1e-12) ** 2) if np.isfinite(held) and held > 0 else 1.0
    return float(round(max(ratio, 1.0) / rate_hz, 1))
