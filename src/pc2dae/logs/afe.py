"""Electrochemical board (Alphasense analogue front end): electrodes in millivolts, and its factory sheet."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path

from pc2dae.atomic import write_text
from pc2dae.flight.stream import Stream
from pc2dae.logs.cells import cells, column, iso, local_time, utc_offset_min, write_table, zone_text

GASES = ("no", "no2", "o3", "so2", "co", "h2s")  # o3 is the OX cell, which also sees NO2
V20 = 0.31  # [V] of the Pt1000 at 20 degC where a sheet does not say


def write(path: str | PathLike[str], stream: Stream) -> None:
    """Write a board's log on its local clock, and its sheet as `<stem>.calibration.json` beside it.

    The board's temperature goes out as the voltage of its Pt1000: V = V20 + (T − 20)/1000 [V, degC].
    """
    sheet = stream.calibration or {}
    v20 = float(sheet.get("pt1000_v20", V20))
    gases = [gas for gas in GASES if f"{gas}_we" in stream.columns]
    preamble = (
        f"# AFE logger 2.1, board {sheet.get('type', '810-0023-00')}, serial {stream.serial or 'AFE-0001'}, unit {stream.unit}\n"
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
    """Where a log's factory sheet lies: `<stem>.calibration.json` beside it."""
    return (
        Path(path).with_suffix("").with_suffix(".calibration.json")
        if Path(path).suffix == ".gz"
        else Path(path).with_suffix(".calibration.json")
    )
