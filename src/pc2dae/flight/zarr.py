"""Flights as Zarr groups."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal
from zipfile import ZipFile, ZipInfo

import numpy as np
import xarray as xr

from pc2dae.atomic import replacing, replacing_folder
from pc2dae.errors import FlightError
from pc2dae.flight.conventions import with_conventions, without_conventions
from pc2dae.flight.safe_reading import load, reading, unwanted_variables


def write_zarr(flight: xr.Dataset, target: Path) -> None:
    """Write a flight as a Zarr group atomically: written beside `target`, synced, then renamed.

    Format 2, since variable-length text is not part of the format 3 specification.
    """
    require_zarr()
    pieces = _pieces(with_conventions(flight), zarr_format=2)
    with replacing_folder(target) as folder:
        for name, piece in pieces.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(piece)


def write_zipped(flight: xr.Dataset, target: Path) -> None:
    """Write a flight atomically as a zipped store of format 3, one file instead of two for each variable.

    The same flight gives the same bytes. Its name is only an attribute (`id`): format 3 has no fixed-length text.
    """
    require_zarr()
    described = with_conventions(flight).drop_vars("trajectory")
    for variable in described.variables.values():
        if "coordinates" in variable.encoding:
            variable.encoding["coordinates"] = variable.encoding["coordinates"].replace(" trajectory", "")
        if variable.size and variable.ndim:
            variable.encoding["chunks"] = variable.shape
    with warnings.catch_warnings():
        # Zarr warns that consolidated metadata is not in the specification yet; readers without support ignore
        # it, and those with support open a flight with one read instead of two hundred.
        warnings.filterwarnings("ignore", message="Consolidated metadata")
        pieces = _pieces(described, zarr_format=3)
    with replacing(target) as temporary, ZipFile(temporary, "w") as packed:
        for name in sorted(pieces):
            packed.writestr(ZipInfo(name), pieces[name])  # a constant date, and compressed by Zarr already


def _pieces(dataset: xr.Dataset, *, zarr_format: Literal[2, 3]) -> dict[str, bytes]:
    """The files of a store, built in memory: Zarr's threads write in any order, and on after one has failed."""
    from zarr.storage import MemoryStore

    pieces: dict[str, Any] = {}
    dataset.to_zarr(MemoryStore(pieces), mode="w", zarr_format=zarr_format, consolidated=True)
    return {name: piece.to_bytes() for name, piece in pieces.items()}


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
