"""The track over ground in metres; no map tiles, so it works offline."""

from __future__ import annotations

import numpy as np
import xarray as xr

from pc2dae.arrays import Array

_M_PER_DEGREE = 111_195.0  # on a sphere of the earth's mean radius


def metres(flight: xr.Dataset) -> tuple[Array, Array] | None:
    """East and north of the first fix [m], or None where the flight has no position."""
    if "latitude" not in flight or "longitude" not in flight:
        return None
    latitude, longitude = (flight[n].values.astype(np.float64) for n in ("latitude", "longitude"))
    fixed = np.isfinite(latitude) & np.isfinite(longitude)
    if not fixed.any():
        return None
    home = int(np.argmax(fixed))
    east = (longitude - longitude[home]) * _M_PER_DEGREE * np.cos(np.radians(latitude[home]))
    return east, (latitude - latitude[home]) * _M_PER_DEGREE
