"""Plain CSV of any origin, described by a suite: a time column and the suite's columns."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array
from pc2dae.errors import LogError, SuiteError, nearest
from pc2dae.flight.conditions import is_gas_conversion
from pc2dae.flight.schema import COMMON_UNITS
from pc2dae.flight.stream import Stream
from pc2dae.logs import toa5
from pc2dae.logs.csv_writer import iso, zone_text
from pc2dae.logs.files import LogFile
from pc2dae.logs.header_units import unit_in
from pc2dae.logs.reader import Head
from pc2dae.logs.stamps import to_utc
from pc2dae.logs.table import LogTable, Stamps, clean_names, cut, delimiter_of, read_table
from pc2dae.sentinels import describe, find_sentinels
from pc2dae.suite import Suite, TimeColumn, canonical_units, conversion, load_suite, presets
from pc2dae.suite.units import spelled

LARGE_BYTES = 200_000_000  # larger files are averaged to the suite's rate while they are read
STAMP = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}:\d{2}:\d{2}|\d{10,13}(\.\d+)?$")
_VALUE = re.compile(rf"({STAMP.pattern})|[-+]?\d*\.?\d+([eE][-+]?\d+)?$")
_MIXING = ("ppm", "ppb", "ppt")


def columns_of(suite: Suite) -> dict[str, str]:
    """The suite's variables and the CSV columns they are read from; derived channels have none."""
    channels = {c.name: c.column or c.name for c in suite.channels}
    return channels | {str(k): v for k, v in (suite.environment | suite.motion).items()}


def header_of(head: Head) -> list[str]:
    """The column names: the first line with several cells, after comments; the second line of a TOA5 table."""
    if toa5.recognises(head):
        return toa5.names(head)
    for number, line in enumerate(head.lines[:50]):
        if line.strip() and not line.startswith("#"):
            following = [text for text in head.lines[number + 1 : number + 6] if text.strip()]
            return clean_names(cut(line, delimiter_of(line, following)))
    return []


class HeadlessTable(LogError):
    """A table has no line of column names."""


def is_headless(header: list[str]) -> bool:
    """Whether the first line of a table holds values instead of names."""
    named = [name for name in header if name and name.isprintable()]
    return len(named) > 1 and sum(_VALUE.match(name) is not None for name in named) > len(named) / 2


def check_header(file: LogFile, header: list[str]) -> None:
    """Refuse a table without a line of column names."""
    if is_headless(header):
        raise HeadlessTable(
            f"{file.name}: there is no line with column names, the first one is data ('{', '.join(header[:3])}, …')",
            hint="insert a line with the names of the columns, as in 'time,co,co2'",
        )


def fits(head: Head, suite: Suite) -> bool:
    """Whether the file has the suite's time column and any of its channels."""
    header = header_of(head)
    return set(_time_columns(head, suite)) <= set(header) and any(
        (c.column or c.name) in header for c in suite.channels
    )


def fitting_preset(head: Head) -> Suite | None:
    """The preset with at least one complete family in the header, reduced to such families."""
    header = header_of(head)
    for name in presets():
        suite = load_suite(name)
        families = [f.name for f in suite.family if all((c.column or c.name) in header for c in f.channel)]
        if families and suite.time.column in header:
            return suite.only(families)
    return None


def _time_columns(head: Head, suite: Suite) -> list[str]:
    """The suite's time column, or two written "date + time"; of a TOA5 table TIMESTAMP, unless the suite names one."""
    named = suite.time.column
    if named == TimeColumn().column and toa5.recognises(head):
        return [toa5.TIME]
    return [named] if named in header_of(head) else named.split(" + ")


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """The suite's variables under the suite's own names; `notes["stamp"]` are the stamps as text, one per row."""
    if suite is None:
        raise LogError(f"{file.name}: unknown instrument", hint="describe its columns in a suite and pass --suite")
    wanted = columns_of(suite)
    is_toa5, time_columns = toa5.recognises(head), _time_columns(head, suite)
    found = _found_columns(file, header_of(head), suite, wanted, time_columns)
    table = read_table(
        file,
        is_header=lambda line: bool(line.strip()) and not line.startswith("#"),
        header=toa5.names(head) if is_toa5 else None,
        skip=toa5.HEADER_LINES if is_toa5 else 0,
        time=time_columns,
        wanted=lambda h: list(found.values()),
        stamps=Stamps(format=suite.time.format, date=suite.time.date),
        comment="#",
        keep_stamps=suite.time.date is None,
        thin_s=1.0 / suite.rate_hz if file.path.stat().st_size > LARGE_BYTES else None,
    )
    utc = table.time
    if not table.is_zoned:
        utc = to_utc(table.time, suite.time.zone or zone, file=file.name, repairs=table.repairs)
    units = {c.name: c.units for c in suite.channels}
    stated = (toa5.units(head) if is_toa5 else {}) | suite.column_units
    columns = {}
    for name, column in found.items():
        values = _without_sentinels(table, column, suite)
        said = _unit_of(column, stated.get(column, ""), units.get(name) or COMMON_UNITS[name])
        if name in suite.names and is_gas_conversion(suite[name], said, units[name]):
            columns[name], units[name] = values, said  # converted with the temperature and pressure of the air
        else:
            columns[name] = _in_units(table, column, name, values, said, units.get(name) or COMMON_UNITS[name])
    if "altitude" in found and suite.altitude_reference is None and suite.altitude_above != "sea level":
        table.repairs.append(f"column '{found['altitude']}' taken as height above {suite.altitude_above}, by its name")
    absent = [f"{name} ('{column}')" for name, column in wanted.items() if name not in found]
    if absent:
        table.repairs.append(f"no column for {', '.join(absent)}")
    notes = {"suite": suite, "is_thinned": table.is_thinned, "stamp": None if table.is_thinned else _stamps(table, utc)}
    return [Stream("csv", "", utc, columns, {name: units.get(name, "") for name in columns},
                   rows_read=table.rows_read, source=file.name, repairs=tuple(table.repairs), notes=notes)]  # fmt: skip


def _unit_of(column: str, stated: str, units: str) -> str:
    """The unit of a column, from the file's line of units or else from its name; empty if neither has one."""
    try:
        return canonical_units(spelled(stated))
    except SuiteError:  # not a unit: "Deg C", "Volts" or nothing
        return unit_in(f"{column} [{stated}]" if stated else column, units) or ""


def _found_columns(
    file: LogFile, header: list[str], suite: Suite, wanted: dict[str, str], time_columns: list[str]
) -> dict[str, str]:
    """Those of the `wanted` columns that are in the header; an error if the time or a measured channel is not."""
    if time_column := next((name for name in time_columns if name not in header), None):
        check_header(file, header)
        if not all(name.isprintable() for name in header):
            raise LogError(f"{file.name}: not a text file", hint="name a table, or the log of a known instrument")
        raise LogError(
            f"{file.name}: there is no time column '{time_column}'", hint=nearest(time_column, [h for h in header if h])
        )
    for channel in suite.channels:
        column = wanted[channel.name]
        if column not in header and channel.difference_of is None:
            raise LogError(
                f"{file.name}: there is no column '{column}' (channel '{channel.name}')",
                hint=_column_hint(column, channel.units, [h for h in header if h]),
            )
    return {name: column for name, column in wanted.items() if column in header}


def _in_units(table: LogTable, column: str, name: str, values: Array, found: str, units: str) -> Array:
    """A variable in its units, converted if its column is `found` to have another one."""
    if found in ("", units) or conversion(found, units) == (1.0, 0.0):
        named = unit_in(name, units)
        if named not in (None, found, units):
            table.repairs.append(f"channel '{name}', named {named}, is read as {units}, as in the suite")
        return values
    pair = conversion(found, units)
    if pair is None:
        raise LogError(
            f"{table.file.name}: column '{column}' is in {found}, but '{name}' in {units}",
            hint="correct the channel's units or column in the suite, or state the column's unit in its column_units",
        )
    sentinels = find_sentinels(values)  # before the conversion changes their values
    table.repairs += [f"{name}: {line}" for line in describe(values[sentinels])]
    table.repairs.append(f"column '{column}' is in {found}: converted to {units}")
    factor, offset = pair
    return np.where(sentinels, np.nan, values) * factor + offset


def _column_hint(column: str, units: str, header: list[str]) -> str:
    """The closest column name; one that differs only by its unit comes first, with a note on the unit."""
    same = next((name for name in header if _without_unit(name) == _without_unit(column) != ""), None)
    if same is None:
        return nearest(column, header)
    said = unit_in(same, units)
    if units not in _MIXING or said == units:
        return f"did you mean '{same}'?"
    why = f"its name has {said}, not {units}" if said else f"its name does not say {units}"
    return f"did you mean '{same}'? {why}: give its column and units in the suite"


def _without_unit(column: str) -> str:
    return " ".join(word for word in re.split(r"[^a-z0-9]+", column.lower()) if word and word not in _MIXING)


def _without_sentinels(table: LogTable, column: str, suite: Suite) -> Array:
    values = table.numbers[column]
    gone = np.isin(values, suite.missing)
    if gone.any():
        shown = ", ".join(f"{v:g}" for v in np.unique(values[gone]))
        table.repairs.append(f"column '{column}': {int(gone.sum()):,} sentinels ({shown}) taken as missing")
        values = np.where(gone, np.nan, values)
    if np.isnan(values).all():
        table.repairs.append(f"column '{column}': no value at all")
    return values


def _stamps(table: LogTable, utc: NDArray[np.datetime64]) -> NDArray[np.str_] | None:
    """The stamps to write back: unchanged if zoned, else local time with its offset; None if plain UTC."""
    if table.is_zoned:
        if table.stamp_texts is None:
            return None
        texts = np.strings.decode(table.stamp_texts, "utf-8")
        if "-" not in texts[0]:
            return None  # stamps are counted seconds: UTC is equivalent
        return None if np.array_equal(texts, np.char.add(np.datetime_as_string(utc, unit="s"), "Z")) else texts
    minutes = ((table.time - utc) / np.timedelta64(1, "m")).astype(int)
    if not minutes.any():
        return None
    fraction = np.any(table.time != table.time.astype("datetime64[s]"))
    zones = {m: zone_text(int(m)) for m in np.unique(minutes).tolist()}
    return np.array(
        [text + zones[m] for text, m in zip(iso(table.time, "ms" if fraction else "s"), minutes.tolist(), strict=True)]
    )
