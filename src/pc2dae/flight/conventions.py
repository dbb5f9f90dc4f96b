"""CF-1.11 and ACDD-1.3: adds the metadata that the conventions require on writing, and removes it on reading."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.channel_schema import BESIDE
from pc2dae.errors import FlightError
from pc2dae.flight.schema import suite_of, timestamp
from pc2dae.suite.units import contradiction

ADDED = "pc2dae_added"  # lists what `with_conventions` added, to be removed on reading
_POSITION = ("latitude", "longitude", "altitude")
_EPOCH = np.datetime64("1970-01-01T00:00:00", "ns")
_UNITS_OF_TIME = {"seconds": 1_000_000_000, "milliseconds": 1_000_000, "microseconds": 1_000, "nanoseconds": 1}

_ALWAYS = {"Conventions": "CF-1.11, ACDD-1.3", "standard_name_vocabulary": "CF Standard Name Table v93"}
_WITH_TRACK = {
    "featureType": "trajectory",
    "cdm_data_type": "Trajectory",
    "geospatial_lat_units": "degrees_north",
    "geospatial_lon_units": "degrees_east",
    "geospatial_vertical_units": "m",
    "geospatial_vertical_positive": "up",
}
# Defaults for metadata that only the data owner knows; attributes of the flight take precedence.
_UNLESS_SAID = {
    "summary": "Trace gases and aerosol measured from a mobile platform, with quality flags for each channel.",
    "keywords": "air quality, black carbon, trace gases, low-cost sensors, smoke",
    "source": "in-situ sensors",
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
    "platform": "not stated",
    "instrument": "see the variables",
}


def with_conventions(flight: xr.Dataset) -> xr.Dataset:
    """A copy of the flight with the attributes and variables that CF-1.11 and ACDD-1.3 require, ready to be written."""
    described = flight.copy()
    for variable in described.variables.values():
        variable.attrs, variable.encoding = dict(variable.attrs), {}
        if np.issubdtype(variable.dtype, np.datetime64):
            variable.encoding = _time_encoding(variable.values)
        elif np.issubdtype(variable.dtype, np.floating):
            variable.encoding = {"_FillValue": variable.dtype.type(np.nan)}
    added: dict[str, Any] = {"variables": [], "attributes": {}}
    for name, attributes in _variable_attributes(described).items():
        attrs = described.variables[name].attrs
        new = {key: value for key, value in attributes.items() if key not in attrs}
        attrs |= new
        if new:
            added["attributes"][name] = sorted(new)
    positions = [name for name in _POSITION if name in described]
    wavelengths = _wavelengths(described)
    about = {"units": "nm", "standard_name": "radiation_wavelength", "long_name": "wavelength"}
    scalars = {name: xr.Variable((), nm, about) for name, nm in sorted(set(wavelengths.values()))}
    named = {"cf_role": "trajectory_id", "long_name": "flight"}
    scalars["trajectory"] = xr.Variable((), str(flight.attrs.get("id", "flight")), named)
    added["variables"] += scalars
    described = described.assign(scalars).reset_coords(
        [n for n in described.coords if n != "time" and n not in described.dims]
    )
    for name in map(str, described.data_vars):
        if "time" in described.variables[name].dims and name not in positions:
            extra = [wavelengths[name][0]] if name in wavelengths else []
            described.variables[name].encoding["coordinates"] = " ".join(["time", *positions, "trajectory", *extra])
    globals_ = _global_attributes(flight)
    if {"latitude", "longitude"} <= set(positions):
        globals_ |= _WITH_TRACK
    added["attributes"][""] = sorted(globals_.keys() - flight.attrs.keys())
    described.attrs = globals_ | dict(flight.attrs) | {ADDED: json.dumps(added, sort_keys=True)}
    return described


def without_conventions(dataset: xr.Dataset) -> xr.Dataset:
    """The flight without what `with_conventions` added; other datasets are returned unchanged."""
    if ADDED not in dataset.attrs:
        return dataset
    try:
        added = json.loads(dataset.attrs[ADDED])
        scalars = [name for name in added["variables"] if name in dataset and dataset.variables[name].ndim == 0]
        attributes = {str(name): list(keys) for name, keys in added["attributes"].items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        raise FlightError(f"attribute '{ADDED}' is damaged", hint="is the file complete?") from None
    flight = dataset.drop_vars(scalars)
    for name, keys in attributes.items():
        attrs = flight.attrs if name == "" else flight.variables[name].attrs if name in flight else {}
        for key in keys:
            attrs.pop(key, None)
    flight.attrs.pop(ADDED)
    flight.attrs = _python_numbers(flight.attrs)
    for variable in flight.variables.values():
        variable.attrs, variable.encoding = _python_numbers(variable.attrs), {}
    return flight.set_coords([name for name in _POSITION if name in flight])


def without_contradictions(dataset: xr.Dataset) -> tuple[xr.Dataset, list[str]]:
    """The dataset without standard names that cannot have their variable's units, and a line for each."""
    lines, kept = [], dataset.copy()
    for name, variable in kept.variables.items():
        standard, units = (str(variable.attrs.get(key, "")) for key in ("standard_name", "units"))
        if units and contradiction(standard, units) is not None:
            variable.attrs = {key: value for key, value in variable.attrs.items() if key != "standard_name"}
            lines.append(f"{name}: standard_name {standard} contradicts its units {units} and is dropped")
    return kept, lines


def _python_numbers(attrs: Mapping[Any, Any]) -> dict[Any, Any]:
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in attrs.items()}


def _time_encoding(stamps: NDArray[np.datetime64]) -> dict[str, Any]:
    """Time encoding: integers in the coarsest unit that is exact for every stamp; no fill value, as CF requires."""
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
        name = channel.name
        own = flight.variables[name].attrs if name in flight else {}
        standard = own.get("standard_name", channel.standard_name)  # of dry air, once converted to it
        for variable in BESIDE:
            if variable.of(name) in flight:
                attrs = wanted[variable.of(name)]
                attrs["coverage_content_type"] = variable.content
                if variable.units == "own":
                    continue
                attrs["units"] = channel.units
                if standard is not None:
                    attrs["standard_name"] = f"{standard} standard_error" if variable.is_uncertainty else standard
    return wanted


def _wavelengths(flight: xr.Dataset) -> dict[str, tuple[str, float]]:
    """Name and value [nm] of the scalar coordinate of each single-wavelength channel."""
    wavelengths: dict[str, tuple[str, float]] = {}
    for channel in suite_of(flight).channels:
        if channel.wavelength_nm is not None:
            coordinate = (f"wavelength_{channel.wavelength_nm:g}".replace(".", "p"), channel.wavelength_nm)
            names = (channel.name, *(variable.of(channel.name) for variable in BESIDE))
            wavelengths |= {name: coordinate for name in names if name in flight}
    return wavelengths


def _global_attributes(flight: xr.Dataset) -> dict[str, Any]:
    """ACDD-1.3 attributes of a flight: extent, period, resolution, creator."""
    now, stamps = timestamp(), flight.variables["time"].values.astype("datetime64[ns]")
    step = (stamps[-1] - stamps[0]) / np.timedelta64(1, "s") / max(len(stamps) - 1, 1) or 1.0
    attrs: dict[str, Any] = _ALWAYS | _UNLESS_SAID
    attrs |= {
        "title": f"flight {flight.attrs.get('id', '')}".strip(),
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
        values = (
            flight.variables[name].values[np.isfinite(flight.variables[name].values)] if name in flight else np.empty(0)
        )
        if len(values):
            attrs |= {f"geospatial_{short}_min": float(values.min()), f"geospatial_{short}_max": float(values.max())}
    if {"geospatial_lat_min", "geospatial_lon_min"} <= attrs.keys():
        south, north = attrs["geospatial_lat_min"], attrs["geospatial_lat_max"]
        west, east = attrs["geospatial_lon_min"], attrs["geospatial_lon_max"]
        corners = ((south, west), (north, west), (north, east), (south, east), (south, west))
        attrs["geospatial_bounds"] = f"POLYGON(({', '.join(f'{lat:.6f} {lon:.6f}' for lat, lon in corners)}))"
        attrs["geospatial_bounds_crs"] = "EPSG:4326"
        if "altitude" in flight and flight.variables["altitude"].attrs.get("standard_name") == "altitude":
            attrs["geospatial_bounds_vertical_crs"] = "EPSG:5714"  # metres above mean sea level
    return attrs
