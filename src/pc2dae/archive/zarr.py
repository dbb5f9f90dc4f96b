"""A flight as one group of a Zarr v3 store: written atomically, and read without touching the others."""

from __future__ import annotations

import json
from pathlib import Path

import xarray as xr

from pc2dae.atomic import write_text
from pc2dae.flight.zarr import write_zarr

_GROUP = json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}, indent=2)


def make_store(store: Path) -> None:
    """Create an empty store if none exists."""
    if not (store / "zarr.json").exists():
        write_text(store / "zarr.json", _GROUP)


def write_group(flight: xr.Dataset, store: Path, name: str, *, scratch: Path) -> None:
    """Write a flight as group `name` of `store`, via `scratch` on the same file system."""
    for parent in reversed((store / name).relative_to(store).parents):
        make_store(store / parent)
    write_zarr(flight, store / name, zarr_format=3, scratch=scratch)
