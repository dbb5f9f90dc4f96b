"""AethLabs microAeth MA200/MA350: the CSV of its manager program, five wavelengths, one or two spots."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike

import numpy as np

from pc2dae.errors import LogError
from pc2dae.flight.stream import Stream
from pc2dae.logs.csv_writer import cells, column, iso, local_time, utc_offset_min, write_table
from pc2dae.logs.files import LogFile
from pc2dae.logs.instruments import BLACK_CARBON, Instrument
from pc2dae.logs.reader import Column, Declared, Head, plain
from pc2dae.suite import Channel, Suite
from pc2dae.suite.instruments import RULES

WAVELENGTHS = ("UV", "Blue", "Green", "Red", "IR")  # 375, 470, 528, 625, 880 nm
_DUAL_SPOT = 64
_STATUS = {RULES["ma200"].starting_bit: "Start up", RULES["ma200"].saturated_bit: "Optical saturation",
           32: "Sampling timing error", _DUAL_SPOT: "DualSpot on", 131072: "Ext. power"}  # fmt: skip

_HEAD = (
    "Serial number", "Datum ID", "Session ID", "Data format version", "Firmware version", "App version",
    "Date / time local", "Timezone offset (mins)", "Date local (yyyy/MM/dd)", "Time local (hh:mm:ss)",
    "GPS lat (ddmm.mmmmm)", "GPS long (dddmm.mmmmm)", "GPS speed (km/h)", "GPS sat count", "Timebase (s)", "Status",
    "Battery remaining (%)", "Accel X", "Accel Y", "Accel Z", "Tape position", "Flow setpoint (mL/min)",
    "Flow total (mL/min)", "Flow1 (mL/min)", "Flow2 (mL/min)", "Sample temp (C)", "Sample RH (%)",
    "Sample dewpoint (C)", "Internal pressure (Pa)", "Internal temp (C)", "Optical config",
)  # fmt: skip
_TAIL = (
    "Readable status", "UV BC1 smoothed  (ng/m^3)", "UV BCc smoothed  (ng/m^3)", "Blue BC1 smoothed  (ng/m^3)",
    "Blue BCc smoothed  (ng/m^3)", "IR BC1 smoothed  (ng/m^3)", "IR BCc smoothed  (ng/m^3)", "Cref", "AAE biomass",
    "AAE fossil fuel", "Biomass BCc  (ng/m^3)", "Fossil fuel BCc  (ng/m^3)", "AAE", "BB (%)", "Delta-C  (ng/m^3)",
    "Pump drive", "Reporting Temp (C)", "Reporting Pressure (Pa)", "WiFi RSSI",
)  # fmt: skip


def write(path: str | PathLike[str], stream: Stream) -> None:
    """Write a stream as the manager's export: local time, every value quoted, empty cells while starting up."""
    rows = len(stream.time)
    local = iso(local_time(stream), "s")
    status = np.nan_to_num(column(stream, "status", default=_DUAL_SPOT)).astype(int)
    serial = stream.serial or "MA200-0001"
    same = {
        "Serial number": serial, "Session ID": "16", "Data format version": "3", "Firmware version": "1.13",
        "App version": "1.6", "Timezone offset (mins)": str(utc_offset_min(stream)), "GPS sat count": "9",
        "Battery remaining (%)": "97", "Accel X": "267", "Accel Y": "-235", "Accel Z": "794",
        "Flow setpoint (mL/min)": "150", "Optical config": "DUALSPOT-UV-BLUE-GREEN-RED-IR", "Cref": "1.3",
        "AAE biomass": "2", "AAE fossil fuel": "1", "Reporting Temp (C)": "25", "Reporting Pressure (Pa)": "101325",
    }  # fmt: skip
    table = {name: [value] * rows for name, value in same.items()}
    table |= {
        "Datum ID": [str(i + 1) for i in range(rows)],
        "Date / time local": local,
        "Date local (yyyy/MM/dd)": [text[:10].replace("-", "/") for text in local],
        "Time local (hh:mm:ss)": [text[11:] for text in local],
        "GPS lat (ddmm.mmmmm)": cells(column(stream, "latitude"), 8),  # decimal degrees, despite the column name
        "GPS long (dddmm.mmmmm)": cells(column(stream, "longitude"), 8),
        "GPS speed (km/h)": cells(column(stream, "gps_speed") * 3.6, 2),
        "Timebase (s)": cells(column(stream, "timebase_s", default=1.0), 0),
        "Status": [str(word) for word in status],
        "Tape position": cells(column(stream, "tape_position"), 0),
        "Flow total (mL/min)": cells(column(stream, "flow_total"), 2),
        "Flow1 (mL/min)": cells(column(stream, "flow1"), 2),
        "Flow2 (mL/min)": cells(column(stream, "flow2"), 2),
        "Sample temp (C)": cells(column(stream, "sample_temperature"), 2),
        "Sample RH (%)": cells(column(stream, "sample_humidity"), 2),
        "Internal pressure (Pa)": cells(column(stream, "internal_pressure") * 100.0, 0),
        "Internal temp (C)": cells(column(stream, "internal_temperature"), 2),
        "Readable status": [_readable(word) for word in status],
    }
    optics, carbon = [], []
    for wavelength in WAVELENGTHS:
        for name, decimals in (("Sen1", 0), ("Sen2", 0), ("Ref", 0), ("ATN1", 6), ("ATN2", 6), ("K", 6)):
            optics.append(f"{wavelength} {name}")
            table[optics[-1]] = cells(column(stream, optics[-1].lower().replace(" ", "_")), decimals)
        for name in ("BC1", "BC2", "BCc"):
            carbon.append(f"{wavelength} {name}")
            table[carbon[-1]] = cells(column(stream, carbon[-1].lower().replace(" ", "_")), 0)
    header = [*_HEAD, *optics, *carbon, *_TAIL]
    empty = [""] * rows
    write_table(path, header, [table.get(name, empty) for name in header], quoted=True, line_end="\r\n")


def _readable(word: int) -> str:
    return "-".join(text for bit, text in _STATUS.items() if word & bit)


COLUMNS = {
    "tape_position": Column("tape_position", "1"),
    "status": Column("status", "1"),
    "timebase": Column("timebase_s", "s"),
    "flow_total": Column("flow_total", "mL min-1"),
    "flow1": Column("flow1", "mL min-1"),
    "flow2": Column("flow2", "mL min-1"),
    "sample_temp": Column("sample_temperature", "degC"),
    "sample_rh": Column("sample_humidity", "%"),
    "internal_pressure": Column("internal_pressure", "hPa", 0.01),
    "internal_temp": Column("internal_temperature", "degC"),
    "gps_lat": Column("latitude", "degrees_north"),
    "gps_long": Column("longitude", "degrees_east"),
    "gps_speed": Column("gps_speed", "m s-1", 1 / 3.6),
    "timezone_offset": Column("timezone_offset", "min"),
}
for _wave in ("uv", "blue", "green", "red", "ir"):
    COLUMNS |= {f"{_wave}_{x}": Column(f"{_wave}_{x}", "1") for x in ("sen1", "sen2", "ref", "atn1", "atn2", "k")}
    COLUMNS |= {f"{_wave}_{x}": Column(f"{_wave}_{x}", "ng m-3") for x in ("bc1", "bc2", "bcc")}
_CHANNELS = [
    Channel(name=f"bc_{wave}_{spot}", column=f"{wave}_bc{spot}", units="ng m-3", valid_min=-200000.0,
            valid_max=1000000.0, detection_limit=30.0, wavelength_nm=nm, standard_name=BLACK_CARBON)
    for wave, nm in (("uv", 375), ("ir", 880)) for spot in (1, 2)
]  # fmt: skip
DECLARED = Declared(
    tuple(("bc", channel) for channel in _CHANNELS),
    motion={"latitude": "latitude", "longitude": "longitude", "ground_speed": "gps_speed"},
)


def _time_column(header: list[str]) -> list[str]:
    known = {plain(name): name for name in header}
    single = [[name] for name in ("date_time_local", "date_time_gmt", "date_time_utc", "date_time")]
    for wanted in (*single, ["date_local", "time_local"]):
        if all(name in known for name in wanted):
            return [known[name] for name in wanted]
    return ["Date / time local"]


MA200 = Instrument(
    "ma200",
    header=("Serial number", "Tape position", "IR BC1"),
    time=_time_column,
    columns=COLUMNS,
    declared=DECLARED,
    serial="Serial number",
)
recognises = MA200.recognises


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """Optics, attenuation and black carbon [ng m-3]; stamps local with their offset in minutes, or already GMT."""
    table = MA200.table(file)
    is_gmt = "gmt" in plain(_time_column(table.header)[0])
    offset = next((table.numbers.pop(n) for n in list(table.numbers) if plain(n) == "timezone_offset"), None)
    table.header = [name for name in table.header if plain(name) != "timezone_offset"]
    if not table.is_zoned and not is_gmt and offset is not None and np.isfinite(offset).any():
        minutes = np.where(np.isfinite(offset), offset, np.nanmedian(offset))
        if np.abs(minutes).max() > 14 * 60:
            raise LogError(f"{file.name}: a time zone offset of {np.abs(minutes).max():g} minutes is not possible")
        table = replace(table, time=table.time - minutes.astype("timedelta64[m]"), is_zoned=True)
    return [MA200.stream(table, zone="UTC" if is_gmt else zone)]
