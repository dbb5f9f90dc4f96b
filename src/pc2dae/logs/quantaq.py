"""QuantAQ ARISense and MODULAIR raw exports: electrodes in millivolts, particle sizes, stamps in UTC."""

from __future__ import annotations

from pc2dae.flight.stream import Stream
from pc2dae.logs.files import LogFile
from pc2dae.logs.reader import Column, Declared, Head, named, stream_of
from pc2dae.logs.table import read_table
from pc2dae.suite import Channel, Suite

COLUMNS = {
    f"{gas}_{e}": Column(f"{gas}_{e}", "mV") for gas in ("co", "no", "no2", "o3", "so2", "h2s") for e in ("we", "ae")
}
COLUMNS |= {
    "co2_raw": Column("co2", "ppm"),
    "opcn3_pm1": Column("pm1", "ug m-3"),
    "opcn3_pm25": Column("pm25", "ug m-3"),
    "opcn3_pm10": Column("pm10", "ug m-3"),
    "temp": Column("temperature", "degC"),
    "temp_manifold": Column("temperature", "degC"),
    "temp_box": Column("box_temperature", "degC"),
    "rh": Column("humidity", "%"),
    "rh_manifold": Column("humidity", "%"),
    "pressure": Column("pressure", "hPa", 0.01),
    "lat": Column("latitude", "degrees_north"),
    "lon": Column("longitude", "degrees_east"),
}
_PM = [Channel(name=n, column=n, units="ug m-3", valid_min=0.0, valid_max=5000.0) for n in ("pm1", "pm25", "pm10")]
_CO2 = Channel(name="co2", units="ppm", lower_bound=300.0, valid_min=200.0, valid_max=40000.0)
DECLARED = Declared(
    channels=(("co2", _CO2), *(("pm", channel) for channel in _PM)),
    environment={"air_temperature": "temperature", "relative_humidity": "humidity", "air_pressure": "pressure"},
    motion={"latitude": "latitude", "longitude": "longitude"},
)


def recognises(head: Head) -> bool:
    """Match stamp, serial number, device state and electrodes in one line."""
    return head.find("timestamp_local", "sn", "_we", "device_state") is not None


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """Electrodes [mV], CO2 [ppm], PM [ug m-3], temperature [degC], humidity [%], pressure [hPa]."""
    table = read_table(
        file,
        is_header=lambda line: "timestamp_local" in line,
        time=["timestamp"],
        wanted=lambda h: list(named(h, COLUMNS)),
        texts=["sn"],
    )
    serial = next((name for name in table.texts.get("sn", []) if name), "")
    return [stream_of(table, COLUMNS, "quantaq", zone=zone, serial=serial)]
