"""Spectra before and after denoising."""

from __future__ import annotations

import numpy as np
import xarray as xr

from pc2dae.arrays import Array
from pc2dae.metrics.welch import SEGMENT, welch
from pc2dae.suite import Channel


def spectrum(values: Array, rate_hz: float) -> tuple[Array, Array] | None:
    """Welch power density [units² Hz⁻¹] over frequency [Hz]; gaps are bridged by straight lines; None if too short."""
    steps, seen = np.arange(len(values)), np.isfinite(values)
    if np.count_nonzero(seen) < SEGMENT // 2:
        return None
    whole = np.interp(steps, steps[seen], values[seen])
    frequency, power = welch(whole - np.polyval(np.polyfit(steps, whole, 1), steps), rate_hz=rate_hz)
    return frequency[1:], power[1:]


def spectra_of(flight: xr.Dataset, channel: Channel, rate_hz: float) -> dict[str, list[float]] | None:
    """Frequency [Hz] and power of raw and estimate of one channel, for drawing; None if not denoised or too short."""
    name = channel.name
    if f"{name}_raw" not in flight:
        return None
    # The unbounded estimate: values clipped to the bound would have no spectrum.
    after = f"{name}_unbounded" if f"{name}_unbounded" in flight else name
    before, then = (spectrum(flight.variables[v].values.astype(np.float64), rate_hz) for v in (f"{name}_raw", after))
    if before is None or then is None:
        return None
    (frequency, raw), (_, estimate) = before, then
    lists = {"frequency": frequency, "raw": np.maximum(raw, 1e-12), "estimate": np.maximum(estimate, 1e-12)}
    return {key: [float(f"{v:.4g}") for v in values] for key, values in lists.items()}
