"""Plantower PMS5003 on a microcontroller: particle mass from its serial frames, stamped in Unix seconds."""

from __future__ import annotations

from os import PathLike

import numpy as np

from pc2dae.flight.stream import Stream
from pc2dae.logs.cells import cells, column, write_table


def write(path: str | PathLike[str], stream: Stream) -> None:
    """Write a stream as frames were decoded: whole ug m-3, twice (factory, atmospheric), empty where a frame was lost."""
    seconds = stream.time.astype("datetime64[ms]").astype(np.int64) / 1000.0
    masses = [cells(column(stream, name), 0) for name in ("pm1", "pm25", "pm10")]
    header = ["unix_time", "unit", "pm1_0_cf1", "pm2_5_cf1", "pm10_0_cf1", "pm1_0_atm", "pm2_5_atm", "pm10_0_atm"]
    preamble = f"# PMS5003 serial {stream.serial or 'PMS-0001'}, active mode, ug/m3\n"
    write_table(path, header, [cells(seconds, 3), [stream.unit] * len(seconds), *masses, *masses], preamble=preamble)
