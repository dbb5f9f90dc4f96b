"""Plantower PMS5003 on a microcontroller: particle mass from its serial frames, stamped in Unix seconds."""

from __future__ import annotations

import re
from os import PathLike

import numpy as np

from pc2dae.flight.stream import Stream
from pc2dae.logs.csv_writer import cells, column, write_table
from pc2dae.logs.files import LogFile
from pc2dae.logs.reader import Column, Declared, Head, named, stream_of
from pc2dae.logs.table import read_table
from pc2dae.suite import Channel, Suite


def write(path: str | PathLike[str], stream: Stream) -> None:
    """Write a stream as decoded frames: integer ug m-3, twice (factory, atmospheric), empty where a frame was lost."""
    seconds = stream.time.astype("datetime64[ms]").astype(np.int64) / 1000.0
    masses = [cells(column(stream, name), 0) for name in ("pm1", "pm25", "pm10")]
    header = ["unix_time", "unit", "pm1_0_cf1", "pm2_5_cf1", "pm10_0_cf1", "pm1_0_atm", "pm2_5_atm", "pm10_0_atm"]
    preamble = f"# PMS5003 serial {stream.serial or 'PMS-0001'}, active mode, ug/m3\n"
    write_table(path, header, [cells(seconds, 3), [stream.unit] * len(seconds), *masses, *masses], preamble=preamble)


COLUMNS = {
    "pm1_0_atm": Column("pm1", "ug m-3"),
    "pm2_5_atm": Column("pm25", "ug m-3"),
    "pm10_0_atm": Column("pm10", "ug m-3"),
}
DECLARED = Declared(
    channels=tuple(
        (
            "pm",
            Channel(name=n, column=n, units="ug m-3", valid_min=0.0, valid_max=1000.0, detection_limit=7.5, t90_s=5.0),
        )
        for n in ("pm1", "pm25", "pm10")
    )
)


def recognises(head: Head) -> bool:
    """Match the column names of the frame."""
    return head.find("unix_time", "pm2_5_cf1", "pm2_5_atm") is not None


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """PM1, PM2.5 and PM10 [ug m-3] with the atmospheric calibration; the unit's name is in a separate column."""
    table = read_table(
        file,
        is_header=lambda line: "pm2_5_atm" in line,
        time=["unix_time"],
        wanted=lambda h: list(named(h, COLUMNS)),
        texts=["unit"],
        comment="#",
    )
    units = [name for name in table.texts.get("unit", []) if name]
    serial = re.search(r"serial ([\w-]+)", "\n".join(table.preamble))
    return [stream_of(table, COLUMNS, "pms5003", unit=units[0] if units else "", serial=serial[1] if serial else "")]
