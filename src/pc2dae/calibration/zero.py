"""Zero checks: channels shifted so that known air reads what it holds, and followed between two checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pc2dae.arrays import Array, Mask
from pc2dae.calibration.apply import with_air
from pc2dae.calibration.assumed import assumed_gain
from pc2dae.calibration.budget import Budget, budget_of
from pc2dae.calibration.intervals import Interval, Plateau, plateaus
from pc2dae.errors import CalibrationError, FlightError
from pc2dae.flight.schema import add_history, channel_arrays, check_flight, suite_of
from pc2dae.noise import noise_level
from pc2dae.suite import Channel

_SLOW_S = 600.0  # time scale of zero drift, which follows temperature and ageing
_CLEAN = 3.0  # clean-air threshold above background of the channel with the strongest plumes [σ]
_LEAST = 30  # samples of clean air
_FEWEST = 20  # of them in a median; more than ten minutes of a slow record


def zeroed(flight: xr.Dataset, checks: Sequence[Interval]) -> xr.Dataset:
    """Shift channels by what they read too much in air of known concentration.

    Between two checks the shift is interpolated linearly, before the first and after the last it is held. What a zero
    does between checks is the calibration's `drift`, at least a quarter of the change from check to check.
    """
    suite = suite_of(flight)
    new: dict[str, Any] = {}
    moved = []
    seconds = flight["time"].values.astype(np.int64) / 1e9
    for name, group in plateaus(flight, checks).items():
        at = np.array([p.middle.astype("datetime64[ns]").astype(np.int64) / 1e9 for p in group])
        shift = np.array([p.interval.value - p.reading for p in group])
        doubt = np.array([np.hypot(p.interval.uncertainty, p.sigma) for p in group])
        before = budget_of(flight, name)
        budget = _budget(before, group, shift, doubt, gain=assumed_gain(suite[name]))
        new |= _shifted(flight, name, np.interp(seconds, at, shift), budget)
        said = " to ".join(f"{s:+.4g}" for s in dict.fromkeys(shift.tolist()))
        moved.append(f"{name} by {said} {flight[name].attrs['units']}")
    return add_history(flight.assign(new), f"zero set in known air: {'; '.join(moved)}", kind="change")


def rezeroed(flight: xr.Dataset) -> xr.Dataset:
    """Shift channels towards the suite's `background` in the flight's own clean air, followed over ten minutes.

    Background and the zero known before (calibration, checks) are weighed by their uncertainties.
    """
    suite = check_flight(flight)
    stated = [c for c in suite.channels if c.background is not None]
    if not stated:
        raise CalibrationError(
            f"suite '{suite.name}' states no background", hint="add background and background_uncertainty to channels"
        )
    values, valid = channel_arrays(flight, suite)
    noise = noise_level(values, valid)
    clean = clean_air(values, valid, noise.sigma, rate_hz=suite.rate_hz)
    new: dict[str, Any] = {}
    moved, left = [], []
    for channel in stated:
        row = suite.names.index(channel.name)
        usable = clean & valid[row]
        if usable.sum() < _LEAST or channel.background is None:
            left.append(channel.name)
            continue
        level = clean_level(values[row], usable, rate_hz=suite.rate_hz)
        count = min(usable.sum(), _SLOW_S * suite.rate_hz)
        sigma = float(np.hypot(channel.background_uncertainty, np.nan_to_num(noise.sigma[row]) / np.sqrt(count)))
        before = budget_of(flight, channel.name)
        weight, budget = _joined(before, sigma, channel, spread=float(np.std(level)))
        shift = weight * (channel.background - level)
        new |= _shifted(flight, channel.name, shift, budget)
        moved.append(f"{channel.name} by {np.median(shift):+.4g} {channel.units}")
    said = "; ".join(moved) if moved else "no channel"
    line = f"re-zeroed to the suite's background in clean air: {said}"
    line += f"; too little clean air: {', '.join(left)}" if left else ""
    return add_history(flight.assign(new), line, kind="change")


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
    window = max(round(_SLOW_S * rate_hz), _FEWEST)
    rolling = pd.Series(np.where(clean, values, np.nan)).rolling(window, center=True, min_periods=_FEWEST)
    level = rolling.median().to_numpy()
    known = np.flatnonzero(np.isfinite(level))
    if len(known) == 0:
        return np.full(len(values), np.median(values[clean]))
    straight: Array = np.interp(np.arange(len(values)), known, level[known])
    return straight


def _budget(before: Budget | None, group: Sequence[Plateau], shift: Array, doubt: Array, *, gain: float) -> Budget:
    stated = np.array([p.interval.uncertainty for p in group])
    share = 2 / 3 if len(group) > 1 else 1.0  # variance of a line between two independent errors, on average
    zero = float(np.sqrt(np.mean(stated**2 + share * (doubt**2 - stated**2))))
    anchor = float(np.mean([p.interval.value for p in group]))
    between = float(np.std(shift)) / 2  # 0 for one check
    if before is None:
        return Budget(zero, between, gain, anchor)
    unknown = before.zero if len(shift) == 1 else 0.0  # a single check says nothing about what follows
    return Budget(zero, max(before.drift, between, 0.3 * unknown), before.gain, anchor, before.cross)


def _joined(before: Budget | None, sigma: float, channel: Channel, *, spread: float) -> tuple[float, Budget]:
    """Weight of the suite's background, known to `sigma`, against the zero known before, and the budget of both."""
    background = channel.background or 0.0
    if before is None:
        return 1.0, Budget(sigma, spread / 2, assumed_gain(channel), background)
    own = before.zero**2 + before.drift**2
    weight = own / (own + sigma**2) if own > 0 else 0.0
    drift = (1 - weight) * before.drift
    zero = float(np.sqrt(max(weight * sigma**2 - drift**2, 0.0)))
    anchor = weight * background + (1 - weight) * before.anchor
    return weight, Budget(zero, drift, before.gain, anchor, before.cross)


def _shifted(flight: xr.Dataset, name: str, shift: Array, budget: Budget) -> dict[str, Any]:
    label = flight[name].attrs.get("calibration")
    about = {"calibration": f"{label}; zero check" if label else "zero check", "zero_checked": 1} | budget.attributes()
    return with_air(flight, name, flight[name].values + shift, about)
