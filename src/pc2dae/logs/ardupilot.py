"""ArduPilot DataFlash log (.bin): self-describing binary records of GPS, barometer and state estimator."""

from __future__ import annotations

import struct
from os import PathLike

import numpy as np

from pc2dae.atomic import write_bytes
from pc2dae.flight.stream import Stream
from pc2dae.logs.cells import column

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
STRUCT = {"a": "64s", "b": "b", "B": "B", "h": "h", "H": "H", "i": "i", "I": "I", "f": "f", "d": "d", "n": "4s", "N": "16s", "Z": "64s",
          "c": "h", "C": "H", "e": "i", "E": "I", "L": "i", "M": "B", "q": "q", "Q": "Q", "g": "e"}  # fmt: skip


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
    boot_us = 60_000_000  # the first record comes a minute after power-on
    since_us = ((time - time[0]).astype(np.int64) // 1000 + boot_us).tolist() if len(time) else []
    gps_ms = ((time - GPS_EPOCH).astype(np.int64) // 1_000_000 + LEAP_S * 1000).tolist()
    names = ("latitude", "longitude", "altitude", "ground_speed", "ekf_speed", "baro_pressure", "baro_temperature")
    for us, ms, lat, lon, alt, speed, ekf, pressure, temperature in zip(
        since_us, gps_ms, *(column(stream, n).tolist() for n in names), strict=True
    ):
        if lat == lat and lon == lon:
            out += gps.pack(HEAD, 130, us, 0, 3, ms % WEEK_MS, ms // WEEK_MS, 14, 70, round(lat * 1e7), round(lon * 1e7),
                            round((alt if alt == alt else 0.0) * 100), speed, 0.0, 0.0, 0.0, 1)  # fmt: skip
        if pressure == pressure:
            out += baro.pack(
                HEAD,
                131,
                us,
                0,
                0.0,
                pressure * 100.0,
                round((temperature if temperature == temperature else 0.0) * 100),
                0.0,
                us // 1000,
                0.0,
                0.0,
                1,
            )
        if ekf == ekf:
            out += xkf1.pack(HEAD, 132, us, 0, 0, 0, 0, ekf, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0, 0)
    write_bytes(path, bytes(out))
