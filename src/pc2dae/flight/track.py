"""The samples of a flight with their position, as the files of mapping tools hold them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.arrays import Array
from pc2dae.channel_schema import CHANNEL_VARIABLES
from pc2dae.errors import FlightError
from pc2dae.flight.schema import SPECIES, suite_of
from pc2dae.suite import ENVIRONMENT, MOTION
from pc2dae.suite.species import species_of

_WIND = ("wind_speed", "wind_from_direction")
TRACERS = ("co", "co2", "bc")  # of smoke, best first


@dataclass(frozen=True)
class Track:
    """Position of each sample on WGS 84, NaN where unknown."""

    longitude: Array  # degrees east
    latitude: Array  # degrees north
    altitude: Array  # m above mean sea level, or above ground
    is_above_ground: bool = False

    @property
    def known(self) -> NDArray[np.intp]:
        """Index of the samples with a position."""
        return np.flatnonzero(np.isfinite(self.longitude) & np.isfinite(self.latitude))


def track_of(flight: xr.Dataset) -> Track:
    """The track of a flight; raises an error if no sample has a position."""
    if {"latitude", "longitude"} <= set(flight.variables):
        above = flight["altitude"] if "altitude" in flight.variables else flight["latitude"] * np.nan
        east, north, up = (v.values.astype(np.float64) for v in (flight["longitude"], flight["latitude"], above))
        track = Track(east, north, up, is_above_ground=above.attrs.get("standard_name") == "height")
        if len(track.known):
            return track
    raise FlightError(
        "the flight has no position (latitude, longitude)",
        hint="name the columns in the suite's [motion], or write a file without a map, such as .csv",
    )


def time_series(flight: xr.Dataset) -> list[str]:
    """Names of all numbers over time."""
    return [
        str(n) for n, v in flight.variables.items() if v.dims == ("time",) and v.dtype.kind in "fiu" and n != "time"
    ]


def concentrations_and_position(flight: xr.Dataset) -> list[str]:
    """Names of what a map shows: channels and species with uncertainty and flags, position, environment."""
    measured = [*suite_of(flight).names, *(str(name) for name in flight if SPECIES in flight[name].attrs)]
    shown = [variable.of(name) for name in measured for variable in CHANNEL_VARIABLES if variable.in_maps]
    return [n for n in (*shown, *MOTION, *ENVIRONMENT, *_WIND) if n in flight.variables]


def units_by_name(flight: xr.Dataset, names: Iterable[str]) -> dict[str, str]:
    """Units of some variables."""
    return {name: str(flight[name].attrs.get("units", "1")) for name in names}


def main_channel(flight: xr.Dataset) -> str | None:
    """The variable that shows smoke best: CO, else CO₂, else BC, else the first channel with data."""
    suite = suite_of(flight)
    measured = [name for name in suite.names if np.isfinite(flight[name].values).any()]
    by_species = {species_of(suite[name]): name for name in reversed(measured)}
    by_species |= {name: name for name in TRACERS if name in flight and SPECIES in flight[name].attrs}
    return next((by_species[s] for s in TRACERS if s in by_species), measured[0] if measured else None)


def iso_stamps(time: NDArray[np.datetime64]) -> NDArray[np.str_]:
    """Stamps as ISO 8601 text in UTC, with the necessary precision.

    >>> iso_stamps(np.array(["2025-10-05T14:00:00"], "datetime64[ns]")).tolist()
    ['2025-10-05T14:00:00Z']
    """
    units: tuple[Literal["s", "ms", "us", "ns"], ...] = ("s", "ms", "us", "ns")
    unit = next(u for u in units if np.all(time == time.astype(f"datetime64[{u}]")))
    return np.char.add(np.datetime_as_string(time, unit=unit), "Z")


def plain_names(names: list[str], longest: int) -> dict[str, str]:
    """A unique name for each, as most tools accept it: letters, digits and underscores, a letter first, not too long.

    >>> list(plain_names(["co_raw", "2nd", "a-b", "a_b"], 31).values())
    ['co_raw', 'x2nd', 'a_b', 'a_b_2']
    """
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)
        plain = (plain if plain[:1].isalpha() else f"x{plain}")[:longest]
        numbered = (f"{plain[: longest - 4]}_{number}" for number in itertools.count(2))
        found[name] = next(n for n in itertools.chain([plain], numbered) if n not in found.values())
    return found
