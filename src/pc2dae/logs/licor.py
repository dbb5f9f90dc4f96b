"""LI-COR gas analysers (LI-830, LI-850, LI-840A): the text their PC program writes, on local time without a zone."""

from __future__ import annotations

from pc2dae.flight.stream import Stream
from pc2dae.logs.files import LogFile
from pc2dae.logs.reader import Column, Declared, Head, named, stream_of
from pc2dae.logs.table import read_table
from pc2dae.suite import Channel, Suite

COLUMNS = {
    "co2": Column("co2", "ppm"), "co": Column("co2", "ppm"),  # the program's subscript two is not alphanumeric
    "h2o": Column("h2o", "mmol mol-1"), "h_o": Column("h2o", "mmol mol-1"),
    "cell_temperature": Column("cell_temperature", "degC"), "cell_pressure": Column("cell_pressure", "hPa", 10.0),
    "flow_rate": Column("flow", "L min-1"),
}  # fmt: skip
_CO2 = Channel(name="co2", units="ppm", lower_bound=300.0, valid_min=300.0, valid_max=20000.0, t90_s=2.0,
               standard_name="mole_fraction_of_carbon_dioxide_in_air")  # fmt: skip
DECLARED = Declared(channels=(("co2", _CO2),))


def recognises(head: Head) -> bool:
    """Match date, time and CO2 under the program's names."""
    return any(_is_header(line) for line in head.lines)


def _is_header(line: str) -> bool:
    return line.lstrip("\ufeff").startswith(("System_Date", "Date(Y-M-D)")) and "CO" in line


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """CO2 [ppm], H2O [mmol mol-1], cell temperature [degC] and pressure [hPa], flow [L min-1]."""
    table = read_table(file, is_header=_is_header, time=lambda h: h[:2], wanted=lambda h: list(named(h, COLUMNS)))
    instrument = "li840a" if table.header[0].startswith("Date(") else "licor"
    return [stream_of(table, COLUMNS, instrument, zone=zone)]
