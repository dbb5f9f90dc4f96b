"""Spreadsheets of the GoAmazon research aircraft: reference-grade CO, O3 and NOx at 1 Hz, date and time in columns."""

from __future__ import annotations

import io
import warnings

import numpy as np

from pc2dae.errors import LogError
from pc2dae.flight.stream import Stream
from pc2dae.logs.files import LogFile
from pc2dae.logs.reader import Column, Declared, Head
from pc2dae.suite import Channel, Suite

COLUMNS = {
    "co(ppm)": Column("co", "ppb", 1000.0),
    "o3(ppb)": Column("o3", "ppb"),
    "nox(ppb)": Column("nox", "ppb"),
    "CPC3010": Column("particle_number", "cm-3"),
    "Acetonitrile(ppb)": Column("acetonitrile", "ppb"),
    "Isoprene(ppb)": Column("isoprene", "ppb"),
    "lat": Column("latitude", "degrees_north"),
    "long": Column("longitude", "degrees_east"),
    "alt": Column("altitude", "m"),
}
_TIME = ("y", "m", "d", "h(utc)", "m.1", "s")
_MISSING = -9999.0
_MAX_ROWS = 1_000_000
_MAX_BYTES = 1 << 28
_CO = Channel(name="co", units="ppb", valid_max=20000.0, standard_name="mole_fraction_of_carbon_monoxide_in_air")
_O3 = Channel(name="o3", units="ppb", valid_max=1000.0, native_rate_hz=0.25,
              standard_name="mole_fraction_of_ozone_in_air")  # fmt: skip
_NOX = Channel(name="nox", units="ppb", valid_max=2000.0)
DECLARED = Declared(
    (("gas", _CO), ("gas", _O3), ("gas", _NOX)),
    motion={"latitude": "latitude", "longitude": "longitude", "altitude": "altitude"},
)


def recognises(head: Head) -> bool:
    """Match any Office workbook; its columns are checked when it is opened."""
    return head.raw.startswith(b"PK\x03\x04") and (b"[Content_Types].xml" in head.raw or b"xl/" in head.raw)


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """CO, O3, NOx [ppb], particle number [cm-3], position."""
    from openpyxl import load_workbook

    try:
        with warnings.catch_warnings(), file.open() as packed:
            warnings.simplefilter("ignore")  # about styles, which are not used
            book = load_workbook(io.BytesIO(packed.read(_MAX_BYTES)), read_only=True, data_only=True)
            sheet = book.worksheets[0]
            rows = [row for row, _ in zip(sheet.iter_rows(values_only=True), range(_MAX_ROWS), strict=False)]
            book.close()
    except Exception as error:  # noqa: BLE001 - the parser may raise any exception on a damaged file
        raise LogError(
            f"{file.name}: the workbook cannot be opened ({type(error).__name__})", hint="save it again as .xlsx"
        ) from None
    header = [str(cell) if cell is not None else "" for cell in rows[0]] if rows else []
    absent = [name for name in (*_TIME, "co(ppm)") if name not in header]
    if absent:
        raise LogError(
            f"{file.name}: unknown workbook, without column '{absent[0]}'",
            hint="save the table as CSV and write a suite",
        )
    whole = [(*row, *[None] * len(header))[: len(header)] for row in rows[1:]]  # a row may be shorter than the header
    table = np.array([[_number(cell) for cell in row] for row in whole], dtype=np.float64)
    column = dict(zip(header, table.reshape(-1, len(header)).T, strict=True))
    parts = np.array([column[name] for name in _TIME])
    good = np.isfinite(parts).all(axis=0) & (parts[0] > 1900) & (parts[0] < 2200) & (parts[1] >= 1) & (parts[1] <= 12)
    good &= (np.abs(parts[2:]) < 100).all(axis=0)
    if not good.any():
        raise LogError(f"{file.name}: no row has a date and time")
    year, month, day, hour, minute, second = parts[:, good]
    months = ((year - 1970) * 12 + month - 1).astype(np.int64).astype("datetime64[M]").astype("datetime64[ns]")
    seconds = (day - 1) * 86400 + hour * 3600 + minute * 60 + second
    time = months + np.round(seconds * 1000).astype(np.int64).astype("timedelta64[ms]")
    used = {new: column[old][good] for old, new in COLUMNS.items() if old in column}
    columns = {new.name: np.where(x == _MISSING, np.nan, x) * new.factor for new, x in used.items()}
    repairs = (f"{int((~good).sum()):,} rows without date and time left out",) if not good.all() else ()
    return [Stream("goamazon", "", time, columns, {new.name: new.units for new in used}, clock="gps",
                   rows_read=len(table), repairs=repairs, source=file.name)]  # fmt: skip


def _number(cell: object) -> float:
    return float(cell) if isinstance(cell, int | float) and abs(cell) < 1e300 else np.nan
