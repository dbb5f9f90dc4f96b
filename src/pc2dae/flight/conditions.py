"""Conversions of a flight: to the units of its suite, and to other temperatures and pressures of the air."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from pc2dae.arrays import Array, Mask
from pc2dae.channel_schema import BESIDE
from pc2dae.errors import FlightError
from pc2dae.flags import MISSING
from pc2dae.flight.air import (
    MOLAR_MASS_G,
    NEAR_S,
    STANDARD_C,
    STANDARD_HPA,
    ZERO_CELSIUS,
    at_conditions,
    in_mass_concentration,
    in_mole_fraction,
    interpolated_air,
)
from pc2dae.flight.schema import COMMON_UNITS, REFERENCE, SPECIES, add_history, suite_of
from pc2dae.suite import Channel, Suite, conversion
from pc2dae.suite.species import NG_M3, PPB, species_of
from pc2dae.suite.units import is_per_volume, spelled

_BUDGET = ("zero_uncertainty", "drift_uncertainty", "gain_anchor", "between_sensor_level")  # attributes in its units
_LEVELS = ("lower_bound", "valid_min", "valid_max", "detection_limit", "noise_sigma", "background",
           "background_uncertainty")  # keys of a channel in its units  # fmt: skip
ADD_AIR = "add air_temperature and air_pressure, or state reference_temperature_c and reference_pressure_hpa"


def air_of(flight: xr.Dataset, channel: Channel) -> tuple[Array, Array]:
    """Temperature [degC] and pressure [hPa], (time,), that a channel's masses refer to.

    They are those of the suite's reference conditions, else the flight's own, NaN farther than 60 s from any
    measurement.
    """
    time = flight.variables["time"].values
    if channel.reference is not None:
        return np.full(len(time), channel.reference[0]), np.full(len(time), channel.reference[1])
    unknown = np.full(len(time), np.nan)
    measured = (flight.variables[n].values if n in flight else unknown for n in ("air_temperature", "air_pressure"))
    temperature, pressure = ((time, np.asarray(values, np.float64)) for values in measured)
    return interpolated_air(time, temperature, pressure)


def is_gas_conversion(channel: Channel, given: str, wanted: str) -> bool:
    """Whether a channel's units differ as a mole fraction from a mass concentration, of a gas with a known mass."""
    units = spelled(given), spelled(wanted)
    is_mixed = any(a in PPB and b in NG_M3 for a, b in (units, units[::-1]))
    return is_mixed and species_of(channel) in MOLAR_MASS_G


def gas_factor(channel: Channel, given: str, wanted: str, air: tuple[Array, Array]) -> Array:
    """Factor from one of the two kinds of units to the other, at temperature [degC] and pressure [hPa] of the air."""
    species, here, there = str(species_of(channel)), spelled(given), spelled(wanted)
    one = np.ones(len(air[0]))
    if here in NG_M3:
        return in_mole_fraction(one, here, species, *air) / PPB[there]
    return in_mass_concentration(PPB[here] * one, there, species, *air)


def missing_air(air: tuple[Array, Array]) -> str:
    """The quantities of the air that are never known, for a message; empty if both are known at times."""
    names = ("temperature", "pressure")
    return " and ".join(name for name, values in zip(names, air, strict=True) if not np.isfinite(values).any())


def at_standard_conditions(flight: xr.Dataset) -> xr.Dataset:
    """The flight with all concentrations per volume of air at 273.15 K and 1013.25 hPa.

    Values farther than 60 s from any temperature or pressure are missing; a channel without any is an error.
    """
    suite = suite_of(flight)
    wanted = dict(zip(REFERENCE, (STANDARD_C, STANDARD_HPA), strict=True))
    said = f"at {ZERO_CELSIUS + STANDARD_C:g} K and {STANDARD_HPA:g} hPa"
    new: dict[str, xr.Variable] = {}
    changed: dict[str, Channel] = {}
    lost: list[str] = []
    for channel in suite.channels:
        if not is_per_volume(channel.units) or channel.reference == (STANDARD_C, STANDARD_HPA):
            continue
        name, air = channel.name, air_of(flight, channel)
        factor = at_conditions(np.ones(len(air[0])), air, (STANDARD_C, STANDARD_HPA))
        values, known = np.isfinite(flight.variables[name].values), np.isfinite(factor)
        if values.any() and not (values & known).any():
            what = missing_air(air) or "temperature and pressure at the same time"
            raise FlightError(f"'{name}' cannot be given {said}: no {what} of the air", hint=ADD_AIR)
        scaled = scaled_variables(flight, name, factor)
        for key, variable in scaled.items():
            variable.attrs |= wanted | {"long_name": f"{variable.attrs.get('long_name', key)} {said}"}
        lost += [f"{int((values & ~known).sum()):,} of {name}"] if (values & ~known).any() else []
        new |= scaled | {f"qc_{name}": _flagged(flight[f"qc_{name}"].variable, ~known)}
        changed[name] = scaled_channel(channel, factor).model_copy(update=wanted)
    if not new:
        return flight
    families = tuple(
        family.model_copy(update={"channel": tuple(changed.get(c.name, c) for c in family.channel)})
        for family in suite.family
    )
    described = suite.model_copy(update={"family": families}).model_dump_json(exclude_defaults=True)
    line = f"{', '.join(changed)} given {said}"
    line += f"; without temperature or pressure within {NEAR_S:g} s, now missing: {', '.join(lost)}" if lost else ""
    return add_history(flight.assign(new).assign_attrs(suite=described), line, kind="change")


def _flagged(flags: xr.Variable, missing: Mask) -> xr.Variable:
    bits = flags.values | np.where(missing, MISSING, 0)
    return xr.Variable(flags.dims, bits.astype(flags.dtype), flags.attrs)


def scaled_channel(channel: Channel, factor: Array) -> Channel:
    """A channel with all its limits and levels times the median of a factor (time,)."""
    middle = float(np.nanmedian(factor))
    stated = {key: getattr(channel, key) for key in _LEVELS}
    return channel.model_copy(update={key: value * middle for key, value in stated.items() if value is not None})


def scaled_variables(flight: xr.Dataset, name: str, factor: Array) -> dict[str, xr.Variable]:
    """A channel and the variables beside it times a factor (time,), with the attributes of its calibration."""
    own = flight.variables[name].attrs.get("units")
    scaled: dict[str, xr.Variable] = {}
    for key, kind in ((name, "channel"), *((variable.of(name), variable.units) for variable in BESIDE)):
        if key in flight and (kind == "channel" or flight.variables[key].attrs.get("units") == own):
            variable = flight[key].variable
            scaled[key] = xr.Variable(variable.dims, variable.values * factor, dict(variable.attrs))
    scaled[name].attrs |= scaled_attributes(scaled[name].attrs, name, {name: float(np.nanmedian(factor))})
    return scaled


def scaled_attributes(attrs: Mapping[Any, Any], name: str, factors: Mapping[str, float]) -> dict[str, Any]:
    """Those attributes of a channel's calibration that change with its units, by the factors of all channels."""
    changed: dict[str, Any] = {key: float(attrs[key]) * factors[name] for key in _BUDGET if key in attrs}
    if "cross_uncertainty" in attrs:
        cross = json.loads(attrs["cross_uncertainty"])
        ratios = {gas: u * factors[name] / factors.get(gas, 1.0) for gas, u in cross.items()}
        changed["cross_uncertainty"] = json.dumps(ratios)
    return changed


def converted_to_suite(flight: xr.Dataset, suite: Suite) -> xr.Dataset:
    """The flight with variables converted to the suite's units according to their attribute `units`.

    All variables of a channel are converted, and the species that are combined from channels; one that does not say
    its units has those of its channel. A gas is converted between mass and mole fraction at the temperature and
    pressure of the air, which come first.
    """
    for name, wanted in COMMON_UNITS.items():
        flight, _ = _converted(flight, [name], None, wanted)
    combined = {str(n): str(v.attrs[SPECIES]).split()[0] for n, v in flight.variables.items() if SPECIES in v.attrs}
    channels = {channel.name: channel for channel in suite.channels}
    channels |= {n: channels[first] for n, first in combined.items() if first in channels and n not in channels}
    factors: dict[str, float] = {}
    for name, channel in channels.items():
        own = _units(flight, name)
        names = [name]
        for variable in BESIDE:
            units = _units(flight, variable.of(name), own)
            if variable.units == "channel" or units == own:  # a reading in mV stays
                names.append(variable.of(name))
        flight, factors[name] = _converted(flight, names, channel, channel.units)
    if any(factor != 1.0 for factor in factors.values()):
        for name in channels:
            flight[name].attrs |= scaled_attributes(flight[name].attrs, name, factors)
    return flight


def _units(flight: xr.Dataset, name: str, default: str = "") -> str:
    return str(flight.variables[name].attrs.get("units", default)) if name in flight else ""


def _converted(flight: xr.Dataset, names: list[str], channel: Channel | None, wanted: str) -> tuple[xr.Dataset, float]:
    """The flight with some variables in the units `wanted`, and the median factor of the first."""
    new: dict[str, xr.Variable] = {}
    lines: dict[str, list[str]] = {}
    scale, own = 1.0, _units(flight, names[0])
    for name in names:
        given = _units(flight, name, own)
        if given in ("", wanted):
            continue
        variable = flight.variables[name]
        values, attrs = variable.values, {**variable.attrs, "units": wanted}
        factor, offset, how = _to_units(flight, channel, name, given, wanted)
        scale = float(np.nanmedian(factor)) if name == names[0] else scale
        if how is not None:
            values = values.astype(np.float64) * factor + (0.0 if name.endswith("_uncertainty") else offset)
            lines.setdefault(f"converted from {given} to {wanted}{how}", []).append(name)
        if np.ndim(factor):  # a mass has become a mole fraction, or the other way round
            attrs.pop("standard_name", None)
            if channel is not None and f"qc_{name}" in flight:
                attrs |= {} if channel.standard_name is None else {"standard_name": channel.standard_name}
                flags = flight.variables[f"qc_{name}"]
                bits = flags.values | np.where(np.isnan(values), np.int32(MISSING), 0)
                new[f"qc_{name}"] = xr.Variable(flags.dims, bits, flags.attrs)
        new[name] = xr.Variable(variable.dims, values, attrs)
    for line, converted in lines.items():
        flight = add_history(flight, f"{', '.join(converted)} {line}")
    return flight.assign(new) if new else flight, scale


def _to_units(
    flight: xr.Dataset, channel: Channel | None, name: str, given: str, wanted: str
) -> tuple[float | Array, float, str | None]:
    """Factor and offset of a conversion, and how it is done, None if the units are the same."""
    pair = conversion(given, wanted)
    if pair is not None:
        return *pair, None if pair == (1.0, 0.0) else ""
    if channel is None or not is_gas_conversion(channel, given, wanted):
        raise FlightError(
            f"'{name}' is in '{given}', which cannot be converted to the suite's {wanted}",
            hint="correct the unit in the suite, or the variable's attribute 'units'",
        )
    air = air_of(flight, channel)
    if missing := missing_air(air):
        raise FlightError(
            f"'{name}' is in '{given}', the suite's unit is {wanted}: the conversion needs the {missing} of the air",
            hint=ADD_AIR,
        )
    return gas_factor(channel, given, wanted, air), 0.0, " at the temperature and pressure of the air"
