"""Flights as netCDF files, in the form of CF trajectories."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import netCDF4
import xarray as xr

from pc2dae.errors import FlightError
from pc2dae.flight.conventions import with_conventions, without_conventions
from pc2dae.flight.safe_reading import check_heaps, load, reading, unwanted_variables

_LARGE_BYTES = 1 << 30


def netcdf_bytes(flight: xr.Dataset) -> bytes:
    """A flight as the bytes of a netCDF file: the same for the same flight (dates by SOURCE_DATE_EPOCH)."""
    described = with_conventions(flight)
    for name, variable in described.variables.items():
        if variable.ndim and variable.dtype.kind in "fiuM":
            variable.encoding["fletcher32"] = True  # a damaged chunk raises an error instead of giving wrong values
            if name != "time" and variable.dtype.kind != "M":
                variable.encoding |= {"zlib": True, "complevel": 1, "shuffle": True}
    return dataset_bytes(described)


def dataset_bytes(dataset: xr.Dataset, **options: Any) -> bytes:
    """A dataset as the bytes of a netCDF file, `options` as for `xr.Dataset.dump_to_store`.

    HDF5 crashes when the disk is full, and writes the current time into files created in memory: it therefore writes
    to an unnamed temporary file in a folder with enough space.
    """
    most = dataset.nbytes + 16_384 * len(dataset.variables) + 1_000_000
    with tempfile.TemporaryDirectory(dir=_roomy(most)) as folder:
        path = Path(folder) / "flight.nc"
        file = netCDF4.Dataset(path, "w", format="NETCDF4")
        written = path.open("rb")
    with written:
        with file:
            values = _Values()
            dataset.dump_to_store(_store(file), writer=values, **options)
            values.write()
        return written.read()


class _Values:
    """Takes what xarray would write after defining each variable, to be written when all are defined.

    After each write netCDF goes through all variables again, which would take most of the time.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Any, Any]] = []

    def add(self, source: Any, target: Any, region: None = None) -> None:
        """Keep the values of a variable."""
        self._waiting.append((source, target))

    def write(self) -> None:
        """Write all."""
        for source, target in self._waiting:
            target[...] = source


def _store(file: netCDF4.Dataset) -> xr.backends.NetCDF4DataStore:
    return xr.backends.NetCDF4DataStore(file)


def _roomy(size: int) -> Path:
    """A folder with enough space, in memory if possible; callers create a private temporary folder in it."""
    folders = [Path("/dev/shm"), Path(tempfile.gettempdir())]  # nosec B108
    for folder in folders:
        if folder.is_dir() and os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > size:
            return folder
    raise OSError(errno.ENOSPC, f"no space left on the device: {size:,} bytes are needed temporarily", str(folders[-1]))


def read_netcdf(path: Path, *, foreign: Collection[str] | None = None) -> xr.Dataset:
    """The dataset of a netCDF file, in memory; files written by `netcdf_bytes` round-trip exactly.

    Of a file without a suite, only the variables named in `foreign` are loaded, where given.
    """
    if not path.exists():
        raise FlightError(f"there is no {path}", hint="check the path")
    check_heaps(path)
    with reading(path, "netCDF"), _opened(path) as file:  # not opened by xarray, which leaves a damaged file open
        shapes = {name: variable.shape for name, variable in file.variables.items()}
        unwanted = unwanted_variables(shapes, path, foreign if "suite" not in file.ncattrs() else None)
        return without_conventions(
            load(xr.open_dataset(_store(file), engine="store", decode_timedelta=False, drop_variables=unwanted), path)
        )


def _opened(path: Path) -> netCDF4.Dataset:
    """The file, read into memory unless it is large: HDF5 crashes if a process opens the same file several times."""
    is_large = path.stat().st_size > _LARGE_BYTES
    return netCDF4.Dataset(path) if is_large else netCDF4.Dataset(path.name, memory=path.read_bytes())
