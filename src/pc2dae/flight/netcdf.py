"""Flights as CF-1.11 and ACDD-1.3 trajectory files: what the conventions want beyond what a flight holds, and back."""

from __future__ import annotations

import errno
import json
import math
import mmap
import os
import shutil
import tempfile
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.errors import FlightError, Pc2daeError
from pc2dae.flight.cells import MAX_NUMBERS
from pc2dae.flight.schema import suite_of, timestamp

ADDED = "pc2dae_added"  # what `dress` put in, so that `undress` takes out exactly that
_POSITION = ("latitude", "longitude", "altitude")
_EPOCH = np.datetime64("1970-01-01T00:00:00", "ns")
_UNITS_OF_TIME = {"seconds": 1_000_000_000, "milliseconds": 1_000_000, "microseconds": 1_000, "nanoseconds": 1}
_HEAP = b"GCOL\x01\0\0\0"  # how an HDF5 global heap begins
_LARGE_BYTES = 1 << 30
_MAX_NUMBERS = 4 * MAX_NUMBERS  # a denoised flight holds more than the records it was aligned from

_ALWAYS = {
    "Conventions": "CF-1.11, ACDD-1.3",
    "standard_name_vocabulary": "CF Standard Name Table v93",
}
_WITH_TRACK = {
    "featureType": "trajectory",
    "cdm_data_type": "Trajectory",
    "geospatial_lat_units": "degrees_north",
    "geospatial_lon_units": "degrees_east",
    "geospatial_vertical_units": "m",
    "geospatial_vertical_positive": "up",
}
# Defaults of what only the owner of the data knows; an attribute of the flight wins.
_UNLESS_SAID = {
    "summary": "Trace gases and aerosol along the track of an uncrewed aircraft, with quality flags for each channel.",
    "keywords": "air quality, black carbon, trace gases, low-cost sensors, uncrewed aircraft, smoke",
    "source": "airborne in-situ sensors",
    "naming_authority": "local",
    "license": "not stated",
    "creator_name": "not stated",
    "creator_email": "not stated",
    "creator_url": "not stated",
    "institution": "not stated",
    "project": "not stated",
    "publisher_name": "not stated",
    "publisher_email": "not stated",
    "publisher_url": "not stated",
    "acknowledgement": "not stated",
    "comment": "Bad values are flagged, not removed: read qc_<name> beside <name>.",
    "platform": "uncrewed aircraft",
    "instrument": "see the variables",
}


def netcdf_bytes(flight: xr.Dataset) -> bytes:
    """A flight as the bytes of a netCDF file: the same for the same flight (dates by SOURCE_DATE_EPOCH)."""
    dressed = dress(flight)
    for name, variable in dressed.variables.items():
        if variable.ndim and variable.dtype.kind in "fiuM":
            variable.encoding["fletcher32"] = True  # a damaged piece is an error then, not another number
            if name != "time" and variable.dtype.kind != "M":
                variable.encoding |= {"zlib": True, "complevel": 1, "shuffle": True}
    return dataset_bytes(dressed)


def dataset_bytes(dataset: xr.Dataset, **options: Any) -> bytes:
    """A dataset as the bytes of a netCDF file, `options` as for `xr.Dataset.dump_to_store`.

    HDF5 crashes when its disk is full, and puts the time of day into files that it makes in memory: so it writes where
    there is room, to a file without a name that is gone with the process.
    """
    most = dataset.nbytes + 16_384 * len(dataset.variables) + 1_000_000
    with tempfile.TemporaryDirectory(dir=_roomy(most)) as folder:
        path = Path(folder) / "flight.nc"
        file = netCDF4.Dataset(path, "w", format="NETCDF4")
        written = path.open("rb")
    with written:
        with file:
            dataset.dump_to_store(_store(file), **options)
        return written.read()


def _store(file: netCDF4.Dataset) -> xr.backends.NetCDF4DataStore:
    return xr.backends.NetCDF4DataStore(file)


def _roomy(size: int) -> Path:
    """A folder with room for so many bytes, in memory if there is one; what is made in it is a private folder."""
    folders = [Path("/dev/shm"), Path(tempfile.gettempdir())]  # nosec B108
    for folder in folders:
        if folder.is_dir() and os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > size:
            return folder
    raise OSError(errno.ENOSPC, f"no space left on the device, {size:,} bytes are needed for a while", str(folders[-1]))


def read_netcdf(path: Path, *, foreign: Collection[str] | None = None) -> xr.Dataset:
    """The dataset of a netCDF file, in memory; one that `netcdf_bytes` made is as it was before.

    Of a file without a suite, only the variables named in `foreign` are loaded, where given.
    """
    if not path.exists():
        raise FlightError(f"there is no {path}", hint="check the path")
    _check_heaps(path)
    with reading(path, "netCDF"), _opened(path) as file:  # not by xarray, which leaves a damaged file open
        shapes = {name: variable.shape for name, variable in file.variables.items()}
        unwanted = left_out(shapes, path, foreign if "suite" not in file.ncattrs() else None)
        return undress(load(xr.open_dataset(_store(file), decode_timedelta=False, drop_variables=unwanted), path))


def _opened(path: Path) -> netCDF4.Dataset:
    """The file, from memory unless it is large: HDF5 crashes where a process opens the same file several times."""
    is_large = path.stat().st_size > _LARGE_BYTES
    return netCDF4.Dataset(path) if is_large else netCDF4.Dataset(path.name, memory=path.read_bytes())


def left_out(shapes: Mapping[str, tuple[int, ...]], path: Path, wanted: Collection[str] | None) -> list[str]:
    """The variables that are not `wanted`; an error if the others, by their shapes, are too large for memory."""
    unwanted = [name for name in shapes if wanted is not None and name != "time" and name not in wanted]
    numbers = sum(math.prod(shape) for name, shape in shapes.items() if name not in unwanted)
    if numbers > _MAX_NUMBERS:
        raise FlightError(f"{path.name} holds {numbers:,} values: too many for one flight", hint="split it")
    return unwanted


@contextmanager
def reading(path: Path, form: str) -> Iterator[None]:
    """Whatever a library raises on a damaged file becomes one line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what xarray cannot decode is refused when it is checked
            yield
    except Pc2daeError:
        raise
    except Exception as error:  # noqa: BLE001 - the libraries raise whatever the damage leads to
        raise FlightError(f"{path.name} cannot be read as {form} ({_line(error)})", hint="is the file whole?") from None


def load(opened: xr.Dataset, path: Path) -> xr.Dataset:
    """An opened dataset in memory; an error names the variable that cannot be read."""
    for name, variable in opened.variables.items():
        try:
            variable.load()
        except Exception as error:  # noqa: BLE001 - the libraries raise whatever the damage leads to
            raise FlightError(
                f"{path.name}: variable '{name}' cannot be read ({_line(error)})", hint="is the file whole?"
            ) from None
    return opened


def _check_heaps(path: Path) -> None:
    """Refuse a file whose HDF5 global heaps hold an object without a size: the library would read it for ever.

    A heap is b"GCOL", version and reserved bytes, its size; then objects of index (2 bytes), 6 other bytes and size,
    followed by that many bytes rounded up to 8. Free space has index 0, and a size that counts its header as well.
    """
    with path.open("rb") as file:
        if not file.read(1):
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            at = data.find(_HEAP)
            while at >= 0:
                end = min(at + int.from_bytes(data[at + 8 : at + 16], "little"), len(data))
                place = at + 16
                while place + 16 <= end:
                    size = int.from_bytes(data[place + 8 : place + 16], "little")
                    length = 16 + (size + 7) // 8 * 8 if any(data[place : place + 2]) else size
                    if length < 16:
                        raise FlightError(f"{path.name} is damaged at byte {place:,}", hint="is the file whole?")
                    place += length
                at = data.find(_HEAP, at + 1)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:150] or type(error).__name__


def dress(flight: xr.Dataset) -> xr.Dataset:
    """A copy of the flight with all that CF-1.11 and ACDD-1.3 ask for, ready to be written."""
    dressed = flight.copy()
    for variable in dressed.variables.values():
        variable.attrs, variable.encoding = dict(variable.attrs), {}
        if np.issubdtype(variable.dtype, np.datetime64):
            variable.encoding = _time_encoding(variable.values)
        elif np.issubdtype(variable.dtype, np.floating):
            variable.encoding = {"_FillValue": variable.dtype.type(np.nan)}
    added: dict[str, Any] = {"variables": [], "attributes": {}}
    for name, attributes in _variable_attributes(dressed).items():
        attrs = dressed.variables[name].attrs
        new = {key: value for key, value in attributes.items() if key not in attrs}
        attrs |= new
        if new:
            added["attributes"][name] = sorted(new)
    positions = [name for name in _POSITION if name in dressed]
    wavelengths = _wavelengths(dressed)
    for name, nm in sorted(set(wavelengths.values())):
        dressed[name] = ((), nm, {"units": "nm", "standard_name": "radiation_wavelength", "long_name": "wavelength"})
        added["variables"].append(name)
    dressed["trajectory"] = (
        (),
        str(flight.attrs.get("id", "flight")),
        {"cf_role": "trajectory_id", "long_name": "flight"},
    )
    added["variables"].append("trajectory")
    dressed = dressed.reset_coords([n for n in dressed.coords if n != "time" and n not in dressed.dims])
    for name in map(str, dressed.data_vars):
        if "time" in dressed.variables[name].dims and name not in positions:
            extra = [wavelengths[name][0]] if name in wavelengths else []
            dressed.variables[name].encoding["coordinates"] = " ".join(["time", *positions, "trajectory", *extra])
    globals_ = _global_attributes(flight)
    if {"latitude", "longitude"} <= set(positions):
        globals_ |= _WITH_TRACK
    added["attributes"][""] = sorted(globals_.keys() - flight.attrs.keys())
    dressed.attrs = globals_ | dict(flight.attrs) | {ADDED: json.dumps(added, sort_keys=True)}
    return dressed


def undress(dataset: xr.Dataset) -> xr.Dataset:
    """The flight that was dressed: what was added is taken out again; a stranger's dataset stays as it is."""
    if ADDED not in dataset.attrs:
        return dataset
    try:
        added = json.loads(dataset.attrs[ADDED])
        scalars = [name for name in added["variables"] if name in dataset and dataset[name].ndim == 0]
        attributes = {str(name): list(keys) for name, keys in added["attributes"].items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        raise FlightError(f"attribute '{ADDED}' is damaged", hint="is the file whole?") from None
    flight = dataset.drop_vars(scalars)
    for name, keys in attributes.items():
        attrs = flight.attrs if name == "" else flight[name].attrs if name in flight else {}
        for key in keys:
            attrs.pop(key, None)
    flight.attrs.pop(ADDED)
    flight.attrs = _python_numbers(flight.attrs)
    for variable in flight.variables.values():
        variable.attrs, variable.encoding = _python_numbers(variable.attrs), {}
    return flight.set_coords([name for name in _POSITION if name in flight])


def _python_numbers(attrs: Mapping[Any, Any]) -> dict[Any, Any]:
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in attrs.items()}


def _time_encoding(stamps: NDArray[np.datetime64]) -> dict[str, Any]:
    """Whole numbers of the coarsest unit that holds every stamp exactly; no fill value, as CF wants of a coordinate."""
    since = (stamps.astype("datetime64[ns]") - _EPOCH).astype(np.int64)
    unit = next(name for name, ns in _UNITS_OF_TIME.items() if not np.any(since % ns))
    return {"units": f"{unit} since 1970-01-01T00:00:00Z", "calendar": "standard", "dtype": "int64", "_FillValue": None}


def _variable_attributes(flight: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Attributes that each variable should have, by name."""
    suite = suite_of(flight)
    wanted: dict[str, dict[str, Any]] = {}
    for key in flight.variables:
        name, attrs = str(key), {"long_name": str(key).replace("_", " ")}
        if key in flight.dims:
            attrs["coverage_content_type"] = "coordinate"
        else:
            attrs["coverage_content_type"] = "coordinate" if name in _POSITION else "auxiliaryInformation"
        wanted[name] = attrs
        if flight.variables[name].attrs.get("standard_name") == "air_temperature":
            attrs["units_metadata"] = "temperature: on_scale"
        if np.issubdtype(flight.variables[name].dtype, np.datetime64):
            attrs["units_metadata"] = "leap_seconds: none"
    for channel in suite.channels:
        name, standard = channel.name, channel.standard_name
        for suffix, content in (
            ("_raw", "physicalMeasurement"),
            ("_unbounded", "modelResult"),
            ("_uncertainty", "qualityInformation"),
        ):
            if f"{name}{suffix}" in flight:
                attrs = wanted[f"{name}{suffix}"]
                attrs |= {"units": channel.units, "coverage_content_type": content}
                if standard is not None:
                    attrs["standard_name"] = f"{standard} standard_error" if suffix == "_uncertainty" else standard
    return wanted


def _wavelengths(flight: xr.Dataset) -> dict[str, tuple[str, float]]:
    """Name and value [nm] of the scalar coordinate of each channel that sees one wavelength."""
    found = {}
    for channel in suite_of(flight).channels:
        if channel.wavelength_nm is not None:
            coordinate = (f"wavelength_{channel.wavelength_nm:g}".replace(".", "p"), channel.wavelength_nm)
            for name in (
                channel.name,
                f"{channel.name}_raw",
                f"{channel.name}_unbounded",
                f"{channel.name}_uncertainty",
            ):
                if name in flight:
                    found[name] = coordinate
    return found


def _global_attributes(flight: xr.Dataset) -> dict[str, Any]:
    """ACDD-1.3 of a flight: where, when, how fine, by what."""
    now, stamps = timestamp(), flight["time"].values.astype("datetime64[ns]")
    step = (stamps[-1] - stamps[0]) / np.timedelta64(1, "s") / max(len(stamps) - 1, 1) or 1.0
    attrs: dict[str, Any] = _ALWAYS | _UNLESS_SAID
    attrs |= {
        "title": f"UAV flight {flight.attrs.get('id', '')}".strip(),
        "id": str(flight.attrs.get("id", "flight")),
        "processing_level": str(flight.attrs.get("level", "raw")),
        "product_version": version("pc2dae"),
        "pc2dae_version": version("pc2dae"),
        "date_created": now,
        "date_modified": now,
        "time_coverage_start": f"{np.datetime_as_string(stamps[0], unit='s')}Z",
        "time_coverage_end": f"{np.datetime_as_string(stamps[-1], unit='s')}Z",
        "time_coverage_duration": f"PT{round((stamps[-1] - stamps[0]) / np.timedelta64(1, 's'))}S",
        "time_coverage_resolution": f"PT{step:g}S",
    }
    for name, short in (("latitude", "lat"), ("longitude", "lon"), ("altitude", "vertical")):
        values = flight[name].values[np.isfinite(flight[name].values)] if name in flight else np.empty(0)
        if len(values):
            attrs |= {f"geospatial_{short}_min": float(values.min()), f"geospatial_{short}_max": float(values.max())}
    if {"geospatial_lat_min", "geospatial_lon_min"} <= attrs.keys():
        south, north = attrs["geospatial_lat_min"], attrs["geospatial_lat_max"]
        west, east = attrs["geospatial_lon_min"], attrs["geospatial_lon_max"]
        corners = ((south, west), (north, west), (north, east), (south, east), (south, west))
        attrs["geospatial_bounds"] = f"POLYGON(({', '.join(f'{lat:.6f} {lon:.6f}' for lat, lon in corners)}))"
        attrs["geospatial_bounds_crs"] = "EPSG:4326"
        attrs["geospatial_bounds_vertical_crs"] = "EPSG:5714"  # metres above mean sea level
    return attrs
