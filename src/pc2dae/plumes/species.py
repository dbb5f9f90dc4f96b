"""Selection of the sensors that represent each species."""

from __future__ import annotations

from collections.abc import Mapping

from pc2dae.suite import Suite
from pc2dae.suite.species import NG_M3, PPB, SPECIES, species_of

_BC_WAVELENGTH_NM = 880.0  # near-infrared: absorption dominated by black carbon


PARTICLES = ("bc", "pm1", "pm25", "pm10")


def sensors(suite: Suite, width_s: Mapping[str, float] | None = None) -> dict[str, tuple[str, ...]]:
    """Channels that represent each species: the fastest sensors; for black carbon, the wavelength nearest 880 nm.

    Sensors with a t90 up to twice the shortest, or up to two samples, are averaged; slower sensors would smooth out
    resolved structure. `width_s` replaces the t90 of some channels [s].
    """
    widths = {c.name: c.t90_s or 0.0 for c in suite.channels} | dict(width_s or {})
    chosen: dict[str, tuple[str, ...]] = {}
    for species in sorted(SPECIES):
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


def smoke_sensors(suite: Suite, width_s: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
    """Channels of `width_s` that vote for each species of smoke: CO, CO₂, BC, NOₓ and particles."""
    chosen = sensors(suite, width_s)
    nox = chosen.get("nox") or (*chosen.get("no", ()), *chosen.get("no2", ()))
    pm = tuple(c.name for c in suite.channels if c.name.lower().startswith("pm"))
    found = {"co": chosen.get("co", ()), "co2": chosen.get("co2", ()), "bc": chosen.get("bc", ()), "nox": nox, "pm": pm}
    kept = {species: tuple(n for n in names if n in width_s) for species, names in found.items()}
    return {species: names for species, names in kept.items() if names}


def have_ratio(numerator: str, denominator: str, *, above: str) -> bool:
    """Whether a ratio is defined for these units: gases as mole fractions, particles over those or over masses.

    >>> have_ratio("ng m-3", "ppb", above="bc"), have_ratio("mV", "ppb", above="co")
    (True, False)
    """
    if above in PARTICLES:
        return numerator in NG_M3 and denominator in (*PPB, *NG_M3)
    return numerator in PPB and denominator in PPB
