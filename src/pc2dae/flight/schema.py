"""The flight data structure: an `xr.Dataset` over `time`, described by its suite."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.channel_schema import BESIDE
from pc2dae.errors import FlightError, nearest
from pc2dae.flags import FLAGS, INDETERMINATE, MISSING, NOT_MEASURED
from pc2dae.suite import ENVIRONMENT, MOTION, Suite, conversion, parse_suite
from pc2dae.suite.units import is_per_volume

LEVELS = ("raw", "screened", "compensated", "denoised")

REFERENCE = ("reference_temperature_c", "reference_pressure_hpa")  # of concentrations per volume; none: ambient air
SPECIES = "combined_from"  # attribute of a species' variable: its channels and their weights
CONFORM = "pass the flight through `pc2dae.flight.conform`"
HistoryKind = Literal["change", "warning"]  # values taken as missing or corrected; what does not fit in a file
_KINDS = {"change": "history_changes", "warning": "history_warnings"}  # attributes of their lines
_YEARS = (1970, 2200)  # range of plausible time stamps

_COMMON: dict[str, dict[str, str]] = {
    "air_temperature": {"units": "degC", "standard_name": "air_temperature", "long_name": "air temperature"},
    "relative_humidity": {"units": "%", "standard_name": "relative_humidity", "long_name": "relative humidity"},
    "air_pressure": {"units": "hPa", "standard_name": "air_pressure", "long_name": "air pressure"},
    "latitude": {"units": "degrees_north", "standard_name": "latitude", "long_name": "latitude", "axis": "Y"},
    "longitude": {"units": "degrees_east", "standard_name": "longitude", "long_name": "longitude", "axis": "X"},
    "altitude": {"units": "m", "positive": "up", "axis": "Z"},
    "ground_speed": {"units": "m s-1", "standard_name": "platform_speed_wrt_ground", "long_name": "speed over ground"},
}
ALTITUDES: dict[str, dict[str, str]] = {  # attributes of `altitude` by what it is above
    "sea level": {"standard_name": "altitude", "long_name": "altitude above the geoid"},
    "ground": {"standard_name": "height", "long_name": "height above ground, from the take-off point"},
    "ellipsoid": {
        "standard_name": "height_above_reference_ellipsoid",
        "long_name": "height above the WGS 84 ellipsoid",
    },
}
COMMON_UNITS = {name: attrs["units"] for name, attrs in _COMMON.items()}  # of environment and motion


def new_flight(
    time: NDArray[np.datetime64],
    values: Mapping[str, Floats],
    suite: Suite,
    *,
    flags: Mapping[str, NDArray[np.integer[Any]]] | None = None,
    flight_id: str = "flight",
    level: str = "raw",
    history: str = "created",
) -> xr.Dataset:
    """A flight of `values` by name (channels, environment, motion); suite variables without values are all missing.

    `values` may hold other variables (millivolts, a second speed): they are kept unchanged, without flags.
    """
    stamps = np.asarray(time, dtype="datetime64[ns]")
    found: dict[str, xr.Variable] = {}
    for name in (*suite.names, *ENVIRONMENT, *MOTION):
        if name in values or name in suite.names:
            column = np.asarray(values.get(name, np.full(len(stamps), np.nan)), dtype=np.float64)
            found[name] = xr.Variable("time", column, dict(_COMMON.get(name, {})))
    if "altitude" in found:
        found["altitude"].attrs |= ALTITUDES[suite.altitude_above]
    for name, other in values.items():
        if name not in found:
            found[name] = xr.Variable("time", np.asarray(other))
    for channel in suite.channels:
        name = channel.name
        found[name].attrs |= {
            "units": channel.units,
            "long_name": channel.long_name or name,
            "family": suite.family_of(name),
            "ancillary_variables": f"qc_{name}",
            "coverage_content_type": "physicalMeasurement",
        }
        if channel.standard_name is not None:
            found[name].attrs["standard_name"] = channel.standard_name
        if channel.wavelength_nm is not None:
            found[name].attrs["radiation_wavelength_nm"] = channel.wavelength_nm
        if channel.reference_pressure_hpa is not None and is_per_volume(channel.units):
            found[name].attrs |= {key: getattr(channel, key) for key in REFERENCE}
        bits = (
            np.zeros(len(stamps), np.int32) if flags is None or name not in flags else np.asarray(flags[name], np.int32)
        )
        found[f"qc_{name}"] = xr.Variable(
            "time", bits | np.where(np.isnan(found[name].values), MISSING, 0).astype(np.int32), qc_attributes(name)
        )
    time_attrs = {"standard_name": "time", "long_name": "time, UTC", "axis": "T"}
    flight = xr.Dataset(coords={"time": ("time", stamps, time_attrs)}).assign(found)
    flight = flight.set_coords([n for n in ("latitude", "longitude", "altitude") if n in flight])
    flight.attrs = {
        "title": f"flight {flight_id}",
        "id": flight_id,
        "level": level,
        "suite": suite.model_dump_json(exclude_defaults=True),
    }
    return add_history(flight, history)


def qc_attributes(name: str) -> dict[str, Any]:
    """Attributes of `qc_<name>` as expected by CF and ARM's ACT."""
    return {
        "long_name": f"quality flags of {name}",
        "standard_name": "quality_flag",
        "units": "1",
        "flag_masks": np.array(list(FLAGS.values()), dtype=np.int32),
        "flag_meanings": " ".join(FLAGS),
        "flag_assessments": " ".join("Indeterminate" if bit & INDETERMINATE else "Bad" for bit in FLAGS.values()),
        "coverage_content_type": "qualityInformation",
    }


def suite_of(flight: xr.Dataset) -> Suite:
    """The suite a flight was made with."""
    if "suite" not in flight.attrs:
        raise FlightError("the flight does not name its suite", hint="pass --suite")
    if not isinstance(flight.attrs["suite"], str):
        raise FlightError("the flight's attribute 'suite' is not text", hint="pass --suite")
    return parse_suite(flight.attrs["suite"], where="the flight's suite")


def observed(flight: xr.Dataset, name: str) -> Mask:
    """Mask of observations of a channel: finite, and not flagged as not measured."""
    values, flags = (flight.variables[n].values for n in (name, f"qc_{name}"))  # quicker than flight[name]
    return np.asarray(np.isfinite(values) & ((flags & NOT_MEASURED) == 0))


def channel_arrays(flight: xr.Dataset, suite: Suite) -> tuple[Array, Mask]:
    """Values and observation mask, (channel, time), of a suite's channels."""
    values = np.stack([flight.variables[name].values for name in suite.names]).astype(np.float64)
    return values, np.stack([observed(flight, name) for name in suite.names])


def environment_array(flight: xr.Dataset) -> Array:
    """Air temperature, relative humidity and pressure of a flight, (3, time); NaN where it has none."""
    unknown = np.full(flight.sizes["time"], np.nan)
    return np.stack([flight.variables[name].values if name in flight else unknown for name in ENVIRONMENT]).astype(
        np.float64
    )


def has_estimate(flight: xr.Dataset, name: str) -> bool:
    """Whether a channel was denoised and had a usable sample to be estimated from."""
    return f"{name}_raw" in flight and bool(np.isfinite(flight.variables[name].values).any())


def add_history(
    flight: xr.Dataset, line: str, *, level: str | None = None, kind: HistoryKind | None = None
) -> xr.Dataset:
    """A copy of `flight` with one more line of history; those of a `kind` are also kept by themselves."""
    attrs = dict(flight.attrs)
    plain = " ".join(line.encode("utf-8", "replace").decode().split())  # file names may contain any character
    new = {"history": f"{timestamp()} pc2dae: {plain}"} | ({} if kind is None else {_KINDS[kind]: plain})
    attrs |= {key: "\n".join(filter(None, [str(attrs.get(key, "")), text])) for key, text in new.items()}
    if level is not None:
        attrs["level"] = level
    return flight.assign_attrs(attrs)


def history_of(flight: xr.Dataset, kind: HistoryKind) -> list[str]:
    """The lines of history of one kind, without their time stamps."""
    return str(flight.attrs.get(_KINDS[kind], "")).splitlines()


def timestamp() -> str:
    """Now, or SOURCE_DATE_EPOCH where it is set, as ISO 8601 in UTC."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def check_flight(flight: xr.Dataset, *, level: str | None = None) -> Suite:
    """The flight's suite; raises an error if the flight is invalid."""
    suite = suite_of(flight)
    check_time(flight)
    check_variables(flight, suite)
    for name, wanted in units_of(suite).items():
        given = str(flight.variables[name].attrs.get("units", "")) if name in flight else ""
        if given not in ("", wanted) and conversion(given, wanted) != (1.0, 0.0):
            raise FlightError(f"'{name}' is in {given}, but the suite has {wanted}", hint=CONFORM)
    reached = level_of(flight)
    if level is not None and LEVELS.index(reached) < LEVELS.index(level):
        command = {"denoised": "pc2dae denoise"}.get(level, "pc2dae ingest")
        raise FlightError(f"the flight is at level '{reached}', but '{level}' is needed", hint=f"run `{command}` first")
    time = flight.variables["time"].values
    if not is_regular(time, suite.rate_hz):
        step = np.median(np.diff(time)) / np.timedelta64(1, "s")
        raise FlightError(
            f"rows are {step:g} s apart, or irregular, but suite '{suite.name}' has rate_hz = {suite.rate_hz:g}",
            hint=CONFORM,
        )
    return suite


def check_time(flight: xr.Dataset, *, in_order: bool = True) -> None:
    """Refuse time stamps that are not plausible dates or, unless `in_order` is false, do not increase."""
    if "time" not in flight.dims:
        raise FlightError("the dataset has no dimension 'time'", hint=nearest("time", [str(d) for d in flight.dims]))
    time = flight["time"]
    if time.dims != ("time",):
        raise FlightError(
            f"'time' has dimensions {', '.join(map(str, time.dims))}", hint="expected one stamp for each row"
        )
    if not np.issubdtype(time.dtype, np.datetime64):
        calendar = getattr(next(iter(time.values), None), "calendar", None)
        if calendar is not None:
            raise FlightError(
                f"the time stamps from {time.values[0]} on (calendar '{calendar}') are not dates between"
                f" {_YEARS[0]} and {_YEARS[1]} of the standard calendar",
                hint="correct the attributes 'units' and 'calendar' of 'time'",
            )
        raise FlightError(
            f"'time' is not a date ({time.dtype})",
            hint="give it units as in 'seconds since 1970-01-01', in UTC and the standard calendar",
        )
    stamps = time.values
    if len(stamps) == 0:
        raise FlightError("the flight is empty", hint="is there a row with a valid time stamp?")
    if np.isnat(stamps).any():
        raise FlightError(
            f"row {int(np.argmax(np.isnat(stamps))) + 1:,} has no time stamp", hint="remove the rows without one"
        )
    years = stamps.astype("datetime64[Y]").astype(np.int64) + 1970
    outside = (years < _YEARS[0]) | (years > _YEARS[1])
    if outside.any():
        row = int(np.argmax(outside))
        raise FlightError(
            f"row {row + 1:,} is stamped {str(stamps[row])[:19]}, not between {_YEARS[0]} and {_YEARS[1]}",
            hint="correct the attribute 'units' of 'time'",
        )
    steps = np.diff(stamps)
    if in_order and len(steps) and steps.min() <= np.timedelta64(0):
        row = int(np.argmax(steps <= np.timedelta64(0))) + 1
        raise FlightError(
            f"time does not increase at row {row + 1:,} ({stamps[row]} after {stamps[row - 1]})",
            hint="sort the rows, keep one of each stamp; or run `pc2dae ingest` on the original logs",
        )


def check_variables(flight: xr.Dataset, suite: Suite) -> None:
    """Refuse a flight that lacks a channel or its flags, or whose variables are not numbers over time."""
    there = [str(name) for name in flight.data_vars]
    for name in suite.names:
        if name not in flight:
            raise FlightError(f"the flight has no channel '{name}'", hint=nearest(name, there))
        if f"qc_{name}" not in flight:
            raise FlightError(f"channel '{name}' has no flags", hint=f"expected a variable 'qc_{name}'")
    for name in units_of(suite):
        if name in flight:
            check_variable(flight, name)
    for name in suite.names:
        check_variable(flight, f"qc_{name}", "flags, which are integers", "iu")


def check_variable(flight: xr.Dataset, name: str, expected: str = "numbers", kinds: str = "fiu") -> None:
    """Refuse a variable that is not over time alone, or of another type than `kinds` (numpy's letters)."""
    variable = flight.variables[name]
    if variable.dims != ("time",):
        dims = ", ".join(map(str, variable.dims)) or "()"
        raise FlightError(f"'{name}' has dimensions {dims}", hint="expected the dimension 'time' alone")
    if variable.dtype.kind not in kinds:
        raise FlightError(f"'{name}' is of type {variable.dtype}", hint=f"expected {expected}")


def units_of(suite: Suite) -> dict[str, str]:
    """Units of all variables that a flight of this suite may have: channels, accompanying ones, environment, motion."""
    forms = [variable for variable in BESIDE if variable.units == "channel"]
    beside = {variable.of(channel.name): channel.units for channel in suite.channels for variable in forms}
    return beside | {channel.name: channel.units for channel in suite.channels} | COMMON_UNITS


def level_of(flight: xr.Dataset) -> str:
    """The processing level of a flight, one of LEVELS."""
    level = flight.attrs.get("level", "raw")
    if not isinstance(level, str) or level not in LEVELS:
        raise FlightError(f"the flight is at an unknown level '{level}'", hint=nearest(str(level), LEVELS))
    return level


def is_regular(time: NDArray[np.datetime64], rate_hz: float) -> bool:
    """Whether the k-th stamp lies within half a step of k steps after the first, as on a grid of `rate_hz`."""
    step = round(1e9 / rate_hz)
    since = time.astype("datetime64[ns]").astype(np.int64) - np.arange(len(time)) * step
    return bool(np.all(np.abs(since - np.int64(np.median(since - since[0])) - since[0]) <= step / 2))
