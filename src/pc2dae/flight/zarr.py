"""Flights as Zarr groups."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import xarray as xr

from pc2dae.atomic import replacing_folder
from pc2dae.errors import FlightError
from pc2dae.flight.conventions import with_conventions, without_conventions
from pc2dae.flight.safe_reading import load, reading, unwanted_variables


def write_zarr(flight: xr.Dataset, target: Path) -> None:
    """Write a flight as a Zarr group atomically: written beside `target`, synced, then renamed.

    Format 2, since variable-length text is not part of the format 3 specification.
    """
    require_zarr()
    from zarr.storage import MemoryStore

    pieces: dict[str, Any] = {}  # built in memory, because Zarr's threads continue to write after one has failed
    with replacing_folder(target) as folder:
        with_conventions(flight).to_zarr(MemoryStore(pieces), mode="w", zarr_format=2, consolidated=True)
        for name, piece in pieces.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(piece.to_bytes())


def open_zarr(source: Path, *, foreign: Collection[str] | None = None) -> xr.Dataset:
    """The dataset of a Zarr store, zipped or a folder, or of a group's folder, in memory.

    Of a group without a suite, only the variables named in `foreign` are loaded, where given.
    """
    require_zarr()
    from zarr import open_group
    from zarr.storage import ZipStore

    with reading(source, "Zarr"):
        store = ZipStore(_uncompressed(source)) if source.is_file() else source
        group = open_group(store, mode="r")
        shapes = {name: array.shape for name, array in group.arrays()}
        unwanted = unwanted_variables(shapes, source, foreign if "suite" not in group.attrs else None)
        opened = xr.open_zarr(store, chunks=None, decode_timedelta=False, drop_variables=unwanted)
        dataset = load(opened, source)
        for variable in dataset.variables.values():
            if "flag_masks" in variable.attrs:
                variable.attrs["flag_masks"] = np.asarray(variable.attrs["flag_masks"], dtype=variable.dtype)
        return without_conventions(dataset)


def _uncompressed(source: Path) -> Path:
    """Refuse a zip that unpacks to more than its size: Zarr compresses its pieces itself."""
    with ZipFile(source) as packed:
        if sum(info.file_size for info in packed.infolist()) > source.stat().st_size:
            raise FlightError(f"{source.name} is compressed or damaged", hint="zip Zarr stores without compression")
    return source


def require_zarr() -> None:
    """Raise an error with the installation command if Zarr is not installed."""
    try:
        import zarr  # noqa: F401
    except ImportError:
        raise FlightError("Zarr is not installed", hint="pip install 'pc2dae[cluster]'") from None
