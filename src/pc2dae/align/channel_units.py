"""Columns of streams in the units of the suite, as far as their reader states other ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pc2dae.arrays import Array
from pc2dae.errors import LogError
from pc2dae.flight.air import MOLAR_MASS_G, interpolated_air
from pc2dae.flight.conditions import ADD_AIR, gas_factor, is_gas_conversion, missing_air
from pc2dae.flight.schema import COMMON_UNITS
from pc2dae.flight.stream import Stream
from pc2dae.flight.unit_checks import in_expected_units
from pc2dae.sentinels import describe, find_sentinels
from pc2dae.suite import Channel, Source, Suite, conversion
from pc2dae.suite.units import is_mole_fraction, is_per_volume


def flight_names(stream: Stream, suite: Suite) -> dict[str, str]:
    """The name in the flight of each column of a stream."""
    if stream.instrument == "csv":
        return {column: column for column in stream.columns}
    wanted = {source: name for name, source in suite.sources.items()}
    sources = {column: Source(stream.instrument, stream.unit, column) for column in stream.columns}
    return {column: wanted.get(source, source.variable()) for column, source in sources.items()}


def in_suite_units(streams: Sequence[Stream], suite: Suite) -> list[Stream]:
    """The streams with channels, environment and motion in the suite's units, and a line for each conversion.

    A gas is converted between mass and mole fraction at the temperature and pressure of the air, from any stream.
    """
    wanted = {c.name: c.units for c in suite.channels} | COMMON_UNITS
    done, gases = list(streams), []
    for number, stream in enumerate(streams):
        for column, name in flight_names(stream, suite).items():
            given = stream.units.get(column, "")
            if name not in wanted or given in ("", wanted[name]):
                continue
            if name in suite.names and is_gas_conversion(suite[name], given, wanted[name]):
                gases.append((number, column, suite[name]))
            else:
                done[number] = _converted(done[number], column, name, wanted[name])
    for number, column, channel in gases:  # last: they need temperature and pressure in the suite's units
        done[number] = _gas_converted(done[number], column, channel, done, suite)
    return done


def _converted(stream: Stream, column: str, name: str, wanted: str) -> Stream:
    """A stream with a column in other units; an error where a mass concentration and a mole fraction are confused."""
    given = stream.units[column]
    pair = conversion(given, wanted)
    kinds = {(is_mole_fraction(units), is_per_volume(units)) for units in (given, wanted)}
    if pair is None and kinds == {(True, False), (False, True)}:
        raise LogError(
            f"{stream.source}: '{column}' is in {given}, but '{name}' in {wanted}",
            hint=f"correct the channel's units or source; molar masses are known of {', '.join(MOLAR_MASS_G)}",
        )
    if pair is None and name in ("altitude", "ground_speed"):  # their range does not tell a wrong unit
        raise LogError(f"{stream.source}: '{column}' is in '{given}', which is not known", hint=f"write it in {wanted}")
    if pair is None or pair == (1.0, 0.0):
        return stream
    factor, offset = pair
    return _replaced(stream, column, wanted, factor, offset, f"column '{column}' is in {given}: converted to {wanted}")


def _gas_converted(stream: Stream, column: str, channel: Channel, streams: Sequence[Stream], suite: Suite) -> Stream:
    """A stream with a gas in its channel's units, at the temperature and pressure at the time of each row."""
    given = stream.units[column]
    if channel.reference is not None:
        air = np.full(len(stream.time), channel.reference[0]), np.full(len(stream.time), channel.reference[1])
        where = "{:g} degC and {:g} hPa".format(*channel.reference)
    else:
        parts = [_measured(name, streams, suite) for name in ("air_temperature", "air_pressure")]
        air, where = interpolated_air(stream.time, *parts), "the temperature and pressure of the air"
    if missing := missing_air(air):
        raise LogError(
            f"{stream.source}: '{column}' is in {given}, the suite's unit is {channel.units}: the conversion needs the"
            f" {missing} of the air", hint=ADD_AIR,
        )  # fmt: skip
    factor = gas_factor(channel, given, channel.units, air)
    lost = int((np.isfinite(stream.columns[column]) & np.isnan(factor)).sum())
    line = f"column '{column}' is in {given}: converted to {channel.units} at {where}"
    line += f"; {lost:,} values without them are missing" if lost else ""
    return _replaced(stream, column, channel.units, factor, 0.0, line)


def _measured(name: str, streams: Sequence[Stream], suite: Suite) -> tuple[np.ndarray, Array]:
    """Time stamps and values of temperature or pressure; none if no stream has it."""
    for stream in streams:
        for column, own in flight_names(stream, suite).items():
            if own == name:
                return stream.time, in_expected_units(name, stream.columns[column], source=stream.source)[0]
    return np.array(["1970-01-01"], "datetime64[ns]"), np.array([np.nan])


def _replaced(stream: Stream, column: str, units: str, factor: float | Array, offset: float, line: str) -> Stream:
    sentinels = find_sentinels(stream.columns[column])  # before the conversion changes their values
    lines = [f"{column}: {text}" for text in describe(stream.columns[column][sentinels])]
    values = np.where(sentinels, np.nan, stream.columns[column]) * factor + offset
    return replace(stream, columns=stream.columns | {column: values}, units=stream.units | {column: units},
                   repairs=(*stream.repairs, *lines, line))  # fmt: skip
