"""Sensirion SCD30 on a small logger: CO2, temperature and humidity, each value repeated until the next is ready."""

from __future__ import annotations

from os import PathLike

from pc2dae.flight.stream import Stream
from pc2dae.logs.csv_writer import cells, column, iso, local_time, utc_offset_min, write_table, zone_text
from pc2dae.logs.files import LogFile
from pc2dae.logs.reader import Column, Declared, Head, named, stream_of
from pc2dae.logs.table import read_table
from pc2dae.suite import Channel, Suite


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


COLUMNS = {
    "scd30_co2_ppm": Column("co2", "ppm"),
    "scd30_temperature_c": Column("temperature", "degC"),
    "scd30_humidity_pct": Column("humidity", "%"),
}
DECLARED = Declared(
    channels=(
        (
            "co2",
            Channel(
                name="co2_scd30",
                column="co2",
                units="ppm",
                lower_bound=300.0,
                valid_min=300.0,
                valid_max=40000.0,
                t90_s=46.0,
                native_rate_hz=0.5,
            ),
        ),
    ),
    environment={"air_temperature": "temperature", "relative_humidity": "humidity"},
)


def recognises(head: Head) -> bool:
    """Match column names that contain the sensor's name."""
    return head.find("timestamp", "scd30_co2_ppm") is not None


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """CO2 [ppm], temperature [degC], humidity [%]."""
    table = read_table(
        file,
        is_header=lambda line: "scd30_co2_ppm" in line,
        time=["timestamp"],
        wanted=lambda h: list(named(h, COLUMNS)),
        comment="#",
    )
    return [stream_of(table, COLUMNS, "scd30", zone=zone)]
