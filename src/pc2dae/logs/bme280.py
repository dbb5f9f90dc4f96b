"""Bosch BME280 on a small logger: air temperature, humidity and pressure."""

from __future__ import annotations

from os import PathLike

from pc2dae.flight.stream import Stream
from pc2dae.logs.cells import cells, column, iso, local_time, utc_offset_min, write_table, zone_text


def write(path: str | PathLike[str], stream: Stream) -> None:
    """Write a stream as the logger does: ISO stamps with their offset, pressure in pascal."""
    zone = zone_text(utc_offset_min(stream))
    table = [
        [text + zone for text in iso(local_time(stream), "ms")],
        cells(column(stream, "temperature"), 2, missing="nan"),
        cells(column(stream, "humidity"), 2, missing="nan"),
        cells(column(stream, "pressure") * 100.0, 1, missing="nan"),
    ]
    write_table(
        path,
        ["timestamp", "bme280_temperature_c", "bme280_humidity_pct", "bme280_pressure_pa"],
        table,
        preamble="# BME280 0x76, oversampling x2 x16 x1, filter 16\n",
    )
