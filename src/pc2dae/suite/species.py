"""Mapping of channels to chemical species, and the units of concentrations."""

from __future__ import annotations

from pc2dae.suite.model import Channel

_STANDARD_NAMES = {
    "mole_fraction_of_carbon_monoxide_in_air": "co",
    "mole_fraction_of_carbon_dioxide_in_air": "co2",
    "mole_fraction_of_carbon_dioxide_in_dry_air": "co2",
    "mole_fraction_of_nitrogen_monoxide_in_air": "no",
    "mole_fraction_of_nitrogen_dioxide_in_air": "no2",
    "mass_concentration_of_absorption_equivalent_black_carbon_of_dry_aerosol_particles_in_air": "bc",
}
SPECIES = frozenset(_STANDARD_NAMES.values()) | {"nox"}
PPB = {"ppb": 1.0, "ppm": 1e3, "ppt": 1e-3, "nmol mol-1": 1.0, "umol mol-1": 1e3, "mmol mol-1": 1e6}  # mole fractions
NG_M3 = {"ng m-3": 1.0, "ug m-3": 1e3, "mg m-3": 1e6}  # mass concentrations


def species_of(channel: Channel) -> str | None:
    """Species measured by a channel, from its CF standard name or the prefix of its name ("co_a", "bc_ir_1")."""
    if channel.difference_of is not None:
        return None
    if channel.standard_name is not None and channel.standard_name in _STANDARD_NAMES:
        return _STANDARD_NAMES[channel.standard_name]
    first = channel.name.lower().split("_")[0]
    return first if first in SPECIES else None
