"""A flight as one group of a Zarr v3 store: written atomically, and read without touching the others."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import xarray as xr

from pc2dae.atomic import replacing_folder, write_text
from pc2dae.flight.netcdf import dress
from pc2dae.flight.store import put_zarr

_GROUP = json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}, indent=2)
_KEYS = {"name": "default", "separator": "."}


def make_store(store: Path) -> None:
    """An empty store, if there is none yet."""
    if not (store / "zarr.json").exists():
        write_text(store / "zarr.json", _GROUP)


def write_group(flight: xr.Dataset, store: Path, name: str, *, scratch: Path) -> None:
    """Write a flight as group `name` of `store`: made in `scratch` (same file system), synced, then moved in one step.

    The flight's own name is text, and text of fixed length has no Zarr v3 type: it stays an attribute (`id`).
    """
    dressed = dress(flight).drop_vars("trajectory")
    for variable in dressed.variables.values():
        variable.encoding = {key: v for key, v in variable.encoding.items() if key not in ("coordinates", "shards")}
        if variable.size and variable.ndim:  # few files: one piece, in the variable's own folder
            variable.encoding |= {"chunks": variable.shape, "chunk_key_encoding": _KEYS}
    for parent in reversed((store / name).relative_to(store).parents):
        make_store(store / parent)
    with replacing_folder(store / name, scratch=scratch) as made, warnings.catch_warnings():
        # Zarr warns that all metadata in one file is not in the specification yet; readers that do not know it
        # pass over it, and those that do open a flight with one read instead of two hundred.
        warnings.filterwarnings("ignore", message="Consolidated metadata")
        put_zarr(dressed, made, zarr_format=3)
