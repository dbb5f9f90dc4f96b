"""ArduPilot DataFlash log (.bin): self-describing binary records of GPS, barometer and state estimator."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array
from pc2dae.atomic import write_bytes
from pc2dae.errors import LogError
from pc2dae.flight.stream import Stream
from pc2dae.logs.csv_writer import column
from pc2dae.logs.files import LogFile, blocks
from pc2dae.logs.reader import Declared, Head
from pc2dae.suite import Suite

HEAD = b"\xa3\x95"
FMT = 128  # the record type that describes the others
GPS_EPOCH = np.datetime64("1980-01-06T00:00:00", "ns")
LEAP_S = 18  # GPS runs ahead of UTC by 18 s since 2017-01-01; no further leap second is announced
WEEK_MS = 604_800_000

# type, name, format (one letter per label: the key of STRUCT), labels
_RECORDS = (
    (130, "GPS", "QBBIHBcLLeffffB", "TimeUS,I,Status,GMS,GWk,NSats,HDop,Lat,Lng,Alt,Spd,GCrs,VZ,Yaw,U"),
    (131, "BARO", "QBffcfIffB", "TimeUS,I,Alt,Press,Temp,CRt,SMS,Offset,GndTemp,Health"),
    (132, "XKF1", "QBccCfffffffccce", "TimeUS,C,Roll,Pitch,Yaw,VN,VE,VD,dPD,PN,PE,PD,GX,GY,GZ,OH"),
    (133, "MSG", "QZ", "TimeUS,Message"),
)
STRUCT = {
    "a": "64s", "b": "b", "B": "B", "h": "h", "H": "H", "i": "i", "I": "I", "f": "f", "d": "d", "n": "4s", "N": "16s",
    "Z": "64s", "c": "h", "C": "H", "e": "i", "E": "I", "L": "i", "M": "B", "q": "q", "Q": "Q", "g": "e",
}  # fmt: skip


def write(path: str | PathLike[str], stream: Stream) -> None:
    """Write a stream as the autopilot logs it: a GPS, a BARO and an XKF1 record per row, where it has values."""
    out = bytearray()
    for kind, name, letters, labels in ((FMT, "FMT", "BBnNZ", "Type,Length,Name,Format,Columns"), *_RECORDS):
        length = 3 + struct.calcsize("<" + "".join(STRUCT[letter] for letter in letters))
        out += HEAD + struct.pack("<BBB4s16s64s", FMT, kind, length, name.encode(), letters.encode(), labels.encode())
    gps, baro, xkf1, msg = (
        struct.Struct("<2sB" + "".join(STRUCT[letter] for letter in letters)) for _, _, letters, _ in _RECORDS
    )
    out += msg.pack(HEAD, 133, 1_000_000, b"ArduCopter V4.5.7 (2a3dc4b7)")

    time = stream.time.astype("datetime64[ns]")
    boot_us = 60_000_000  # the first record is a minute after power-on
    since_us = ((time - time[0]).astype(np.int64) // 1000 + boot_us).tolist() if len(time) else []
    gps_ms = ((time - GPS_EPOCH).astype(np.int64) // 1_000_000 + LEAP_S * 1000).tolist()
    names = ("latitude", "longitude", "altitude", "ground_speed", "ekf_speed", "baro_pressure", "baro_temperature")
    for us, ms, lat, lon, alt, speed, ekf, pressure, temperature in zip(
        since_us, gps_ms, *(column(stream, n).tolist() for n in names), strict=True
    ):
        height, degrees = (value if value == value else 0.0 for value in (alt, temperature))
        if lat == lat and lon == lon:
            place = round(lat * 1e7), round(lon * 1e7), round(height * 100)
            out += gps.pack(HEAD, 130, us, 0, 3, ms % WEEK_MS, ms // WEEK_MS, 14, 70, *place, speed, 0, 0, 0, 1)
        if pressure == pressure:
            out += baro.pack(HEAD, 131, us, 0, 0, pressure * 100.0, round(degrees * 100), 0, us // 1000, 0, 0, 1)
        if ekf == ekf:
            out += xkf1.pack(HEAD, 132, us, 0, 0, 0, 0, ekf, *[0] * 10)
    write_bytes(path, bytes(out))


SCALE = {"c": 0.01, "C": 0.01, "e": 0.01, "E": 0.01, "L": 1e-7}
MAX_BYTES = 1 << 30  # a gigabyte of log is many hours of flight
# record, its column, stream column, units, factor
COLUMNS = (
    ("GPS", "Lat", "latitude", "degrees_north", 1.0),
    ("GPS", "Lng", "longitude", "degrees_east", 1.0),
    ("GPS", "Alt", "altitude", "m", 1.0),
    ("GPS", "Spd", "ground_speed", "m s-1", 1.0),
    ("BARO", "Press", "baro_pressure", "hPa", 0.01),
    ("BARO", "Temp", "baro_temperature", "degC", 1.0),
)
DECLARED = Declared(
    motion={name: name for name in ("latitude", "longitude", "altitude", "ground_speed")},
    environment={"air_pressure": "baro_pressure", "air_temperature": "baro_temperature"},
)


@dataclass(frozen=True)
class _Format:
    name: str
    length: int
    letters: str
    labels: tuple[str, ...]

    def dtype(self) -> np.dtype[np.void]:
        """The numpy dtype of a record, including its header."""
        kinds = {"f": "<f4", "d": "<f8", "e": "<f2", "b": "i1", "B": "u1"}
        fields = []
        for label, letter in zip(self.labels, self.letters, strict=True):
            code = STRUCT[letter]
            size = struct.calcsize("<" + code)
            kind = f"S{size}" if code.endswith("s") else kinds.get(code, f"<{'i' if code.islower() else 'u'}{size}")
            fields.append((label, kind))
        return np.dtype([("", "V3"), *fields])


def recognises(head: Head) -> bool:
    """Match an FMT record at the start."""
    return head.raw.startswith(HEAD + bytes([FMT, FMT]))


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """Position and speed from GPS, `ekf_speed` and wind [m s-1], barometer [hPa, degC], all on GPS time as UTC."""
    repairs: list[str] = []
    data = bytearray()
    for block in blocks(file, repairs):
        data += block
        if len(data) > MAX_BYTES:
            raise LogError(f"{file.name}: the log is larger than {MAX_BYTES >> 20:,} MB", hint="cut it to the flight")
    records, skipped, total = _records(bytes(data))
    if skipped:
        repairs.append(f"{skipped:,} damaged bytes skipped")
    gps = records.get("GPS")
    if gps is None or not {"TimeUS", "GMS", "GWk"} <= set(gps):
        raise LogError(f"{file.name}: the log contains no GPS record", hint="was there a GPS fix?")
    fixed = gps.get("Status", np.full(len(gps["TimeUS"]), 3.0)) >= 3
    good = fixed & (gps["GWk"] > 1000) & (gps["GWk"] < 5000)
    if not good.any():
        raise LogError(f"{file.name}: GPS never had a fix", hint="without it the log has no time")
    if not good.all():
        repairs.append(f"{int((~good).sum()):,} GPS records without a fix left out")
    gps = {label: values[good] for label, values in gps.items()}
    utc_ms = gps["GWk"] * WEEK_MS + gps["GMS"] - LEAP_S * 1000
    time: NDArray[np.datetime64] = GPS_EPOCH + utc_ms.astype(np.int64).astype("timedelta64[ms]")
    boot_us = gps["TimeUS"]
    columns: dict[str, Array] = {}
    units: dict[str, str] = {}
    for record, label, name, unit, factor in COLUMNS:
        found = gps if record == "GPS" else records.get(record)
        if found is not None and label in found:
            columns[name], units[name] = _at(boot_us, found["TimeUS"], found[label] * factor), unit
    ekf = records.get("XKF1") or records.get("NKF1")
    if ekf is not None and {"VN", "VE"} <= set(ekf):
        core = ekf.get("C", np.zeros(len(ekf["TimeUS"]))) == 0
        speed = np.hypot(ekf["VN"], ekf["VE"])[core]
        columns["ekf_speed"], units["ekf_speed"] = _at(boot_us, ekf["TimeUS"][core], speed), "m s-1"
    wind = records.get("XKF2") or records.get("NKF2")
    if wind is not None and {"VWN", "VWE"} <= set(wind):
        estimated = (wind["VWN"] != 0) | (wind["VWE"] != 0)  # zero until, and unless, the autopilot estimates it
        core = estimated & (wind.get("C", np.zeros(len(wind["TimeUS"]))) == 0)
        for label, name in (("VWE", "eastward_wind"), ("VWN", "northward_wind")):
            if core.any():
                columns[name], units[name] = _at(boot_us, wind["TimeUS"][core], wind[label][core]), "m s-1"
    return [Stream("ardupilot", "", time, columns, units, clock="gps", rows_read=len(good), repairs=tuple(repairs),
                   source=file.name, notes={"records": total})]  # fmt: skip


def _at(wanted_us: Array, us: Array, values: Array) -> Array:
    """Values of another record type at the times of GPS records: the nearest within half a second, else missing."""
    finite = np.isfinite(values) & np.isfinite(us)
    order = np.argsort(us[finite], kind="stable")
    us, values = us[finite][order], values[finite][order]
    if not len(us):
        return np.full(len(wanted_us), np.nan)
    right = np.clip(np.searchsorted(us, wanted_us), 0, len(us) - 1)
    left = np.maximum(right - 1, 0)
    nearest_row = np.where(np.abs(us[left] - wanted_us) < np.abs(us[right] - wanted_us), left, right)
    return np.where(np.abs(us[nearest_row] - wanted_us) <= 500_000, values[nearest_row], np.nan)


def _records(data: bytes) -> tuple[dict[str, dict[str, Array]], int, int]:
    """The wanted records by name and label (first of each kind of sensor), bytes outside records, number of records."""
    formats: dict[int, _Format] = {FMT: _Format("FMT", 89, "BBnNZ", ("Type", "Length", "Name", "Format", "Columns"))}
    wanted = {"GPS", "BARO", "XKF1", "NKF1", "XKF2", "NKF2"}
    found: dict[int, list[int]] = {}
    position, skipped, total, size = 0, 0, 0, len(data)
    while position + 3 <= size:
        if data[position] != 0xA3 or data[position + 1] != 0x95:
            following = data.find(HEAD, position + 1)
            following = size if following < 0 else following
            skipped += following - position
            position = following
            continue
        kind = data[position + 2]
        described = formats.get(kind)
        if described is None or position + described.length > size:
            skipped += 1
            position += 1
            continue
        if kind == FMT:
            _describe(data[position + 3 : position + 89], formats)
        elif described.name in wanted:
            found.setdefault(kind, []).append(position)
        total += 1
        position += described.length
    skipped += max(size - position, 0)
    tables: dict[str, dict[str, Array]] = {}
    for kind, positions in found.items():
        described = formats[kind]
        dtype = described.dtype()
        if "TimeUS" not in described.labels or dtype.itemsize != described.length:
            continue
        rows = np.frombuffer(b"".join(data[p : p + described.length] for p in positions), dtype=dtype)
        with np.errstate(invalid="ignore"):  # damaged records may contain invalid numbers
            table = {
                label: rows[label].astype(np.float64) * SCALE.get(letter, 1.0)
                for label, letter in zip(described.labels, described.letters, strict=True)
                if rows.dtype[label].kind != "S"
            }
        if "I" in table:  # several receivers or barometers: use the first
            table = {label: values[table["I"] == table["I"].min()] for label, values in table.items()}
        tables[described.name] = table
    return tables, skipped, total


def _describe(body: bytes, formats: dict[int, _Format]) -> None:
    kind, length, name, letters, labels = struct.unpack("<BB4s16s64s", body)
    text = [part.rstrip(b"\0").decode("latin-1") for part in (name, letters, labels)]
    columns = tuple(text[2].split(",")) if text[2] else ()
    known = all(letter in STRUCT for letter in text[1])
    if kind != FMT and length > 3 and known and len(columns) == len(text[1]) == len(set(columns)) and "" not in columns:
        formats[kind] = _Format(text[0], length, text[1], columns)
