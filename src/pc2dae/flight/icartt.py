"""ICARTT file format index 1001 (version 2), the exchange format of airborne science: reader."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from pc2dae.arrays import Array
from pc2dae.channel_schema import CHANNEL_VARIABLES
from pc2dae.errors import FlightError, SuiteError
from pc2dae.flags import BELOW_DETECTION, SATURATED
from pc2dae.flight.schema import SPECIES, add_history, new_flight, qc_attributes
from pc2dae.suite import ENVIRONMENT, MOTION, Channel, Family, Suite, canonical_units, parse_suite
from pc2dae.suite.model import reserved_for

_LONGEST_S = 1e7  # seconds after midnight of the first day: four months, more than any flight
FAMILY = "measured"  # family of all channels of a file without a suite
OURS = "pc2dae_attributes"  # the comment line that carries a flight's own attributes, and in it:
VARIABLES = "pc2dae_variables"  # those of its variables
NAMES = "pc2dae_names"  # and the names that had to be shortened
# Names of position and environment variables in archives, in capitals.
_KNOWN = {
    "LATITUDE": "latitude",
    "LONGITUDE": "longitude",
    "GPS_ALT": "altitude",
    "GRD_SPD": "ground_speed",
    "WNS": "wind_speed",
    "WND": "wind_from_direction",
    "TEMPERATURE": "air_temperature",
    "PRESSURE": "air_pressure",
    "H2O_RELATIVEHUMIDITY_NAV": "relative_humidity",
}
_CONCENTRATIONS = {"ppm", "ppb", "ppt", "umol mol-1", "nmol mol-1", "ng m-3", "ug m-3", "mg m-3"}


@dataclass(frozen=True)
class IcarttTable:
    """Contents of an ICARTT file: UTC stamps and columns in physical units, NaN where missing or beyond detection."""

    time: NDArray[np.datetime64]
    columns: dict[str, Array]
    units: dict[str, str]
    long_names: dict[str, str]
    flags: dict[str, NDArray[np.int32]]  # saturated and below_detection, of the columns where either occurs
    interval_s: float  # 0 where irregular
    comments: tuple[str, ...]  # the normal comments, line by line
    repairs: tuple[str, ...] = ()

    def renamed(self, names: Mapping[str, str] | None = None) -> IcarttTable:
        """The table with the flight's names for position and environment, or with `names`; longitudes from −180."""
        new = {column: _KNOWN.get(column.upper(), column) for column in self.columns} if names is None else names
        columns = {new.get(column, column): values for column, values in self.columns.items()}
        if names is None and "longitude" in columns:
            columns["longitude"] = (columns["longitude"] + 180.0) % 360.0 - 180.0  # archives count from 0 to 360
        return replace(
            self,
            columns=columns,
            units={new.get(column, column): unit for column, unit in self.units.items()},
            long_names={new.get(column, column): text for column, text in self.long_names.items()},
            flags={new.get(column, column): bits for column, bits in self.flags.items()},
        )


def parse_icartt(text: str, name: str) -> IcarttTable:
    """The table of an FFI-1001 file's text: scale factors applied, missing values and detection flags as NaN."""
    lines = text.splitlines()
    try:
        head, kind = (int(word) for word in lines[0].split(",")[:2])
        if kind != 1001:
            raise FlightError(f"{name} is ICARTT format {kind}", hint="only format 1001 (one line per time) is read")
        year, month, day = (int(word) for word in lines[6].split(",")[:3])
        if not 1900 <= year < 2200:  # datetime64[ns] would wrap around
            raise ValueError(f"the year {year} in line 7")
        midnight = np.datetime64(f"{year:04d}-{month:02d}-{day:02d}", "ns")
        interval = float(lines[7].split(",")[0])
        count = int(lines[9])
        scales = np.array(lines[10].split(","), dtype=np.float64)
        missing = np.array(lines[11].split(","), dtype=np.float64)
        variables = [[word.strip() for word in line.split(",")] for line in lines[12 : 12 + count]]
        if not len(scales) == len(missing) == len(variables) == count:
            raise ValueError(f"{count} variables, but {len(scales)} scale factors and {len(missing)} missing values")
        if len({column for column, *_ in variables}) < count:
            raise ValueError("two variables have the same name")
        special = 12 + count
        comments = tuple(lines[special + 1 + int(lines[special]) + 1 : head - 1])
        is_cut = not text.endswith("\n")  # the last number may be truncated, and a missing value look valid
        data = _rows(lines[head : len(lines) - is_cut], head, count)
    except (ValueError, IndexError, OverflowError, pd.errors.ParserError) as error:
        raise FlightError(
            f"{name} is not a complete ICARTT file ({' '.join(str(error).split())[:150]})",
            hint="its first line should be `<header lines>, 1001`",
        ) from None
    limits = {flag: _keyword(comments, f"{flag}_FLAG") for flag in ("ULOD", "LLOD")}
    columns, flags = {}, {}
    for number, (column, *_) in enumerate(variables):
        raw = data[:, number + 1]
        above, below = raw == limits["ULOD"], raw == limits["LLOD"]
        columns[column] = np.where((raw == missing[number]) | above | below, np.nan, raw * scales[number])
        if above.any() or below.any():
            flags[column] = (above * SATURATED | below * BELOW_DETECTION).astype(np.int32)
    return IcarttTable(
        time=midnight + np.round(data[:, 0] * 1e9).astype("timedelta64[ns]"),
        columns=columns,
        units={v[0]: v[1] if len(v) > 1 else "1" for v in variables},
        long_names={v[0]: v[-1] for v in variables if len(v) > 2},
        flags=flags,
        interval_s=interval,
        comments=comments,
        repairs=(f"incomplete last line left out (line {len(lines):,})",) if is_cut else (),
    )


def _rows(rows: list[str], head: int, count: int) -> Array:
    """Seconds and `count` numbers of every row; `head` lines are before them."""
    widths = np.array([row.count(",") + 1 if row.strip() else count + 1 for row in rows])
    if (widths < count + 1).any():
        short = int(np.argmax(widths < count + 1))
        raise ValueError(f"line {head + short + 1:,} has {widths[short]} numbers, expected {count + 1}")
    data = pd.read_csv(io.StringIO("\n".join(rows)), header=None).to_numpy(np.float64)
    if data.shape[1] != count + 1:
        raise ValueError(f"rows have {data.shape[1]} numbers, expected {count + 1}")
    untimed = ~(np.abs(data[:, 0]) < _LONGEST_S)
    if untimed.any():
        raise ValueError(f"the time in line {head + int(np.argmax(untimed)) + 1:,} is not a valid time")
    return data


def read_icartt(path: Path, suite: Suite | None = None) -> xr.Dataset:
    """The flight of an ICARTT file: written by pc2dae, or any other with `suite` or all concentrations as channels."""
    table = parse_icartt(path.read_text(encoding="utf-8", errors="replace"), path.name)
    ours = next((line.split(":", 1)[1] for line in table.comments if line.strip().startswith(OURS)), None)
    attrs = _attributes(ours, path.name) if ours is not None else {}
    table = table.renamed() if ours is None else table.renamed(attrs.pop(NAMES, {}))
    about = attrs.pop(VARIABLES, {})
    if suite is None:
        suite = parse_suite(attrs["suite"], where=path.name) if "suite" in attrs else _suite_of(table, path.stem)
    if ours is None:
        table = table.renamed({c.column: c.name for c in suite.channels if c.column is not None})
    values: dict[str, NDArray[Any]] = dict(table.columns)
    flags = table.flags
    if ours is not None:
        bits = {n: _flags(n[3:], values.pop(n), path.name) for n in table.columns if n.startswith("qc_")}
        flags = {n: bits.pop(f"qc_{n}") for n in suite.names if f"qc_{n}" in bits}
        values |= bits
    flight = new_flight(table.time, values, suite, flags=flags, flight_id=path.stem, history=f"read {path.name}")
    for name in values:
        flight[name].attrs |= {"units": table.units[name]}
        if name not in {*suite.names, *ENVIRONMENT, *MOTION}:
            flight[name].attrs |= {"long_name": table.long_names.get(name, name)}
        if f"qc_{name}" in values:  # flags of what is not a channel: a species, combined from channels
            beside = [n for n in values if n in {v.of(name) for v in CHANNEL_VARIABLES if v.in_maps} - {name}]
            flight[name].attrs |= {SPECIES: table.long_names.get(name, name), "ancillary_variables": " ".join(beside)}
        flight[name].attrs |= qc_attributes(name[3:]) if name.startswith("qc_") else about.get(name, {})
    flight = flight.assign_attrs(attrs)
    for line in table.repairs:
        flight = add_history(flight, f"{path.name}: {line}")
    return flight


class _OwnComment(BaseModel, extra="allow"):
    """What `write_icartt` stores in a comment, beside a flight's other attributes."""

    suite: str = ""
    pc2dae_names: dict[str, str] = {}
    pc2dae_variables: dict[str, dict[str, str | int | float]] = {}


def _attributes(text: str, where: str) -> dict[str, Any]:
    """The attributes that `write_icartt` stored in the comments."""
    try:
        return _OwnComment.model_validate_json(text).model_dump(exclude_unset=True)
    except ValidationError:
        raise FlightError(f"{where}: the comment '{OURS}' is damaged", hint="is the file complete?") from None


def _flags(name: str, values: Array, where: str) -> NDArray[np.int32]:
    known = np.nan_to_num(values)
    if np.any((known < 0) | (known > np.iinfo(np.int32).max) | (known != np.floor(known))):
        raise FlightError(f"{where}: 'qc_{name}' contains numbers that are not flags", hint="is the file complete?")
    return known.astype(np.int32)


def _suite_of(table: IcarttTable, name: str) -> Suite:
    channels = concentrations(table.columns, table.units)
    if not channels:
        raise FlightError(f"{name} contains no concentration", hint="pass --suite")
    rate = 1 / table.interval_s if table.interval_s > 0 else 1.0
    return Suite(name=name, rate_hz=rate, family=(Family(name=FAMILY, channel=tuple(channels)),))


def concentrations(columns: Mapping[str, Array], units: Mapping[str, str]) -> list[Channel]:
    """A channel for every concentration column with data, named after the column."""
    channels = []
    for column, values in columns.items():
        try:
            unit = canonical_units(units[column])
        except SuiteError:
            continue
        plain = re.sub(r"\W", "_", column)
        if unit in _CONCENTRATIONS and np.isfinite(values).any() and reserved_for(plain) is None:
            channels.append(Channel(name=plain if plain[0].isalpha() else f"v_{plain}", units=unit, column=column))
    return channels


def _keyword(comments: Iterable[str], key: str) -> float:
    """The number after a keyword in the normal comments, NaN if there is none."""
    for line in comments:
        if line.startswith(f"{key}:"):
            try:
                return float(line.split(":", 1)[1])
            except ValueError:
                return np.nan
    return np.nan
