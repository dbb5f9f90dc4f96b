"""Flights as files, by suffix: .nc (CF netCDF), .csv, .ict (ICARTT), .zarr; written atomically.

For other tools, written and not read: .geojson, .kml.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import xarray as xr

from pc2dae.atomic import replacing, write_bytes
from pc2dae.errors import FlightError, Pc2daeError, nearest
from pc2dae.flight.conform import conform
from pc2dae.flight.conventions import without_contradictions
from pc2dae.flight.csv import has_flags, read_csv, write_csv
from pc2dae.flight.geojson import write_geojson
from pc2dae.flight.icartt import read_icartt
from pc2dae.flight.icartt_writer import write_icartt
from pc2dae.flight.kml import write_kml
from pc2dae.flight.netcdf import netcdf_bytes, read_netcdf
from pc2dae.flight.schema import ALTITUDES, add_history, check_time, check_variable, new_flight, suite_of
from pc2dae.flight.unit_checks import check_units, in_expected_units
from pc2dae.flight.zarr import open_zarr, require_zarr, write_zarr
from pc2dae.suite import ENVIRONMENT, MOTION, Suite

SUFFIXES = (".nc", ".csv", ".ict", ".zarr")
ZIPPED = ".zarr.zip"  # as archives write them: read only
WRITE_ONLY = (".geojson", ".kml")
_WRITERS = {".csv": write_csv, ".ict": write_icartt, ".geojson": write_geojson, ".kml": write_kml}


def write_flight(flight: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write a flight in the format of the path's suffix."""
    target = Path(path)
    suffix = _suffix(target, (*SUFFIXES, *WRITE_ONLY))
    if suffix == ".nc":
        write_bytes(target, netcdf_bytes(flight))
    elif suffix == ".zarr":
        write_zarr(flight, target)
    else:
        with replacing(target) as temporary:
            _WRITERS[suffix](flight, temporary)


def check_target(path: str | os.PathLike[str]) -> None:
    """Check a target before a long computation: known format, writable folder."""
    target = Path(path)
    suffix = _suffix(target, (*SUFFIXES, *WRITE_ONLY))
    if suffix == ".zarr":
        require_zarr()
    place = next(folder for folder in target.absolute().parents if folder.exists())
    if not place.is_dir():
        raise FlightError(f"{target} cannot be written: {place} is not a folder", hint="choose another path with -o")
    if not os.access(place, os.W_OK | os.X_OK):
        raise FlightError(f"{target} cannot be written: no permission in {place}", hint="choose another path with -o")


def read_flight(path: str | os.PathLike[str], suite: Suite | None = None) -> xr.Dataset:
    """The flight in a file; `suite` is needed if the file does not name one, and overrides the one it names."""
    source = Path(path)
    suffix = ".zarr" if source.name.lower().endswith(ZIPPED) else _suffix(source)
    if not source.exists():
        raise FlightError(f"there is no {source}", hint="check the path")
    try:
        if suffix == ".csv":
            return read_csv(source, suite)
        if suffix == ".ict":
            return conform(read_icartt(source, suite))
        if suffix == ".zarr":
            return read_zarr(source, suite)
        foreign = None if suite is None else _columns(suite).values()
        return _described(read_netcdf(source, foreign=foreign), source, suite)
    except Pc2daeError as error:
        message = Exception.__str__(error)
        if source.name in message:
            raise
        raise type(error)(f"{source.name}: {message}", hint=error.hint) from None


def _described(dataset: xr.Dataset, source: Path, suite: Suite | None) -> xr.Dataset:
    """The dataset as a flight of `suite`, or of the suite it names."""
    dataset, lines = without_contradictions(dataset)
    if "suite" in dataset.attrs:
        if suite is not None:
            dataset = dataset.assign_attrs(suite=suite.model_dump_json(exclude_defaults=True))
        return _with_warnings(conform(dataset), lines)
    if suite is None:
        raise FlightError(f"{source.name} does not name its suite", hint="pass --suite")
    check_time(dataset)
    columns = _columns(suite)
    found = {name: dataset[column] for name, column in columns.items() if column in dataset}
    if not set(found) & set(suite.names):
        there = [str(name) for name in dataset.data_vars]
        raise FlightError(
            f"{source.name} has no channel of suite '{suite.name}'", hint=nearest(columns[suite.names[0]], there)
        )
    for column in (variable.name for variable in found.values()):
        check_variable(dataset, str(column))
    values = {name: variable.values for name, variable in found.items()}
    flight = new_flight(dataset["time"].values, values, suite, flight_id=source.stem, history=f"read {source.name}")
    for name, variable in found.items():
        flight[name].attrs["units"] = variable.attrs.get("units", flight[name].attrs["units"])
    above = next((a for a in ALTITUDES.values() if "altitude" in found and _says(found["altitude"], a)), None)
    if above is not None and suite.altitude_reference is None:
        flight["altitude"].attrs |= above
    flight = _with_warnings(conform(flight), lines)
    return _plausible(flight, [name for name in found if "units" not in found[name].attrs], source)


def _says(variable: xr.DataArray, attributes: dict[str, str]) -> bool:
    return variable.attrs.get("standard_name") == attributes["standard_name"]


def _with_warnings(flight: xr.Dataset, lines: Iterable[str]) -> xr.Dataset:
    for line in lines:
        flight = add_history(flight, line, kind="warning")
    return flight


def _columns(suite: Suite) -> dict[str, str]:
    """Names in a foreign file of the channels, environment and motion variables of a suite."""
    columns = {c.name: c.column or c.name for c in suite.channels} | {n: n for n in (*ENVIRONMENT, *MOTION)}
    return columns | {str(key): column for key, column in (suite.environment | suite.motion).items()}


def _plausible(flight: xr.Dataset, unstated: Iterable[str], source: Path) -> xr.Dataset:
    """The flight with unitless variables checked by their range: environment is converted, channels are refused."""
    suite = suite_of(flight)
    for name in unstated:
        if name in suite.names:
            check_units(suite[name], flight[name].values, source=source.name)
            continue
        values, repair = in_expected_units(name, flight[name].values, source=source.name)
        if repair is not None:
            flight = add_history(flight.assign({name: flight[name].copy(data=values)}), repair)
    return flight


def read_zarr(source: Path, suite: Suite | None = None) -> xr.Dataset:
    """The flight in a Zarr store, zipped or a folder, or in a group's folder."""
    foreign = None if suite is None else _columns(suite).values()
    return _described(open_zarr(source, foreign=foreign), source, suite)


def is_flight(path: str | os.PathLike[str]) -> bool:
    """Whether a file or store is a flight, not a log: by its suffix, a CSV by its columns of flags."""
    source = Path(path)
    return source.name.lower().endswith((".nc", ".zarr", ".ict", ZIPPED)) or (
        source.suffix.lower() == ".csv" and source.is_file() and has_flags(source)
    )


def _suffix(path: Path, known: tuple[str, ...] = SUFFIXES) -> str:
    suffix = path.suffix.lower()
    if suffix in WRITE_ONLY and suffix not in known:
        raise FlightError(f"{path.name}: {suffix} files cannot be read back", hint=f"use one of {', '.join(known)}")
    if suffix not in known:
        raise FlightError(f"'{path.name}' is not a known flight format", hint=f"use one of {', '.join(known)}")
    return suffix
