"""How the platform moved: in flight, on the ground, or not at all, as far as height and speed show it."""

from __future__ import annotations

from typing import Literal

import numpy as np
import xarray as xr

from pc2dae.arrays import Array
from pc2dae.flight.schema import suite_of

Movement = Literal["airborne", "moving", "stationary", "unknown"]
RANGE_M = 25.0  # of heights: more than errors of GPS and drift of pressure
RISE_M = 15.0  # within RISE_S: more than weather or stairs
RISE_S = 60.0
STEEPEST = 0.2  # rise per distance of a road
FASTEST_M_S = 60.0  # on the ground
SLOWEST_M_S = 0.3  # median of a platform that moves; or a tenth of the time at 1 m/s
EXTENT_M = 50.0  # of its positions: more than GPS errors at rest
_M_PER_HPA = 8.4  # near the ground
_M_PER_DEGREE = 111_195.0


def movement(flight: xr.Dataset) -> Movement:
    """`airborne` if altitude or pressure shows a climb that no road has, else `moving` or `stationary` by the speed."""
    rate_hz = suite_of(flight).rate_hz
    steps = max(round(RISE_S * rate_hz), 1)
    speed, height = _speed(flight, rate_hz), _height(flight, max(round(10 * rate_hz), 1))
    if speed is not None and np.nanmedian(speed) > FASTEST_M_S:
        return "airborne"
    if height is not None and len(height) > steps and _spread(height, 0.01) > RANGE_M:
        rise = np.abs(height[steps:] - height[:-steps])
        travelled = np.zeros(len(rise))
        if speed is not None:
            way = np.concatenate([[0.0], np.cumsum(np.nan_to_num(speed))]) / rate_hz
            travelled = way[steps:-1] - way[: -steps - 1]
        if np.any(rise > np.maximum(RISE_M, STEEPEST * travelled)):
            return "airborne"
    if speed is None:
        return "unknown"
    position = _position(flight)
    is_local = position is not None and max(_spread(axis, 0.05) for axis in position) < EXTENT_M
    moves = np.nanmedian(speed) > SLOWEST_M_S or np.nanquantile(speed, 0.9) > 1.0
    return "moving" if moves and not is_local else "stationary"


def _spread(values: Array, share: float) -> float:
    low, high = np.nanquantile(values, [share, 1 - share])
    return float(high - low)


def _position(flight: xr.Dataset) -> tuple[Array, Array] | None:
    """North and east [m]; None if there is no position."""
    if not {"latitude", "longitude"} <= set(flight.variables):
        return None
    north, east = (flight.variables[n].values.astype(np.float64) * _M_PER_DEGREE for n in ("latitude", "longitude"))
    if not (np.isfinite(north) & np.isfinite(east)).any():
        return None
    return north, east * np.cos(np.radians(np.nanmean(north) / _M_PER_DEGREE))


def _height(flight: xr.Dataset, steps: int) -> Array | None:
    """Altitude, or pressure as height [m], median over 10 s; None if there is neither."""
    import pandas as pd

    for name, factor in (("altitude", 1.0), ("air_pressure", -_M_PER_HPA)):
        if name in flight and np.isfinite(flight.variables[name].values).any():
            values = pd.Series(flight.variables[name].values.astype(np.float64) * factor)
            return np.asarray(values.rolling(steps, center=True, min_periods=max(steps // 2, 1)).median())
    return None


def _speed(flight: xr.Dataset, rate_hz: float) -> Array | None:
    """Speed over ground [m s-1], or that between positions 10 s apart; None if there is neither."""
    if "ground_speed" in flight and np.isfinite(flight.variables["ground_speed"].values).any():
        return np.asarray(flight.variables["ground_speed"].values, dtype=np.float64)
    steps, position = max(round(10 * rate_hz), 1), _position(flight)
    if position is None or flight.sizes["time"] <= steps:
        return None
    apart = np.hypot(*(axis[steps:] - axis[:-steps] for axis in position)) * rate_hz / steps
    return np.asarray(np.pad(apart, (0, steps), mode="edge")) if np.isfinite(apart).any() else None
