"""Flights as Zarr groups."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr

from pc2dae.atomic import replacing_folder
from pc2dae.errors import FlightError
from pc2dae.flight.conventions import with_conventions, without_conventions
from pc2dae.flight.safe_reading import load, reading, unwanted_variables

_KEYS = {"name": "default", "separator": "."}


def write_zarr(
    flight: xr.Dataset, target: Path, *, zarr_format: Literal[2, 3] = 2, scratch: Path | None = None
) -> None:
    """Write a flight as a Zarr group atomically: written beside `target` or in `scratch`, synced, then renamed.

    Format 2 by default, since variable-length text is not part of the format 3 specification. In format 3 the flight's
    name is only an attribute (`id`), and every variable is one file.
    """
    require_zarr()
    from zarr.storage import MemoryStore

    described = with_conventions(flight)
    if zarr_format == 3:
        described = _in_one_piece(described.drop_vars("trajectory"))
    pieces: dict[str, Any] = {}  # built in memory, because Zarr's threads continue to write after one has failed
    with replacing_folder(target, scratch=scratch) as folder, warnings.catch_warnings():
        # Zarr warns that consolidated metadata is not in the specification yet; readers without support ignore
        # it, and those with support open a flight with one read instead of two hundred.
        warnings.filterwarnings("ignore", message="Consolidated metadata")
        described.to_zarr(MemoryStore(pieces), mode="w", zarr_format=zarr_format, consolidated=True)
        for name, piece in pieces.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(piece.to_bytes())


def _in_one_piece(described: xr.Dataset) -> xr.Dataset:
    for variable in described.variables.values():
        variable.encoding = {key: v for key, v in variable.encoding.items() if key not in ("coordinates", "shards")}
        if variable.size and variable.ndim:
            variable.encoding |= {"chunks": variable.shape, "chunk_key_encoding": _KEYS}
    return described


def open_zarr(source: Path, *, foreign: Collection[str] | None = None) -> xr.Dataset:
    """The dataset of a Zarr store or of a group's folder, in memory.

    Of a group without a suite, only the variables named in `foreign` are loaded, where given.
    """
    require_zarr()
    from zarr import open_group

    with reading(source, "Zarr"):
        group = open_group(source, mode="r")
        shapes = {name: array.shape for name, array in group.arrays()}
        unwanted = unwanted_variables(shapes, source, foreign if "suite" not in group.attrs else None)
        opened = xr.open_zarr(source, chunks=None, decode_timedelta=False, drop_variables=unwanted)
        dataset = load(opened, source)
        for variable in dataset.variables.values():
            if "flag_masks" in variable.attrs:
                variable.attrs["flag_masks"] = np.asarray(variable.attrs["flag_masks"], dtype=variable.dtype)
        return without_conventions(dataset)


def require_zarr() -> None:
    """Raise an error with the installation command if Zarr is not installed."""
    try:
        import zarr  # noqa: F401
    except ImportError:
        raise FlightError("Zarr is not installed", hint="pip install 'pc2dae[cluster]'") from None
