"""Bosch BME280 on a small logger: air temperature, humidity and pressure."""

from __future__ import annotations

from os import PathLike

from pc2dae.flight.stream import Stream
from pc2dae.logs.csv_writer import cells, column, iso, local_time, utc_offset_min, write_table, zone_text
from pc2dae.logs.files import LogFile
from pc2dae.logs.reader import Column, Declared, Head, named, stream_of
from pc2dae.logs.table import read_table
from pc2dae.suite import Suite


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


COLUMNS = {
    "bme280_temperature_c": Column("temperature", "degC"),
    "bme280_humidity_pct": Column("humidity", "%"),
    "bme280_pressure_pa": Column("pressure", "hPa", 0.01),
}
DECLARED = Declared(
    environment={"air_temperature": "temperature", "relative_humidity": "humidity", "air_pressure": "pressure"}
)


def recognises(head: Head) -> bool:
    """Match column names that contain the sensor's name."""
    return head.find("timestamp", "bme280_temperature_c") is not None


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """Temperature [degC], humidity [%], pressure [hPa]."""
    table = read_table(
        file,
        is_header=lambda line: "bme280_temperature_c" in line,
        time=["timestamp"],
        wanted=lambda h: list(named(h, COLUMNS)),
        comment="#",
    )
    return [stream_of(table, COLUMNS, "bme280", zone=zone)]
