"""Mapping of channels to chemical species, and the units of concentrations."""

from __future__ import annotations

import re

from pc2dae.suite.model import Channel

# CF's words for a species in `mole_fraction_of_<words>_in_air`, `mass_concentration_of_<words>_in_dry_air`, …
_WORDS = {
    "carbon_monoxide": "co",
    "carbon_dioxide": "co2",
    "nitrogen_monoxide": "no",
    "nitrogen_dioxide": "no2",
    "nox_expressed_as_nitrogen": "nox",
    "sulfur_dioxide": "so2",
    "ozone": "o3",
    "methane": "ch4",
    "absorption_equivalent_black_carbon_of_dry_aerosol_particles": "bc",
    "absorption_equivalent_black_carbon_of_pm1_dry_aerosol_particles": "bc",
    "absorption_equivalent_black_carbon_of_pm2p5_dry_aerosol_particles": "bc",
    "absorption_equivalent_black_carbon_of_pm10_dry_aerosol_particles": "bc",
    **{f"{size}_{kind}_aerosol_particles": size.replace("2p5", "25")
       for size in ("pm1", "pm2p5", "pm10") for kind in ("ambient", "dry")},
}  # fmt: skip
_STANDARD_NAME = re.compile(r"(?:mole_fraction|mass_concentration|mole_concentration)_of_(\w+?)_in(?:_dry)?_air")
SPECIES = frozenset(_WORDS.values())
PPB = {"ppt": 1e-3, "pmol mol-1": 1e-3, "ppb": 1.0, "nmol mol-1": 1.0, "ppm": 1e3, "umol mol-1": 1e3,
       "mmol mol-1": 1e6, "%": 1e7, "mol mol-1": 1e9}  # mole fractions  # fmt: skip
NG_M3 = {"pg m-3": 1e-3, "ng m-3": 1.0, "ug m-3": 1e3, "mg m-3": 1e6, "g m-3": 1e9}  # mass concentrations


def species_of(channel: Channel) -> str | None:
    """Species measured by a channel, from its CF standard name or the prefix of its name ("co_a", "bc_ir_1")."""
    if channel.difference_of is not None:
        return None
    named = _STANDARD_NAME.fullmatch(channel.standard_name or "")
    if named is not None and named[1] in _WORDS:
        return _WORDS[named[1]]
    first = re.sub(r"^pm_?2[p._]?5", "pm25", channel.name.lower()).split("_")[0]
    return first if first in SPECIES else None
