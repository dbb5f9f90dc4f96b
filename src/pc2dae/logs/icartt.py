"""ICARTT files (FFI 1001) as aircraft campaigns publish them; the format and its names are those of `flight.icartt`."""

from __future__ import annotations

import re

import numpy as np

from pc2dae.errors import FlightError, LogError
from pc2dae.flight.icartt import FAMILY, concentrations, parse_icartt
from pc2dae.flight.schema import COMMON_UNITS
from pc2dae.flight.stream import Stream
from pc2dae.logs.files import LogFile, lines
from pc2dae.logs.reader import Declared, Head
from pc2dae.suite import ENVIRONMENT, MOTION, Suite, conversion

DECLARED = Declared()  # depends on the file: see `declared`


def recognises(head: Head) -> bool:
    """Match a first line with the number of header lines and 1001."""
    return bool(head.lines) and re.match(r"^\ufeff?\s*\d+\s*,\s*1001\b", head.lines[0]) is not None


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """All variables with data; missing values and detection-limit flags become NaN."""
    repairs: list[str] = []
    pieces = list(lines(file, repairs))
    text = "\n".join(line for piece in pieces for line in piece.texts)
    is_whole = not (pieces and pieces[-1].is_cut)
    try:
        table = parse_icartt(text + "\n" * is_whole, file.name).renamed()
    except FlightError as error:
        raise LogError(Exception.__str__(error), hint=error.hint) from None
    columns = {name: values for name, values in table.columns.items() if np.isfinite(values).any()}
    units = {name: table.units[name] for name in columns}
    for name, wanted in COMMON_UNITS.items():
        pair = conversion(units[name], wanted) if name in columns else None
        if pair is not None:
            columns[name], units[name] = columns[name] * pair[0] + pair[1], wanted
    return [Stream("icartt", "", table.time, columns, units, clock="gps", rows_read=len(table.time),
                   repairs=(*repairs, *table.repairs), source=file.name)]  # fmt: skip


def declared(stream: Stream) -> Declared:
    """All concentrations, position and environment variables of the file."""
    return Declared(
        tuple((FAMILY, channel) for channel in concentrations(stream.columns, stream.units)),
        {name: name for name in ENVIRONMENT if name in stream.columns},
        {name: name for name in MOTION if name in stream.columns},
    )
