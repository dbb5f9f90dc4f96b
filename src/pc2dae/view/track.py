"""Where a flight was, for its map: position in metres, height and mean wind; no map tiles, so it works offline."""

from __future__ import annotations

import numpy as np
import xarray as xr

from pc2dae.arrays import Array
from pc2dae.suite import conversion

_M_PER_DEGREE = 111_195.0  # on a sphere of the earth's mean radius
_LEAST_EXTENT_M = 20.0  # a receiver at rest wanders by about 10 m
_LEAST_CLIMB_M = 20.0  # within `_CLIMB_S`; weather changes the pressure by less
_CLIMB_S = 600.0


def metres(flight: xr.Dataset) -> tuple[Array, Array] | None:
    """East and north of the first fix [m]; None where the flight has no position or does not move.

    Equirectangular about the track's middle latitude φ: x = R Δλ cos φ, y = R Δφ; lengths across a track of
    100 km are right within 1 % below 50 degrees of latitude.
    """
    if "latitude" not in flight or "longitude" not in flight:
        return None
    latitude, longitude = (flight.variables[n].values.astype(np.float64) for n in ("latitude", "longitude"))
    fixed = np.isfinite(latitude) & np.isfinite(longitude) & ((latitude != 0) | (longitude != 0))  # 0, 0: no fix
    if not fixed.any():
        return None
    home, known = int(np.argmax(fixed)), latitude[fixed]
    middle = np.radians((known.min() + known.max()) / 2)
    east = ((longitude - longitude[home] + 180) % 360 - 180) * _M_PER_DEGREE * np.cos(middle)
    north = (latitude - latitude[home]) * _M_PER_DEGREE
    if max(_spread(east[fixed], 0.01), _spread(north[fixed], 0.01)) < _LEAST_EXTENT_M:
        return None
    return np.where(fixed, east, np.nan), np.where(fixed, north, np.nan)


def heights(flight: xr.Dataset, rate_hz: float) -> tuple[Array, str] | None:
    """Height [m] and what it is above: the altitude, else that of the pressure in the ICAO standard atmosphere.

    z = 44330.77 m · (1 − (p / 1013.25 hPa)^0.190263) up to 11 km. None where the flight does not climb.
    """
    found = []
    if "altitude" in flight:
        altitude = flight["altitude"]
        found.append((altitude.values.astype(np.float64), str(altitude.attrs.get("long_name", "altitude"))))
    if "air_pressure" in flight:
        pressure = flight.variables["air_pressure"].values.astype(np.float64)
        usable = np.where(pressure > 0, pressure, np.nan)
        found.append((44_330.77 * (1 - (usable / 1013.25) ** 0.190263), "altitude from pressure (ICAO atmosphere)"))
    width = max(round(_CLIMB_S * rate_hz), 1)
    for values, label in found:
        parts = [values[i : i + width] for i in range(0, len(values), width)]
        if any(_spread(part[np.isfinite(part)], 0.05) >= _LEAST_CLIMB_M for part in parts):
            return values, label
    return None


def wind_vector(flight: xr.Dataset) -> tuple[Array, Array] | None:
    """The wind [m s-1] towards east and towards north, or None where it is not known.

    Variables are found by their CF standard name, or by that name after the instrument's.
    """
    east, north = (_by_standard_name(flight, f"{way}ward_wind", "m s-1") for way in ("east", "north"))
    if east is None or north is None:
        speed = _by_standard_name(flight, "wind_speed", "m s-1")
        origin = _by_standard_name(flight, "wind_from_direction", "degree")
        if speed is None or origin is None:
            return None
        east, north = -speed * np.sin(np.radians(origin)), -speed * np.cos(np.radians(origin))
    return east, north


def mean_wind(flight: xr.Dataset) -> tuple[float, float] | None:
    """Mean of the wind vector [m s-1], or None where the wind is not known."""
    if (wind := wind_vector(flight)) is None:
        return None
    east, north = wind
    both = np.isfinite(east) & np.isfinite(north)
    return (float(east[both].mean()), float(north[both].mean())) if both.any() else None


def _by_standard_name(flight: xr.Dataset, standard_name: str, units: str) -> Array | None:
    for name in flight.data_vars:
        variable = flight.variables[name]
        attrs = variable.attrs
        named = name in (standard_name, f"{attrs.get('instrument')}_{standard_name}")
        if (named or attrs.get("standard_name") == standard_name) and (
            change := conversion(str(attrs.get("units", "")), units)
        ):
            return np.asarray(variable.values.astype(np.float64) * change[0] + change[1])
    return None


def _spread(values: Array, tail: float) -> float:
    """The range of values without a share `tail` at either end; 0 for none."""
    return float(np.diff(np.quantile(values, [tail, 1 - tail]))[0]) if len(values) else 0.0
