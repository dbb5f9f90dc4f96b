"""A flight as one group of a Zarr v3 store: there whole or not at all, and read without touching the others."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
import xarray as xr

from pc2dae.atomic import write_text
from pc2dae.errors import FlightError
from pc2dae.flight.netcdf import dress, undress
from pc2dae.suite import Suite

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
    target = store / name
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as temporary:
        made = Path(temporary) / "new"
        with warnings.catch_warnings():
            # Zarr warns that all metadata in one file is not in the specification yet; readers that do not know it
            # pass over it, and those that do open a flight with one read instead of two hundred.
            warnings.filterwarnings("ignore", message="Consolidated metadata")
            dressed.to_zarr(made, mode="w", zarr_format=3, consolidated=True)
        _sync(made)
        for parent in reversed(target.relative_to(store).parents):
            make_store(store / parent)
        if target.exists():
            target.rename(Path(temporary) / "old")
        made.rename(target)


def read_group(place: Path, suite: Suite | None = None) -> xr.Dataset:
    """The flight in a group's folder, as it was before it was written."""
    try:
        dataset = xr.open_zarr(place, chunks=None, decode_timedelta=False).load()
    except (OSError, KeyError, ValueError) as error:
        raise FlightError(f"{place.name} cannot be read as Zarr ({error})", hint="is the folder whole?") from None
    for variable in dataset.variables.values():
        if "flag_masks" in variable.attrs:
            variable.attrs["flag_masks"] = np.asarray(variable.attrs["flag_masks"], dtype=variable.dtype)
    flight = undress(dataset)
    if suite is not None:
        return flight.assign_attrs(suite=suite.model_dump_json(exclude_defaults=True))
    if "suite" not in flight.attrs:
        raise FlightError(f"{place.name} does not say which suite it was made with", hint="pass --suite")
    return flight


def _sync(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
