"""Flights as files, by suffix: .nc (CF netCDF), .csv, .ict (ICARTT), .zarr; there whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import xarray as xr

from pc2dae.atomic import replacing
from pc2dae.errors import FlightError, nearest
from pc2dae.flight.icartt import read_icartt, write_icartt
from pc2dae.flight.netcdf import dress, read_netcdf, undress, write_netcdf
from pc2dae.flight.schema import new_flight
from pc2dae.flight.table import read_csv, write_csv
from pc2dae.suite import ENVIRONMENT, MOTION, Suite

_WRITERS = {".nc": write_netcdf, ".csv": write_csv, ".ict": write_icartt}
SUFFIXES = (*_WRITERS, ".zarr")


def write_flight(flight: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write a flight in the format of the path's suffix."""
    target = Path(path)
    suffix = _suffix(target)
    if suffix == ".zarr":
        _write_zarr(flight, target)
        return
    with replacing(target) as temporary:
        _WRITERS[suffix](flight, temporary)


def check_target(path: str | os.PathLike[str]) -> None:
    """Refuse before the work what would fail after it: no format, no place to write."""
    target = Path(path)
    if _suffix(target) == ".zarr":
        _need_zarr()
    place = next(folder for folder in target.absolute().parents if folder.exists())
    if not place.is_dir():
        raise FlightError(f"{target} cannot be written: {place} is not a folder", hint="give -o another place")
    if not os.access(place, os.W_OK | os.X_OK):
        raise FlightError(f"{target} cannot be written: no permission in {place}", hint="give -o another place")


def read_flight(path: str | os.PathLike[str], suite: Suite | None = None) -> xr.Dataset:
    """The flight in a file; `suite` describes one that does not say itself, and overrules one that does."""
    source = Path(path)
    suffix = _suffix(source)
    if not source.exists():
        raise FlightError(f"there is no {source}", hint="check the path")
    if suffix == ".csv":
        return read_csv(source, suite)
    if suffix == ".ict":
        return read_icartt(source, suite)
    dataset = read_netcdf(source) if suffix == ".nc" else _read_zarr(source)
    return _described(dataset, source, suite)


def _described(dataset: xr.Dataset, source: Path, suite: Suite | None) -> xr.Dataset:
    """The dataset as a flight of `suite`, or of the suite it names."""
    if "suite" in dataset.attrs:
        if suite is None:
            return dataset
        return dataset.assign_attrs(suite=suite.model_dump_json(exclude_defaults=True))
    if suite is None:
        raise FlightError(f"{source.name} does not say which suite it was made with", hint="pass --suite")
    if "time" not in dataset.dims:
        raise FlightError(
            f"{source.name} has no dimension 'time'", hint=nearest("time", [str(d) for d in dataset.dims])
        )
    columns = {c.name: c.column or c.name for c in suite.channels} | {n: n for n in (*ENVIRONMENT, *MOTION)}
    columns |= {str(key): column for key, column in (suite.environment | suite.motion).items()}
    values = {name: dataset[column].values for name, column in columns.items() if column in dataset}
    if not set(values) & set(suite.names):
        there = [str(name) for name in dataset.data_vars]
        raise FlightError(
            f"{source.name} has no channel of suite '{suite.name}'", hint=nearest(columns[suite.names[0]], there)
        )
    return new_flight(dataset["time"].values, values, suite, flight_id=source.stem, history=f"read {source.name}")


def _write_zarr(flight: xr.Dataset, target: Path) -> None:
    _need_zarr()
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        # Format 2: text of any length is part of its specification, which cannot be said of format 3 yet.
        dress(flight).to_zarr(temporary / "new", mode="w", zarr_format=2, consolidated=True)
        if target.exists():
            target.rename(temporary / "old")
        (temporary / "new").rename(target)
    finally:
        shutil.rmtree(temporary)


def _read_zarr(source: Path) -> xr.Dataset:
    _need_zarr()
    try:
        dataset = xr.open_zarr(source, chunks=None, decode_timedelta=False).load()
    except (OSError, KeyError, ValueError) as error:
        raise FlightError(f"{source.name} cannot be read as Zarr ({error})", hint="is the folder whole?") from None
    for variable in dataset.variables.values():
        if "flag_masks" in variable.attrs:
            variable.attrs["flag_masks"] = np.asarray(variable.attrs["flag_masks"], dtype=variable.dtype)
    return undress(dataset)


def _need_zarr() -> None:
    try:
        import zarr  # noqa: F401
    except ImportError:
        raise FlightError("Zarr is not installed", hint="pip install 'pc2dae[cluster]'") from None


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise FlightError(f"'{path.name}' has no suffix of a flight", hint=f"use one of {', '.join(SUFFIXES)}")
    return suffix
