"""Brechtel STAP absorption photometer on the tethered balloon: three wavelengths, seconds counted from 1904."""

from __future__ import annotations

from pc2dae.flight.stream import Stream
from pc2dae.logs.files import LogFile
from pc2dae.logs.reader import Column, Declared, Head, named, stream_of
from pc2dae.logs.table import Stamps, read_table
from pc2dae.suite import Channel, Suite

COLUMNS = {
    "sample_press_mbar": Column("pressure", "hPa"),
    "sample_temp_c": Column("temperature", "degC"),
    "sigmab": Column("absorption_450", "Mm-1"),
    "sigmag": Column("absorption_525", "Mm-1"),
    "sigmar": Column("absorption_624", "Mm-1"),
    "sigmab_smth": Column("absorption_450_smooth", "Mm-1"),
    "sigmag_smth": Column("absorption_525_smooth", "Mm-1"),
    "sigmar_smth": Column("absorption_624_smooth", "Mm-1"),
}
_NAME = "volume_absorption_coefficient_of_radiative_flux_in_air_due_to_dried_aerosol_particles"
DECLARED = Declared(
    channels=tuple(
        (
            "absorption",
            Channel(
                name=f"absorption_{nm}",
                units="Mm-1",
                valid_min=-2000.0,
                valid_max=50000.0,
                wavelength_nm=nm,
                standard_name=_NAME,
            ),
        )
        for nm in (450, 525, 624)
    ),
)


def recognises(head: Head) -> bool:
    """Match the program's names of the three absorption coefficients."""
    return head.find("datetimes", "sigmab", "sigmar") is not None


def read(file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """Absorption [Mm-1] as measured and smoothed, sample pressure [hPa] and temperature [degC]."""
    table = read_table(
        file,
        is_header=lambda line: "sigmab" in line,
        time=["datetimes"],
        wanted=lambda h: list(named(h, COLUMNS)),
        stamps=Stamps(epoch="1904-01-01"),
    )
    return [stream_of(table, COLUMNS, "stap")]
