"""Sensirion SCD30 on a small logger: CO2, temperature and humidity, each value repeated until the next is ready."""

from __future__ import annotations

from os import PathLike

from pc2dae.flight.stream import Stream
from pc2dae.logs.cells import cells, column, iso, local_time, utc_offset_min, write_table, zone_text


def write(path: str | PathLike[str], stream: Stream) -> None:
    """Write a stream as the logger does: ISO stamps with their offset, `nan` until the first measurement."""
    zone = zone_text(utc_offset_min(stream))
    table = [
        [text + zone for text in iso(local_time(stream), "ms")],
        cells(column(stream, "co2"), 4, missing="nan"),
        cells(column(stream, "temperature"), 4, missing="nan"),
        cells(column(stream, "humidity"), 4, missing="nan"),
    ]
    preamble = "# SCD30 firmware 3.66, interval 2 s, automatic self-calibration off, pressure compensation 0 mbar\n"
    write_table(
        path, ["timestamp", "scd30_co2_ppm", "scd30_temperature_c", "scd30_humidity_pct"], table, preamble=preamble
    )
