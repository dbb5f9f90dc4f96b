"""Flights as plain CSV: `time`, the columns of each channel, then track and air.

A channel's are `<name>`, `<name>_uncertainty`, `qc_<name>`, `<name>_raw` and `<name>_unbounded`, those that there are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from pc2dae.errors import FlightError, nearest
from pc2dae.flight.schema import new_flight, suite_of
from pc2dae.suite import ENVIRONMENT, MOTION, Suite, load_suite, presets


def write_csv(flight: xr.Dataset, path: Path) -> None:
    """Write a flight's rows: those of the file it came from, with their stamps, where it carries them; else its grid.

    Numbers are the shortest that read back exactly; a missing value is an empty cell.
    """
    suite = suite_of(flight)
    names: list[str] = []
    for name in suite.names:
        names += [name, f"{name}_uncertainty", f"qc_{name}", f"{name}_raw", f"{name}_unbounded"]
    names = [name for name in (*names, *MOTION, *ENVIRONMENT) if name in flight]
    rows = flight["row_index"].values if "row_index" in flight else np.arange(flight.sizes["time"])
    table = {"time": _stamps(flight)} | {name: flight[name].values[rows] for name in names}
    pd.DataFrame(table).to_csv(path, index=False, lineterminator="\n")


def read_csv(path: Path, suite: Suite | None = None) -> xr.Dataset:
    """The flight of a CSV that `write_csv` wrote; without a suite, the preset whose channels stand in its head."""
    try:
        table = pd.read_csv(path, dtype={"time": str})
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise FlightError(f"{path.name} is not a CSV of a flight ({error})", hint="is the file whole?") from None
    columns = [str(column) for column in table.columns]
    if "time" not in columns:
        raise FlightError(f"{path.name} has no column 'time'", hint=nearest("time", columns))
    suite = suite if suite is not None else _fitting(columns, path.name)
    try:
        time = pd.to_datetime(table["time"], format="ISO8601", utc=True).dt.tz_localize(None).to_numpy("datetime64[ns]")
    except ValueError as error:
        raise FlightError(f"{path.name}: a time stamp is not ISO 8601 ({error})", hint="run `pc2dae ingest`") from None
    beside = {f"{name}{suffix}" for name in suite.names for suffix in ("_uncertainty", "_raw", "_unbounded")}
    estimated = (beside - {*suite.names}) & {*columns}
    known = [n for n in columns if n in {*suite.names, *ENVIRONMENT, *MOTION} or n in estimated]
    values = {name: pd.to_numeric(table[name], errors="coerce").to_numpy(np.float64) for name in known}
    flags = {n: table[f"qc_{n}"].to_numpy(np.int32) for n in suite.names if f"qc_{n}" in columns}
    level = "denoised" if estimated else "screened" if flags else "raw"
    return new_flight(time, values, suite, flags=flags, flight_id=path.stem, level=level, history=f"read {path.name}")


def _fitting(columns: list[str], where: str) -> Suite:
    for preset in presets():
        suite = load_suite(preset)
        families = [f.name for f in suite.family if all(channel.name in columns for channel in f.channel)]
        if families:
            return suite.only(families)
    raise FlightError(f"{where} does not say which suite it was made with", hint="pass --suite")


def _stamps(flight: xr.Dataset) -> NDArray[np.str_]:
    """Stamps as text: as the original file had them where that was kept, else ISO 8601 in UTC, as fine as needed."""
    if "row_stamp" in flight:
        return np.asarray(flight["row_stamp"].values, dtype=str)
    time = flight["row_time" if "row_time" in flight else "time"].values.astype("datetime64[ns]")
    units: tuple[Literal["s", "ms", "us", "ns"], ...] = ("s", "ms", "us", "ns")
    unit = next(u for u in units if np.all(time == time.astype(f"datetime64[{u}]")))
    return np.char.add(np.datetime_as_string(time, unit=unit), "Z")
