"""Electrochemical board (Alphasense analogue front end): electrodes in millivolts, and its factory sheet."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from pc2dae.atomic import write_text
from pc2dae.flight.stream import Stream
from pc2dae.logs.csv_writer import cells, column, iso, local_time, utc_offset_min, write_table, zone_text
from pc2dae.logs.files import LogFile
from pc2dae.logs.instruments import Instrument, stated
from pc2dae.logs.reader import Column, Head
from pc2dae.logs.stamps import NeedsChoice
from pc2dae.suite import Suite

GASES = ("no", "no2", "o3", "so2", "co", "h2s")  # o3 is the OX cell, which is also sensitive to NO2
V20 = 0.31  # [V] of the Pt1000 at 20 degC, unless the sheet states it


def write(path: str | PathLike[str], stream: Stream) -> None:
    """Write a board's log on its local clock, and its sheet as `<stem>.calibration.json` beside it.

    The board's temperature is written as the voltage of its Pt1000: V = V20 + (T − 20)/1000 [V, degC].
    """
    sheet = stream.calibration or {}
    v20 = float(sheet.get("pt1000_v20", V20))
    gases = [gas for gas in GASES if f"{gas}_we" in stream.columns]
    preamble = (
        f"# AFE logger 2.1, board {sheet.get('type', '810-0023-00')}, "
        f"serial {stream.serial or 'AFE-0001'}, unit {stream.unit}\n"
        f"# clock: local, UTC{zone_text(utc_offset_min(stream))}\n# electrodes in mV, 16 bit, 64 samples averaged\n"
    )
    header = ["DateTime", "Pt1000_V"]
    table = [
        [text.replace("T", " ") for text in iso(local_time(stream), "ms")],
        cells(v20 + (column(stream, "temperature") - 20.0) / 1000.0, 6),
    ]
    for gas in gases:
        for electrode in ("we", "ae"):
            header.append(f"{gas.upper()}_{electrode.upper()}_mV")
            table.append(cells(column(stream, f"{gas}_{electrode}"), 3))
    write_table(path, header, table, preamble=preamble)
    if stream.calibration is not None:
        write_text(sheet_path(path), json.dumps(stream.calibration, indent=2) + "\n")


def sheet_path(path: str | PathLike[str]) -> Path:
    """Path of a log's factory sheet: `<stem>.calibration.json` beside it."""
    log = Path(path)
    return (log.with_suffix("") if log.suffix == ".gz" else log).with_suffix(".calibration.json")


AFE = Instrument(
    "afe",
    header=("DateTime", "Pt1000_V", "_WE_mV"),
    time=("DateTime",),
    columns={f"{gas}_{electrode}_mv": Column(f"{gas}_{electrode}", "mV") for gas in GASES for electrode in ("we", "ae")}
    | {"pt1000_v": Column("pt1000", "V")},
    comment="#",
    serial=re.compile(r"serial ([\w-]+)"),
    unit=re.compile(r"unit (\w+)"),
)  # it declares nothing: gases need a suite, without one there are only millivolts
DECLARED, recognises = AFE.declared, AFE.recognises


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """Electrodes [mV] and temperature [degC], T = 20 + 1000 (V − V20); the clock's zone is in the preamble."""
    table = AFE.table(file)
    sheet = read_sheet(sheet_path(file.path)) if file.member is None and sheet_path(file.path).exists() else None
    written = stated(table, re.compile(r"UTC([+-]\d\d:\d\d)"))
    return [with_sheet(AFE.stream(table, zone=written or zone), sheet)]


def with_sheet(stream: Stream, sheet: dict[str, Any] | None) -> Stream:
    """The stream with a factory sheet, and the board temperature computed with it."""
    v20 = float((sheet or {}).get("pt1000_v20", V20))
    columns, units = dict(stream.columns), dict(stream.units)
    if "pt1000" in columns:
        columns["temperature"] = 20.0 + 1000.0 * (columns["pt1000"] - v20)
        units["temperature"] = "degC"
    return replace(stream, columns=columns, units=units, calibration=sheet)


def read_sheet(path: Path) -> dict[str, Any]:
    """Read a factory sheet; raise an error that names what is missing."""
    try:
        sheet = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise NeedsChoice(f"{path.name}: the calibration sheet cannot be opened ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise NeedsChoice(f"{path.name}: the calibration sheet is not JSON ({str(error).splitlines()[0]})") from None
    return check_sheet(sheet, path.name)


def check_sheet(sheet: Any, where: str) -> dict[str, Any]:
    """The sheet, if its structure is valid."""
    if not isinstance(sheet, dict) or not isinstance(sheet.get("sensors"), list):
        raise NeedsChoice(f"{where}: not a calibration sheet", hint="expected an object with a list 'sensors'")
    for number, cell in enumerate(sheet["sensors"], 1):
        if not isinstance(cell, dict) or not isinstance(cell.get("sensor_type"), str):
            raise NeedsChoice(f"{where}: sensor {number} has no 'sensor_type'", hint='as in "CO-A4"')
        for key, value in cell.items():
            is_number = isinstance(value, int | float) and abs(value) < 1e6
            if key.endswith(("_mv", "_ppb")) and value is not None and not is_number:
                raise NeedsChoice(
                    f"{where}: sensor {number} ({cell['sensor_type']}): '{key}' is {value!r}, not a number"
                )
    v20 = sheet.get("pt1000_v20", V20)
    if not isinstance(v20, int | float) or not 0.1 < v20 < 1.0:
        raise NeedsChoice(f"{where}: pt1000_v20 {v20!r} V is not possible", hint="about 0.3 V")
    return sheet
