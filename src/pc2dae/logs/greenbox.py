"""GreenBox payload: CO2, CO, particles and weather in one text, with or without header; GPS beside a wrong clock."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pc2dae.errors import LogError
from pc2dae.flight.stream import Stream
from pc2dae.logs.files import LogFile
from pc2dae.logs.instruments import WEATHER
from pc2dae.logs.reader import Column, Declared, Head, stream_of
from pc2dae.logs.table import LogTable, Stamps, read_table
from pc2dae.suite import Channel, Suite

# Column names of the headerless variant, in order; R writes them with a point for every special character.
NAMES = (
    "GPS_Date_Time_(GMT)", "Latitude_(DM)", "Longitude_(DM)", "Latitude_(DMS)", "Longitude_(DMS)", "Altitude_()",
    "Course_Degrees", "RTC_Date_Time_(PST)", "PM01_STD(ug/m3)", "PM2.5_STD(ug/m3)", "PM10_STD(ug/m3)",
    "PM01_ENV(ug/m3)", "PM2.5_ENV(ug/m3)", "PM10_ENV(ug/m3)", "Particles0.3_(um/0.1L_air)",
    "Particles0.5_(um/0.1L_air)", "Particles1.0_(um/0.1L_air)", "Particles2.5_(um/0.1L_air)",
    "Particles5.0_(um/0.1L_air)", "Particles10.0_(um/0.1L_air)", "CO2_(ppm)", "CO_raw(ppm)", "CO_temp_(C)",
    "CO_humid_(%)", "SHT_Temp_(C)", "SHT_Humid_(%)", "SHT_DewP_(C)", "BME_temp(C)", "BME_press(mb)", "BME_humid(%)",
    "BME_alt(m)", "MPL_Press_(hPa)", "Can_1_status", "Can_2_status", "airborne(0-Y 1-N)", "Calib_status",
)  # fmt: skip
COLUMNS = {
    "pm01_env": Column("pm1", "ug m-3"),
    "pm2_5_env": Column("pm25", "ug m-3"),
    "pm10_env": Column("pm10", "ug m-3"),
    "co2": Column("co2", "ppm"),
    "co_raw": Column("co", "ppm"),
    "co_temp": Column("co_temperature", "degC"),
    "bme_temp": Column("temperature", "degC"),
    "bme_press": Column("pressure", "hPa"),
    "bme_humid": Column("humidity", "%"),
    "latitude_dms": Column("latitude_dm", "1"),
    "longitude_dms": Column("longitude_dm", "1"),
    "altitude": Column("altitude", "m"),
}
_WRAPPED = 65000.0  # [ppm] larger values are negative readings wrapped around in 16 bits
# CO2 is not compensated: at 711 to 717 hPa clean air read 240 to 250 ppm and span gas 0.54 to 0.60 of its value, as
# 1.6 % per kPa predicts (0.57), the figure in the data sheets of Senseair's modules.
_CO2 = Channel(name="co2", units="ppm", lower_bound=300.0, valid_min=300.0, valid_max=20000.0, native_rate_hz=0.5,
               pressure_exponent=1.6)  # fmt: skip
_PM = [
    Channel(name=name, units="ug m-3", valid_min=0.0, valid_max=1000.0, native_rate_hz=0.5)
    for name in ("pm1", "pm25", "pm10")
]
DECLARED = Declared(
    (("co2", _CO2), ("gas", Channel(name="co", units="ppm", valid_min=-5.0, valid_max=1000.0)),
     *(("pm", channel) for channel in _PM)),
    environment=WEATHER,
    motion={"latitude": "latitude", "longitude": "longitude", "altitude": "altitude"},
)  # fmt: skip
_ROW = re.compile(r'^("?\d*"?,)?[^,]*,"?\d+ \d+\.\d+ ?[NS]"?,"?\d+ \d+\.\d+ ?[EW]"?,')
_CLOCKS = ("GPS_Date_Time", "RTC_Date_Time")
_GPS_TIME = "gps_date_time_gmt"
_PREAMBLE = 50  # lines before the first GPS fix: a start message, rows without position


def _bare(name: str) -> str:
    """Normalise both spellings of a name: "PM2.5_ENV.ug.m3." and "PM2.5_ENV(ug/m3)" → "pm2_5_env"."""
    text = re.sub(r"(\(.*\)|\.ug\.m3\.|_?\.(ppm|C|mb|hPa|m|DM|DMS|GMT|PST)\.|_?\.+)$", lambda m: _kept(m[0]), name)
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _kept(ending: str) -> str:
    word = re.search(r"DMS|DM|GMT|PST", ending)
    return f"_{word[0]}" if word else ""


def recognises(head: Head) -> bool:
    """Match two clocks in the header, or rows with position in degrees and minutes."""
    return head.find(*_CLOCKS, "CO2") is not None or any(
        _ROW.match(line) and _is_row(line) for line in head.lines[:_PREAMBLE]
    )


def _is_row(line: str) -> bool:
    return line.count(",") in (len(NAMES) - 1, len(NAMES))  # or one more: row names in front


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """CO2, CO [ppm], PM [ug m-3], weather, position; on GPS time, to which the payload's own clock is shifted."""
    table = _on_gps_time(_table(file, head))
    signs = {axis: _sign(table, axis) for axis in ("latitude", "longitude")}
    table.numbers = {_bare(name): values for name, values in table.numbers.items()}
    table.header = [_bare(name) for name in table.header]
    for name in ("co2", "latitude_dms", "longitude_dms", "altitude"):
        if name not in table.numbers:
            raise LogError(f"{file.name}: there is no column '{name}'", hint="is the header damaged?")
    _drop_wrapped(table)
    stream = stream_of(table, COLUMNS, "greenbox", clock="gps")
    columns, units = dict(stream.columns), dict(stream.units)
    for axis, unit in (("latitude", "degrees_north"), ("longitude", "degrees_east")):
        raw = columns.pop(f"{axis}_dm")  # ddmm.mm
        degrees = np.floor(raw / 100.0)
        columns[axis], units[axis] = signs[axis] * (degrees + (raw - degrees * 100.0) / 60.0), unit
        units.pop(f"{axis}_dm")
    columns["altitude"] = np.where(columns["altitude"] == 0.0, np.nan, columns["altitude"])  # before the first fix
    return [replace(stream, columns=columns, units=units)]


def _table(file: LogFile, head: Head) -> LogTable:
    """The rows with both the payload's own clock and GPS time; with or without a header line."""
    line = head.find(*_CLOCKS)
    rows = [number for number, text in enumerate(head.lines) if _ROW.match(text)]
    if line is not None and not rows:
        raise LogError(f"{file.name}: only column names, no rows")
    if line is None:
        has_row_names = head.lines[rows[0]].count(",") == len(NAMES)
        names = ["", *NAMES] if has_row_names else list(NAMES)
    else:
        names = [cell.strip().strip('"') for cell in line.split(",")]
    return read_table(
        file,
        is_header=lambda text: "RTC_Date_Time" in text,
        header=names if line is None else None,
        skip=next(number for number, text in enumerate(head.lines) if _is_row(text)) if line is None else 0,
        time=lambda found: [_named(found, "rtc_date_time_pst")],
        wanted=lambda found: [name for name in found if _bare(name) in COLUMNS],
        texts=[name for name in names if _bare(name) in ("latitude_dm", "longitude_dm")],
        stamps=Stamps(order="mdy", more=(_named(names, _GPS_TIME),)),
    )


def _named(names: Sequence[str], bare: str) -> str:
    return next((name for name in names if _bare(name) == bare), bare)


def _drop_wrapped(table: LogTable) -> None:
    wrapped = table.numbers["co2"] > _WRAPPED
    if wrapped.any():
        table.numbers["co2"] = np.where(wrapped, np.nan, table.numbers["co2"])
        table.repairs.append(
            f"{int(wrapped.sum()):,} CO2 values above {_WRAPPED:,.0f} ppm (wrapped negatives) taken as missing"
        )


def _sign(table: LogTable, axis: str) -> float:
    """Sign of a coordinate: negative for south and west."""
    texts = next((values for name, values in table.texts.items() if name.lower().startswith(axis)), [])
    return -1.0 if any(text.strip().endswith(("S", "W")) for text in texts) else 1.0


def _on_gps_time(table: LogTable) -> LogTable:
    """GPS time where available; elsewhere the payload's own clock, shifted by the median difference of the two."""
    column = _named(list(table.more), _GPS_TIME)
    if column not in table.more:
        raise LogError(f"{table.file.name}: there is no column '{column}'", hint="is the header damaged?")
    gps = table.more[column]
    fixed = ~np.isnat(gps)
    if not fixed.any():
        raise LogError(f"{table.file.name}: GPS never had a fix, and the payload's own clock is unreliable")
    shift = np.median((gps - table.time)[fixed].astype(np.int64)).astype(np.int64).astype("timedelta64[ns]")
    table.repairs.append(f"the payload's clock is {abs(shift / np.timedelta64(1, 's')):,.0f} s off GPS time: not used")
    if not fixed.all():
        table.repairs.append(
            f"{int((~fixed).sum()):,} rows without GPS time stamped by the payload's clock, shifted to GPS time"
        )
    return replace(table, time=np.where(fixed, gps, table.time + shift), is_zoned=True)
