"""The track over ground in metres, coloured by any channel's concentration; no map tiles, so it works offline."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from pc2dae.arrays import Array
from pc2dae.report.figure import MOST_POINTS, Figure, packed
from pc2dae.suite import Suite

_M_PER_DEGREE = 111_195.0  # on a sphere of the earth's mean radius
_MINUTE_MS = 60_000
_SCALE: dict[str, Any] = {
    "thickness": 10,
    "len": 0.9,
    "x": 1,
    "outlinewidth": 0,
    "title": {"side": "right"},
    "tickformat": ",~r",  # 0.5 and 20,000, never 500m
}


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


def track_figure(flight: xr.Dataset) -> Figure | None:
    """The track, coloured by the first channel; the page's script colours it by another and follows the time zoom."""
    position = metres(flight)
    if position is None:
        return None
    step = -(-len(position[0]) // MOST_POINTS)
    east, north = (axis[::step] for axis in position)
    minutes = (flight["time"].values - flight["time"].values[0]) / np.timedelta64(_MINUTE_MS, "ms")
    altitude = flight["altitude"].values[::step] if "altitude" in flight else np.full(len(east), np.nan)
    path = {
        "type": "scatter",
        "mode": "lines",
        "x": packed(east),
        "y": packed(north),
        "meta": {"role": "path"},
        "hoverinfo": "skip",
    }
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": packed(east),
        "y": packed(north),
        "customdata": packed(np.stack([minutes[::step], altitude], axis=1)),
        "marker": {"size": 6, "showscale": True, "colorscale": "Viridis", "colorbar": _SCALE},
        "hovertemplate": "minute %{customdata[0]:.1f}, %{customdata[1]:.0f} m<br>%{marker.color:.4~g}<extra></extra>",
        "meta": {"role": "track", "step": step},
    }
    here = {
        "type": "scatter",
        "mode": "markers",
        "x": [None],
        "y": [None],
        "hoverinfo": "skip",
        "meta": {"role": "here"},
    }
    layout: dict[str, Any] = {
        "margin": {"l": 44, "r": 6, "t": 8, "b": 36},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": "pan",
        "xaxis": {"title": {"text": "east [m]"}, "zeroline": False},
        "yaxis": {"title": {"text": "north [m]"}, "scaleanchor": "x", "zeroline": False},
    }
    return Figure("track", [path, dots, here], layout)


def track_colours(flight: xr.Dataset, suite: Suite) -> list[dict[str, Any]]:
    """For each channel the values that colour the track, with limits that one spike does not stretch."""
    step = -(-flight.sizes["time"] // MOST_POINTS)
    colours = []
    for channel in suite.channels:
        values = flight[channel.name].values.astype(np.float64)
        if not np.isfinite(values).any():
            continue
        low, high = np.nanquantile(values, [0.05, 0.99])
        colours.append(
            {
                "name": channel.name,
                "units": channel.units,
                "values": packed(values[::step]),
                "low": float(low),
                "high": float(high if high > low else low + 1.0),
            }
        )
    return colours
