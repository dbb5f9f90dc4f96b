"""LI-COR trace gas analysers (LI-7810: CO2, CH4, H2O): tab-separated text with stamps in seconds since 1970."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pc2dae.flight.stream import Stream
from pc2dae.logs.files import LogFile
from pc2dae.logs.reader import Column, Declared, Head, named, stream_of
from pc2dae.logs.table import read_table
from pc2dae.suite import Channel, Suite

COLUMNS = {"co2": Column("co2", "ppm"), "ch4": Column("ch4", "ppb"), "h2o": Column("h2o", "mmol mol-1", 1e-3),
           "cavity_p": Column("cavity_pressure", "hPa", 10.0), "cavity_t": Column("cavity_temperature", "degC"),
           "diag": Column("diagnosis", "1")}  # fmt: skip
_CO2 = Channel(name="co2", units="ppm", valid_max=10000.0, standard_name="mole_fraction_of_carbon_dioxide_in_air")
_CH4 = Channel(name="ch4", units="ppb", valid_max=50000.0, standard_name="mole_fraction_of_methane_in_air")
DECLARED = Declared(channels=(("co2", _CO2), ("ch4", _CH4)))


def recognises(head: Head) -> bool:
    """Match the model and the line of column names."""
    return head.find("Model:", "LI-78") is not None and head.find("DATAH", "SECONDS", "CO2", "CH4") is not None


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """CO2 [ppm], CH4 [ppb], H2O [mmol mol-1]; missing where the analyser reports a fault (DIAG is not 0)."""
    table = read_table(
        file,
        is_header=lambda line: line.startswith("DATAH"),
        time=["SECONDS"],
        wanted=lambda h: list(named(h, COLUMNS)),
        comment="DATAU",
    )
    stream = stream_of(table, COLUMNS, "li7810")
    is_faulty = stream.columns["diagnosis"] != 0
    if not is_faulty.any():
        return [stream]
    gases = {name: np.where(is_faulty, np.nan, stream.columns[name]) for name in ("co2", "ch4", "h2o")}
    line = f"{int(is_faulty.sum()):,} rows with DIAG other than 0 taken as missing"
    return [replace(stream, columns=stream.columns | gases, repairs=(*stream.repairs, line))]
