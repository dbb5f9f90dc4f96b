"""LI-COR LI-830 over its serial line: one stamped line of XML per record, as logged by a companion computer."""

from __future__ import annotations

import re
from os import PathLike

import numpy as np

from pc2dae.atomic import write_text
from pc2dae.errors import LogError
from pc2dae.flight.stream import Stream
from pc2dae.logs.cells import Cells
from pc2dae.logs.csv_writer import cells, column, iso
from pc2dae.logs.files import LogFile, lines
from pc2dae.logs.reader import Column, Declared, Head
from pc2dae.logs.stamps import StampParser, to_utc
from pc2dae.suite import Channel, Suite


def write(path: str | PathLike[str], stream: Stream) -> None:
    """Write a stream in the analyser's format: UTC stamp, tab, `<li830><data>…`; kPa, no tag for missing values."""
    table = {
        "co2": cells(column(stream, "co2"), 3),
        "celltemp": cells(column(stream, "cell_temperature"), 3),
        "cellpres": cells(column(stream, "cell_pressure") / 10.0, 4),
        "flowrate": cells(column(stream, "flow"), 3),
    }
    lines = []
    for row, stamp in enumerate(iso(stream.time.astype("datetime64[ns]"), "ms")):
        data = "".join(f"<{tag}>{values[row]}</{tag}>" for tag, values in table.items() if values[row])
        lines.append(f"{stamp}Z\t<li830><data>{data}</data></li830>\r\n")
    write_text(path, "<li830><ack>true</ack><ver>1.0.6</ver></li830>\r\n" + "".join(lines))


TAGS = {
    "co2": Column("co2", "ppm"),
    "celltemp": Column("cell_temperature", "degC"),
    "cellpres": Column("cell_pressure", "hPa", 10.0),
    "flowrate": Column("flow", "L min-1"),
}
_CO2 = Channel(name="co2_li830", column="co2", units="ppm", lower_bound=300.0, valid_min=300.0, valid_max=20000.0,
               t90_s=2.0)  # fmt: skip
DECLARED = Declared((("co2", _CO2),))
_RECORD = re.compile(r"^(\S+)\s+<li8[0-9]{2}>\s*<data>(.*)</data>\s*</li8[0-9]{2}>\s*$", re.IGNORECASE)
_VALUE = re.compile(r"<(\w+)>\s*([-+0-9.eE]+)\s*</\1>")


def recognises(head: Head) -> bool:
    """Match the analyser's XML."""
    return any(_RECORD.match(line) for line in head.lines)


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """CO2 [ppm], cell temperature [degC], cell pressure [hPa], flow [L min-1]."""
    repairs: list[str] = []
    stamps, values, at, broken = [], {tag: [] for tag in TAGS}, [], []  # type: ignore[var-annotated]
    for piece in lines(file, repairs):
        for number, line in enumerate(piece.texts, piece.first):
            match = _RECORD.match(line)
            if match is None:
                if line.strip() and "<ack>" not in line.lower():
                    broken.append(number)
                continue
            stamps.append(match[1])
            at.append(number)
            found = {tag.lower(): text for tag, text in _VALUE.findall(match[2])}
            for tag, numbers in values.items():
                numbers.append(_number(found.get(tag)))
    if not stamps:
        raise LogError(f"{file.name}: no complete record")
    if broken:
        repairs.append(f"{len(broken):,} incomplete records left out (first: line {broken[0]:,})")
    parser = StampParser(file.name)
    time = parser.parse(Cells.of(stamps), np.array(at))
    parser.check()
    if not parser.is_zoned:
        time = to_utc(time, zone, file=file.name, repairs=repairs)
    good = ~np.isnat(time)
    if not good.any():
        raise LogError(f"{file.name}, line {at[0]:,}: '{stamps[0]}' is not a time stamp")
    if not good.all():
        first = at[int(np.argmin(good))]
        repairs.append(f"{int((~good).sum()):,} rows whose time stamp cannot be read left out (first: line {first:,})")
    read = {new: np.array(values[tag])[good] * new.factor for tag, new in TAGS.items()}
    read = {new: column for new, column in read.items() if not np.isnan(column).all()}
    columns, units = {new.name: x for new, x in read.items()}, {new.name: new.units for new in read}
    return [Stream("li830", "", time[good], columns, units, rows_read=len(stamps) + len(broken), repairs=tuple(repairs),
                   source=file.name)]  # fmt: skip


def _number(text: str | None) -> float:
    try:
        value = float(text) if text is not None else np.nan
    except ValueError:
        return np.nan
    return value if np.isfinite(value) else np.nan
