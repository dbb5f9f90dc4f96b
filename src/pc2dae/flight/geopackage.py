"""Flights as OGC GeoPackage: layer `samples` of points on WGS 84, and the table `variables` with units."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.errors import FlightError
from pc2dae.flight.schema import timestamp
from pc2dae.flight.track import Track, concentrations_and_position, track_of


def write_geopackage(flight: xr.Dataset, path: Path) -> None:
    """Write a point for each sample with its concentrations; a sample without position has no geometry."""
    from pyogrio import set_gdal_config_options
    from pyogrio.errors import DataLayerError, DataSourceError, FeatureError
    from pyogrio.raw import write

    names, points = concentrations_and_position(flight), _points(track_of(flight))
    units, meanings = ([str(flight[n].attrs.get(key, "")) for n in names] for key in ("units", "long_name"))
    layers = (
        {
            "layer": "samples",
            "geometry": points,
            "geometry_type": "Point",
            "crs": "EPSG:4326",
            "fields": ["time", *names],
            "field_data": [flight["time"].values.astype("datetime64[ms]"), *(flight[n].values for n in names)],
            "gdal_tz_offsets": {"time": np.full(flight.sizes["time"], 100)},  # GDAL's number for UTC
            "layer_metadata": {"pc2dae": str(flight.attrs.get("level", "raw"))},
        },
        {
            "layer": "variables",
            "geometry": None,
            "geometry_type": None,
            "crs": None,
            "fields": ["name", "units", "long_name"],
            "field_data": [np.array(column, dtype=object) for column in (names, units, meanings)],
            "append": True,
        },
    )
    set_gdal_config_options({"OGR_CURRENT_DATE": timestamp()})  # the same flight gives the same bytes
    try:
        for layer in layers:
            write(path, driver="GPKG", **layer)
    except (DataLayerError, DataSourceError, FeatureError) as error:
        raise FlightError(
            f"the GeoPackage cannot be written ({error})",
            hint="check the disk, and that no two names differ only in case",
        ) from None


def _points(track: Track) -> NDArray[np.object_]:
    """The positions as little-endian well-known binary, None where unknown."""
    head = b"\x01\x01\x00\x00\x00"  # byte order, then the number of the type "Point"
    points = np.full(len(track.longitude), None, dtype=object)
    for at in track.known:
        points[at] = head + np.array([track.longitude[at], track.latitude[at]], "<f8").tobytes()
    return points
