"""ICARTT files (FFI 1001) as aircraft campaigns publish them; the format itself is read by `flight.icartt`."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import numpy as np

from pc2dae.errors import FlightError, LogError, SuiteError
from pc2dae.flight.icartt import read_table
from pc2dae.flight.stream import Stream
from pc2dae.logs.files import LogFile, lines
from pc2dae.logs.reader import Declared, Head
from pc2dae.suite import Channel, Suite, canonical_units
from pc2dae.suite.model import reserved_for

DECLARED = Declared()  # depends on the file: see `declared`
_MIXING = re.compile(r"^(CO2|CO|CH4|O3|NO2|NO|NOx|SO2|N2O)(?:_|$)", re.IGNORECASE)
# foreign name → ours; then factor and offset by the file's unit
_KNOWN = {
    "temperature": "air_temperature", "pressure": "air_pressure", "h2o_relativehumidity_nav": "relative_humidity",
    "latitude": "latitude", "longitude": "longitude", "gps_alt": "altitude", "grd_spd": "ground_speed",
}  # fmt: skip
_TO_OURS = {("altitude", "km"): (1000.0, 0.0), ("air_temperature", "K"): (1.0, -273.15)}


def recognises(head: Head) -> bool:
    """The first line counts the header's lines and says 1001."""
    return bool(head.lines) and re.match(r"^\ufeff?\s*\d+\s*,\s*1001\b", head.lines[0]) is not None


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """Every variable under its lower-case name, missing values and detection-limit flags taken out."""
    repairs: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / Path(file.name).name
        with plain.open("w", encoding="utf-8", newline="") as unpacked:
            unpacked.writelines(f"{line}\n" for piece in lines(file, repairs) for line in piece.texts)
        try:
            table = read_table(plain)
        except (FlightError, ValueError, OverflowError) as error:
            raise LogError(f"{file.name}: not a whole ICARTT file ({' '.join(str(error).split())[:120]})") from None
    columns = {name.lower(): values for name, values in table.columns.items() if np.isfinite(values).any()}
    units = {name.lower(): unit for name, unit in table.units.items()}
    for theirs, ours in _KNOWN.items():
        if theirs in columns:
            factor, offset = _TO_OURS.get((ours, units[theirs]), (1.0, 0.0))
            columns[ours] = columns.pop(theirs) * factor + offset
    if "longitude" in columns:
        columns["longitude"] = (columns["longitude"] + 180.0) % 360.0 - 180.0  # archives count from 0 to 360
    units = {name: units.get(name, "1") for name in columns}
    return [Stream("icartt", "", table.time, columns, units, clock="gps", rows_read=len(table.time),
                   repairs=(*repairs, *table.repairs), source=file.name)]  # fmt: skip


def declared(stream: Stream) -> Declared:
    """Mixing ratios the file holds for at least a tenth of its rows, and the usual names of weather and position."""
    channels = []
    for name, values in stream.columns.items():
        match = _MIXING.match(name)
        if match is None or np.isfinite(values).mean() < 0.1 or reserved_for(name) is not None:
            continue
        try:
            units = canonical_units(stream.units[name])
        except SuiteError:
            continue
        family = "co2" if match[1].lower() == "co2" else "gas"
        channels.append((family, Channel(name=re.sub(r"\W", "_", name), column=name, units=units)))
    here = [name for name in _KNOWN.values() if name in stream.columns]
    weather = {name: name for name in here if name.startswith(("air", "relative"))}
    return Declared(tuple(channels), weather, {name: name for name in here if name not in weather})
