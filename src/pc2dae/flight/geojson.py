"""Flights as GeoJSON (RFC 7946): one point for each sample, on WGS 84.

Positions are two-dimensional: a third coordinate would be the height above the ellipsoid, which a flight does not
have. Altitude is a property.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.flight.track import Track, concentrations_and_position, iso_stamps, track_of, units_by_name

_DECIMALS = 7  # of a degree: 1 cm


def write_geojson(flight: xr.Dataset, path: Path) -> None:
    """Write a point for each sample with its concentrations; a sample without position has no geometry."""
    track, names = track_of(flight), concentrations_and_position(flight)
    rows = zip(iso_stamps(flight["time"].values).tolist(), *(flight[n].values.tolist() for n in names), strict=True)
    located = set(track.known.tolist())
    features = (
        feature(geometry(track, [at] if at in located else []), dict(zip(("time", *names), row, strict=True)))
        for at, row in enumerate(rows)
    )
    about = {"level": str(flight.attrs.get("level", "raw")), "units": units_by_name(flight, names)}
    path.write_text(collection(str(flight.attrs.get("id", "flight")), features, about), encoding="utf-8")


def geometry(track: Track, at: Iterable[int] | NDArray[np.intp]) -> dict[str, Any] | None:
    """The point or line through the samples `at`, which have a position; None for none."""
    index = np.asarray(at, dtype=np.intp)
    positions = np.stack([track.longitude[index], track.latitude[index]], axis=-1).round(_DECIMALS).tolist()
    if len(positions) > 1:
        return {"type": "LineString", "coordinates": positions}
    return {"type": "Point", "coordinates": positions[0]} if positions else None


def feature(shape: Mapping[str, Any] | None, properties: Mapping[str, Any]) -> dict[str, Any]:
    """A GeoJSON feature; numbers that are not finite become null."""
    plain = {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in properties.items()}
    return {"type": "Feature", "geometry": shape, "properties": plain}


def collection(name: str, features: Iterable[Mapping[str, Any]], about: Mapping[str, Any]) -> str:
    """The text of a feature collection, a line for each feature; `about` is kept as member `pc2dae`."""
    head = {"type": "FeatureCollection", "name": name, "pc2dae": {"version": version("pc2dae"), **about}}
    lines = ",\n".join(json.dumps(f, allow_nan=False) for f in features)
    return f'{json.dumps(head)[:-1]}, "features": [\n{lines}\n]}}\n'
