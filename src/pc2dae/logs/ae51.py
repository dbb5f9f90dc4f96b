"""AethLabs microAeth AE51: one wavelength (880 nm), the CSV of its manager program on local time without a zone."""

from __future__ import annotations

import re

from pc2dae.flight.stream import Stream
from pc2dae.logs.files import LogFile
from pc2dae.logs.reader import Column, Declared, Head, named, stream_of
from pc2dae.logs.table import read_table
from pc2dae.suite import Channel, Suite

COLUMNS = {
    "bc": Column("bc", "ng m-3"),
    "atn": Column("atn", "1"),
    "ref": Column("ref", "1"),
    "sen": Column("sen", "1"),
    "flow": Column("flow", "mL min-1"),
    "pcb_temp": Column("internal_temperature", "degC"),
    "status": Column("status", "1"),
}
_BC = "mass_concentration_of_absorption_equivalent_black_carbon_of_dry_aerosol_particles_in_air"
_CHANNEL = Channel(
    name="bc",
    units="ng m-3",
    valid_min=-200000.0,
    valid_max=1000000.0,
    detection_limit=100.0,
    wavelength_nm=880,
    standard_name=_BC,
)
DECLARED = Declared(channels=(("bc", _CHANNEL),))


def recognises(head: Head) -> bool:
    """Match the manufacturer's name and the AE51's columns."""
    return head.find("Date,Time,Ref,Sen,ATN") is not None


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """Black carbon [ng m-3], attenuation, detector counts."""
    table = read_table(
        file,
        is_header=lambda line: line.startswith("Date,Time,Ref,Sen,ATN"),
        time=["Date", "Time"],
        wanted=lambda h: list(named(h, COLUMNS)),
    )
    serial = re.search(r"Device ID = (\S+)", "\n".join(table.preamble))
    return [stream_of(table, COLUMNS, "ae51", zone=zone, serial=serial[1] if serial else "")]
