"""Mapping of channels to chemical species, and selection of the sensors that represent each species."""

from __future__ import annotations

from collections.abc import Mapping

from pc2dae.suite import Channel, Suite

_STANDARD_NAMES = {
    "mole_fraction_of_carbon_monoxide_in_air": "co",
    "mole_fraction_of_carbon_dioxide_in_air": "co2",
    "mole_fraction_of_carbon_dioxide_in_dry_air": "co2",
    "mole_fraction_of_nitrogen_monoxide_in_air": "no",
    "mole_fraction_of_nitrogen_dioxide_in_air": "no2",
    "mass_concentration_of_absorption_equivalent_black_carbon_of_dry_aerosol_particles_in_air": "bc",
}
_NAMES = frozenset(_STANDARD_NAMES.values()) | {"nox"}
_BC_WAVELENGTH_NM = 880.0  # near-infrared: absorption dominated by black carbon
PPB = {"ppb": 1.0, "ppm": 1e3, "ppt": 1e-3, "nmol mol-1": 1.0, "umol mol-1": 1e3, "mmol mol-1": 1e6}  # mole fractions
NG_M3 = {"ng m-3": 1.0, "ug m-3": 1e3, "mg m-3": 1e6}  # mass concentrations


def species_of(channel: Channel) -> str | None:
    """Species measured by a channel, from its CF standard name or the prefix of its name ("co_a", "bc_ir_1")."""
    if channel.difference_of is not None:
        return None
    if channel.standard_name is not None and channel.standard_name in _STANDARD_NAMES:
        return _STANDARD_NAMES[channel.standard_name]
    first = channel.name.lower().split("_")[0]
    return first if first in _NAMES else None


def sensors(suite: Suite, width_s: Mapping[str, float] | None = None) -> dict[str, tuple[str, ...]]:
    """Channels that represent each species: the fastest sensors; for black carbon, the wavelength nearest 880 nm.

    Sensors with a t90 up to twice the shortest, or up to two samples, are averaged; slower sensors would smooth out
    resolved structure. `width_s` replaces the t90 of some channels [s].
    """
    widths = {c.name: c.t90_s or 0.0 for c in suite.channels} | dict(width_s or {})
    chosen: dict[str, tuple[str, ...]] = {}
    for species in sorted(_NAMES):
        channels = [c for c in suite.channels if species_of(c) == species]
        if species == "bc":
            nearest = min(
                (abs((c.wavelength_nm or _BC_WAVELENGTH_NM) - _BC_WAVELENGTH_NM) for c in channels), default=0.0
            )
            channels = [
                c for c in channels if abs((c.wavelength_nm or _BC_WAVELENGTH_NM) - _BC_WAVELENGTH_NM) == nearest
            ]
        fastest = max(min((widths[c.name] for c in channels), default=0.0), 1 / suite.rate_hz)
        channels = [c for c in channels if widths[c.name] <= 2 * fastest]
        if channels:
            chosen[species] = tuple(c.name for c in channels)
    return chosen


def have_ratio(numerator: str, denominator: str, *, above: str) -> bool:
    """Whether a ratio is defined for these units: mole fractions, mass concentrations, or BC mass over either.

    >>> have_ratio("ng m-3", "ppb", above="bc"), have_ratio("mV", "ppb", above="co")
    (True, False)
    """
    if above == "bc":
        return numerator in NG_M3 and denominator in (*PPB, *NG_M3)
    return any(numerator in kind and denominator in kind for kind in (PPB, NG_M3))
