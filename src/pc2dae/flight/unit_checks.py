"""Checks of units and positions by their range; unambiguous errors are corrected and reported.

Values that fit two units, and concentrations a thousand times too large or small, are refused.
"""

from __future__ import annotations

import re

import numpy as np

from pc2dae.arrays import Array
from pc2dae.errors import LogError
from pc2dae.noise import noise_level
from pc2dae.suite import Channel

# For each channel unit: units in which values may be given by mistake, and their conversion factor.
_OTHERS = {
    "ppm": (("ppb", 1e-3), ("%", 1e4)),
    "ppb": (("ppt", 1e-3), ("ppm", 1e3)),
    "ng m-3": (("pg m-3", 1e-3), ("ug m-3", 1e3)),
    "ug m-3": (("ng m-3", 1e-3), ("mg m-3", 1e3)),
}
_CO2_PPM = (200.0, 100_000.0)  # range of the median in any air
_CH4_PPM = (1.6, 2.4)  # the cleanest air of any record: 1.75 to 2.0 ppm worldwide
_CO_PPM = (0.02, 5.0)  # the median of any record outdoors, in a fire's smoke too
_QUIETEST_CO_PPB = 0.1  # no CO sensor has less noise
_NOISE_OFF = 150.0  # a sensor's noise is within this factor of what its suite says; a wrong unit is off by 1000
_OF_RANGE = 1e-5  # a record below this fraction of its valid range is not in this unit
_HOTTEST_C = 60.0  # as the median of a record; from 60 degF (16 degC) on a thermometer in degF is above it
_KPA_OR_INHG = (20.0, 33.0)  # kPa above 9 km, inHg below 3.5 km
_UNIT_HINT = "write the unit into the column's name, as in 'P [inHg]' or 'T [degF]', and into the suite"


def in_expected_units(name: str, values: Array, *, source: str) -> tuple[Array, str | None]:
    """Environment in this project's units: kelvin, pascal, kilopascal and fractions are recognised by their range."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return values, None
    middle = float(np.median(finite))
    if name == "air_temperature" and 200.0 < middle < 340.0:
        return values - 273.15, f"air_temperature around {middle:.0f} interpreted as K, converted to degC"
    if name == "air_temperature" and not -100.0 <= middle <= _HOTTEST_C:
        raise LogError(f"{source}: an air temperature around {middle:.0f} degC is not possible", hint=_UNIT_HINT)
    if name == "air_pressure" and 20_000.0 < middle < 120_000.0:
        return values / 100.0, f"air_pressure around {middle:,.0f} interpreted as Pa, converted to hPa"
    if name == "air_pressure" and _KPA_OR_INHG[0] < middle < _KPA_OR_INHG[1]:
        raise LogError(f"{source}: an air pressure around {middle:.1f} may be in inHg or kPa", hint=_UNIT_HINT)
    if name == "air_pressure" and _KPA_OR_INHG[1] <= middle < 120.0:
        return values * 10.0, f"air_pressure around {middle:.0f} interpreted as kPa, converted to hPa"
    if name == "air_pressure" and not 100.0 <= middle <= 1200.0:
        raise LogError(f"{source}: an air pressure around {middle:g} hPa is not possible", hint=_UNIT_HINT)
    if name == "relative_humidity" and 0.0 < float(finite.max()) <= 1.0 and middle > 0.02:
        return values * 100.0, "relative_humidity between 0 and 1 interpreted as a fraction, converted to %"
    if name == "relative_humidity" and middle > 110.0:
        raise LogError(f"{source}: a relative humidity of {middle:.0f} % is not possible",
                       hint="check the column and its unit")  # fmt: skip
    return values, None


def check_units(channel: Channel, values: Array, *, source: str) -> None:
    """Refuse a channel that does not fit its unit but would fit another, a thousand times larger or smaller."""
    finite = values[np.isfinite(values)]
    if len(finite) < 10 or channel.units not in _OTHERS or channel.difference_of is not None:
        return
    unit = _by_range(channel, finite) or _by_background(channel, values) or _by_noise(channel, values)
    if unit is not None:
        raise LogError(
            f"{source}: '{channel.name}' around {np.median(finite):g} is not {channel.units}, but would fit {unit}",
            hint="write the unit into the column's name, or correct units, valid range and noise in the suite",
        )


def _by_range(channel: Channel, values: Array) -> str | None:
    """The unit in which nearly all values would be valid, if almost none is valid in the channel's own."""
    low, high = channel.valid_min, channel.valid_max
    if "co2" in channel.name.lower() and channel.units in ("ppm", "ppb"):
        factor = 1.0 if channel.units == "ppm" else 1000.0
        low, high = (_CO2_PPM[0] * factor, _CO2_PPM[1] * factor)
    if low is None or high is None or high <= 0 or np.mean((values >= low) & (values <= high)) > 0.05:
        return None
    fits = [
        (unit, np.mean((values * factor >= max(low, 1e-9)) & (values * factor <= high)))
        for unit, factor in _OTHERS[channel.units]
    ]
    return next((unit for unit, share in fits if share > 0.9), None)


def _by_background(channel: Channel, values: Array) -> str | None:
    """The other unit of CO and CH4 whose level in clean air is known."""
    gas = re.match(r"(co|ch4)(?![a-z0-9])(?!.*(excess|delta|enh))", channel.name.lower())
    if gas is None or channel.units not in ("ppm", "ppb"):
        return None
    finite = values[np.isfinite(values)]
    if gas[1] == "ch4":
        clean = float(np.percentile(finite, 5)) * (1e-3 if channel.units == "ppm" else 1.0)
        other = "ppb" if channel.units == "ppm" else "ppm"
        return other if _CH4_PPM[0] <= clean <= _CH4_PPM[1] else None
    if channel.units == "ppm" or not _CO_PPM[0] < float(np.median(finite)) < _CO_PPM[1]:
        return None
    return "ppm" if 0.0 < _noise(values) < _QUIETEST_CO_PPB else None


def _by_noise(channel: Channel, values: Array) -> str | None:
    """The unit in which the noise matches the suite's, or the next larger unit if all values are negligible."""
    finite = values[np.isfinite(values)]
    sigma, largest = _noise(values), float(np.percentile(np.abs(finite), 99))
    if not sigma > 0.0:  # constant, or too short
        return None
    limit = np.inf if channel.valid_max is None else channel.valid_max
    smaller, larger = _OTHERS[channel.units]
    is_sampled = len(finite) > 0.5 * np.ptp(np.flatnonzero(np.isfinite(values)))  # at the rate the noise is given for
    if channel.noise_sigma is not None and is_sampled:
        for unit, factor in (smaller, larger):
            is_off = (
                sigma * _NOISE_OFF < channel.noise_sigma if factor > 1 else sigma > channel.noise_sigma * _NOISE_OFF
            )
            ratio = sigma * factor / channel.noise_sigma
            if is_off and 1 / _NOISE_OFF < ratio < _NOISE_OFF and largest * factor <= limit:
                return unit
        return None
    if channel.detection_limit is not None and max(largest, sigma * _NOISE_OFF) < channel.detection_limit / 3:
        return larger[0]
    return larger[0] if np.isfinite(limit) and 0.0 < largest < _OF_RANGE * limit else None


def _noise(values: Array) -> float:
    return float(noise_level(values[None], np.isfinite(values)[None]).sigma[0])


def checked_position(latitude: Array, longitude: Array, *, source: str) -> tuple[Array, Array, list[str]]:
    """Latitude and longitude without invalid positions, and a line for each kind."""
    lines: list[str] = []
    latitude, longitude = latitude.copy(), longitude.copy()
    seen = np.isfinite(latitude) & np.isfinite(longitude)

    def take_out(where: np.ndarray, what: str) -> None:
        if where.any():
            lines.append(f"{int(where.sum()):,} positions {what} taken as missing")
            latitude[where] = longitude[where] = np.nan

    take_out(seen & (latitude == 0.0) & (longitude == 0.0), "of 0/0 (no GPS fix)")
    seen = np.isfinite(latitude) & np.isfinite(longitude)
    if not seen.any():
        return latitude, longitude, lines
    if np.median(np.abs(latitude[seen])) > 90.0 >= np.percentile(np.abs(longitude[seen]), 99):
        latitude, longitude = longitude, latitude
        lines.append("latitude and longitude were swapped: corrected")
    if np.median(longitude[seen]) > 180.0 and longitude[seen].min() >= 0.0 and np.median(longitude[seen]) <= 360.0:
        longitude = np.where(longitude > 180.0, longitude - 360.0, longitude)
        lines.append("longitude from 0 to 360 converted to -180 to 180")
    impossible = seen & ((np.abs(latitude) > 90.0) | (np.abs(longitude) > 180.0))
    if impossible.any():
        row = int(np.argmax(impossible))
        where = f"latitude {latitude[row]:g}, longitude {longitude[row]:g}"
        if impossible[seen].all():
            raise LogError(f"{source}: no position is on Earth ({where})", hint="positions are in decimal degrees")
        take_out(impossible, f"that are not on Earth (first: {where})")
    for axis, degrees in (("latitude", latitude), ("longitude", longitude)):
        flipped, example = _flipped(degrees)
        take_out(flipped, f"with the other sign of {axis} ({example})")
    return latitude, longitude, lines


def _flipped(degrees: Array) -> tuple[np.ndarray, str]:
    """Which values of a coordinate have lost their sign: they mirror the others, with none in between."""
    finite = degrees[np.isfinite(degrees)]
    middle = float(np.median(finite)) if len(finite) else 0.0
    flipped = np.isfinite(degrees) & (np.abs(degrees + middle) < 0.25 * abs(middle)) & (degrees * middle < 0)
    crosses = np.any(np.abs(finite) < 0.5 * abs(middle))
    if abs(middle) < 2.0 or crosses or not flipped.any():
        return np.zeros(len(degrees), dtype=bool), ""
    return flipped, f"{degrees[np.argmax(flipped)]:.5g} among {middle:.5g}"
