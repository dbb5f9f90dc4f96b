"""Optional zero correction from clean air, for channels with a negative offset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from pc2dae.arrays import Array, Mask
from pc2dae.errors import FlightError
from pc2dae.flight.schema import add_history, channel_arrays, check_flight
from pc2dae.noise import noise_level

_SLOW_S = 600.0  # time scale of zero drift, which follows temperature and ageing
_CLEAN = 3.0  # clean-air threshold above background of the channel with the strongest plumes [σ]


def rezero(flight: xr.Dataset, channels: Sequence[str] | None = None) -> xr.Dataset:
    """Shift channels whose clean-air level is more than 1 σ below their bound up to the bound.

    Off by default, because clean air does not contain zero of every gas: a shifted channel is valid for plume excess
    but not for absolute concentrations. `channels` restricts the correction. Each shift is recorded in the history.
    """
    suite = check_flight(flight)
    chosen = list(suite.names) if channels is None else list(channels)
    for name in chosen:
        suite[name]
    values, valid = channel_arrays(flight, suite)
    sigma = noise_level(values, valid).sigma
    clean = clean_air(values, valid, sigma, rate_hz=suite.rate_hz)
    done = flight.copy()
    moved = []
    for row, channel in enumerate(suite.channels):
        if channel.name not in chosen or (clean & valid[row]).sum() < 30:
            continue
        level = clean_level(values[row], clean & valid[row], rate_hz=suite.rate_hz)
        if np.median(level) < channel.lower_bound - sigma[row]:
            done[channel.name] = ("time", values[row] - level + channel.lower_bound, dict(flight[channel.name].attrs))
            moved.append(f"{channel.name} by {channel.lower_bound - np.median(level):+.4g} {channel.units}")
    return add_history(done, f"re-zeroed in clean air: {'; '.join(moved) if moved else 'no channel required it'}")


def clean_air(values: Array, valid: Mask, sigma: Array, *, rate_hz: float = 1.0) -> Mask:
    """Mask of samples without plumes in the channel with the strongest plumes; arrays are (channel, time)."""
    if not valid.any():
        raise FlightError("no channel has a valid value", hint="check the flags with `pc2dae inspect`")
    strength = [
        (np.nanquantile(v[ok], 0.99) - np.nanmedian(v[ok])) / s if ok.any() and s > 0 else 0.0
        for v, ok, s in zip(values, valid, sigma, strict=True)
    ]
    best = int(np.argmax(strength))
    window = max(round(5 * rate_hz), 1)
    series = pd.Series(np.where(valid[best], values[best], np.nan))
    means = series.rolling(window, center=True, min_periods=1).mean()
    background = series.rolling(max(round(_SLOW_S * rate_hz), 1), center=True, min_periods=1).quantile(0.2)
    quiet: Mask = (means - background < _CLEAN * sigma[best]).to_numpy()
    return quiet


def clean_level(values: Array, clean: Mask, *, rate_hz: float = 1.0) -> Array:
    """Slowly varying clean-air level of a channel: 10-min running median, interpolated linearly across plumes."""
    rolling = pd.Series(np.where(clean, values, np.nan)).rolling(
        max(round(_SLOW_S * rate_hz), 1), center=True, min_periods=20
    )
    level = rolling.median().to_numpy()
    known = np.flatnonzero(np.isfinite(level))
    if len(known) == 0:
        return np.full(len(values), np.median(values[clean]))
    straight: Array = np.interp(np.arange(len(values)), known, level[known])
    return straight
