"""A flight as a zipped Zarr v3 store: one file instead of two for each of its variables, written atomically."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

import xarray as xr

from pc2dae.atomic import replacing
from pc2dae.flight.conventions import with_conventions
from pc2dae.flight.zarr import require_zarr


def write_zipped(flight: xr.Dataset, target: Path) -> None:
    """Write a flight as a zipped store; the same flight gives the same bytes.

    The flight's name is only an attribute (`id`), because Zarr v3 has no type for fixed-length text.
    """
    require_zarr()
    from zarr.storage import MemoryStore

    described = with_conventions(flight).drop_vars("trajectory")
    for variable in described.variables.values():
        if "coordinates" in variable.encoding:
            variable.encoding["coordinates"] = variable.encoding["coordinates"].replace(" trajectory", "")
        if variable.size and variable.ndim:
            variable.encoding["chunks"] = variable.shape
    pieces: dict[str, Any] = {}  # built in memory: Zarr's threads write in any order, and on after one has failed
    with warnings.catch_warnings():
        # Zarr warns that consolidated metadata is not in the specification yet; readers without support ignore
        # it, and those with support open a flight with one read instead of two hundred.
        warnings.filterwarnings("ignore", message="Consolidated metadata")
        described.to_zarr(MemoryStore(pieces), mode="w", zarr_format=3, consolidated=True)
    with replacing(target) as temporary, ZipFile(temporary, "w") as packed:
        for name in sorted(pieces):
            packed.writestr(ZipInfo(name), pieces[name].to_bytes())  # a constant date, and compressed by Zarr already
