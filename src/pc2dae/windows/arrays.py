"""Conversion of a flight's channels to arrays for a denoiser, and of its estimate back to the flight."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr

from pc2dae.arrays import Floats, Mask
from pc2dae.denoiser import Estimate
from pc2dae.flight.schema import channel_arrays, observed
from pc2dae.noise import Noise, sum_variance
from pc2dae.suite import ENVIRONMENT, Channel, Suite


def arrays_of(flight: xr.Dataset, suite: Suite) -> tuple[Floats, Floats, Mask]:
    """Values (channel, time), environment (3, time) and validity (channel, time) of a flight."""
    values, valid = channel_arrays(flight, suite)
    unknown = np.full(flight.sizes["time"], np.nan)
    environment = np.stack([flight[name].values if name in flight else unknown for name in ENVIRONMENT])
    return values, environment.astype(np.float64), valid


def blend(estimate: Estimate, values: Floats, valid: Mask, *, noise: Floats, strength: float) -> Estimate:
    """strength · estimate + (1 − strength) · raw where observed; noise [of raw] is (channel, 1)."""
    if strength == 1.0:
        return estimate
    share = np.where(valid, strength, 1.0)
    raw = np.where(valid, values, 0.0)
    value, unbounded = (share * x + (1 - share) * raw for x in (estimate.value, estimate.unbounded))
    blended = None if estimate.sigma is None else share * estimate.sigma + (1 - share) * np.nan_to_num(noise)
    return Estimate(value, unbounded, blended)


def with_estimate(
    flight: xr.Dataset, suite: Suite, estimate: Estimate, noise: Noise, *, unusable: Iterable[Channel] = ()
) -> xr.Dataset:
    """The flight with the estimate in its channels; a channel without any observation becomes NaN.

    `unusable` are other channels of the flight to be treated in the same way.
    """
    new: dict[str, Any] = {}  # assigned together: xarray copies its list of variables at every assignment
    nothing = np.full(flight.sizes["time"], np.nan)
    for row, channel in enumerate(suite.channels):
        seen = observed(flight, channel.name)
        if not seen.any():
            new |= _variables(flight, channel, nothing, nothing, None if estimate.sigma is None else (nothing, None))
            continue
        spread = None
        if estimate.sigma is not None:
            spacing = float(np.median(np.diff(np.flatnonzero(seen)))) if seen.sum() > 1 else 1.0
            held = sum_variance(noise.sigma[row], noise.lag1[row]) * spacing
            spread = estimate.sigma[row], _correlation_s(held, estimate.sigma[row], suite.rate_hz)
        value = np.maximum(estimate.value[row], channel.lower_bound)
        new |= _variables(flight, channel, value, estimate.unbounded[row], spread)
    for channel in unusable:
        new |= _variables(flight, channel, nothing, nothing, None if estimate.sigma is None else (nothing, None))
    return flight.assign(new)


def _variables(
    flight: xr.Dataset,
    channel: Channel,
    value: Floats,
    unbounded: Floats,
    spread: tuple[Floats, float | None] | None,
) -> dict[str, Any]:
    """The variables of a denoised channel; `spread` is its uncertainty and the correlation time of its errors [s]."""
    name = channel.name
    attrs = dict(flight[name].attrs)
    before = {"long_name": f"{attrs.get('long_name', name)}, before denoising"}
    named = {"units": channel.units, "family": attrs.get("family", "")}
    free = named | {"long_name": f"{name} before its lower bound, for integrals and ratios"}
    new = {
        f"{name}_raw": ("time", flight[name].values, attrs | before),
        f"{name}_unbounded": ("time", unbounded, free),
    }
    ancillary = f"qc_{name}"
    if spread is not None:
        standard = {"standard_name": f"{attrs['standard_name']} standard_error"} if "standard_name" in attrs else {}
        about = named | standard | {"long_name": f"one-sigma standard uncertainty of {name}, noise only"}
        if spread[1] is not None:
            about["error_correlation_s"] = spread[1]
        new[f"{name}_uncertainty"] = ("time", spread[0], about)
        ancillary += f" {name}_uncertainty"
    new[name] = ("time", value, attrs | {"ancillary_variables": ancillary, "processing_level": "denoised"})
    return new


def _correlation_s(held: float, sigma: Floats, rate_hz: float) -> float:
    """Correlation time of errors [s]: τ = v / σ̂², with v a raw sample's contribution to the variance of a long sum.

    A smoother that preserves means preserves the errors of long sums: an average of N samples of white noise has 1/N
    of their variance, and its errors are correlated over N samples.
    """
    ratio = np.nanmedian(held / np.maximum(sigma, 1e-12) ** 2) if np.isfinite(held) and held > 0 else 1.0
    return float(round(max(ratio, 1.0) / rate_hz, 1))
