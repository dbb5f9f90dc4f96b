"""Flight computer of the tethered balloon: CO2, pressure, temperature and humidity in framed lines, Unix seconds."""

from __future__ import annotations

from pc2dae.flight.stream import Stream
from pc2dae.logs.files import LogFile
from pc2dae.logs.reader import Column, Declared, Head, named, stream_of
from pc2dae.logs.table import read_table
from pc2dae.suite import Channel, Suite

COLUMNS = {
    "partcon": Column("particle_number", "cm-3"),
    "co2": Column("co2", "ppm"),
    "p_baro": Column("pressure", "hPa"),
    "tempbox": Column("box_temperature", "degC"),
    "tempsamp": Column("sample_temperature", "degC"),
    "rhsamp": Column("sample_humidity", "%"),
    "temp1": Column("temperature", "degC"),
    "rh1": Column("humidity", "%"),
    "temp2": Column("temperature_2", "degC"),
    "rh2": Column("humidity_2", "%"),
}
_CO2 = Channel(
    name="co2",
    units="ppm",
    lower_bound=300.0,
    valid_min=300.0,
    valid_max=5000.0,
    native_rate_hz=0.5,
    standard_name="mole_fraction_of_carbon_dioxide_in_air",
)
DECLARED = Declared(
    channels=(("co2", _CO2),),
    environment={"air_temperature": "temperature", "relative_humidity": "humidity", "air_pressure": "pressure"},
)


def recognises(head: Head) -> bool:
    """Match the first columns of the frame."""
    return head.find("SBI,DateTime,PartCon") is not None


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """CO2 [ppm], pressure [hPa], temperatures [degC], humidities [%]."""
    table = read_table(
        file,
        is_header=lambda line: line.startswith("SBI,DateTime"),
        time=["DateTime"],
        wanted=lambda h: list(named(h, COLUMNS)),
    )
    return [stream_of(table, COLUMNS, "flight_computer")]
