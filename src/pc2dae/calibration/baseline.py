"""Baseline: an optional new zero from clean air, for channels whose offset, not whose noise, is negative."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from pc2dae.arrays import Array, Mask
from pc2dae.errors import FlightError
from pc2dae.flight.schema import add_history, channel_arrays, check_flight
from pc2dae.noise import noise_level

_SLOW_S = 600.0  # a zero moves with temperature and age, not with the air
_CLEAN = 3.0  # σ of the plumes' best witness above its own background


def rezero(flight: xr.Dataset, channels: Sequence[str] | None = None) -> xr.Dataset:
    """A flight in which channels that sit more than one σ under their bound in clean air are lifted to it.

    Off by default, because clean air is not zero for every gas: what is lifted says where the smoke is and how much
    it adds, not how much is in clean air. `channels` limits the choice. The history names each channel and its shift.
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
    return add_history(done, f"re-zeroed in clean air: {'; '.join(moved) if moved else 'no channel needed it'}")


def clean_air(values: Array, valid: Mask, sigma: Array, *, rate_hz: float = 1.0) -> Mask:
    """Where the channel that shows plumes best shows none; arrays (channel, time)."""
    if not valid.any():
        raise FlightError("no channel has a valid value", hint="look at the flags with `pc2dae inspect`")
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
    """The slow level of a channel in clean air: running median of 10 minutes, straight across what lies between."""
    rolling = pd.Series(np.where(clean, values, np.nan)).rolling(
        max(round(_SLOW_S * rate_hz), 1), center=True, min_periods=20
    )
    level = rolling.median().to_numpy()
    known = np.flatnonzero(np.isfinite(level))
    if len(known) == 0:
        return np.full(len(values), np.median(values[clean]))
    straight: Array = np.interp(np.arange(len(values)), known, level[known])
    return straight
