"""Emission factors by carbon mass balance: mass emitted per mass of dry fuel burned.

EF_i = 1000·F_C·Δm_i/Δm_C [g kg-1], where Δm is the excess mass in one mole of air: M_i·ΔX_i of a gas, the particles'
mass divided by the moles of air in a cubic metre at their own temperature and pressure. Carbon is the sum over the
species that were measured: CO₂, CO, CH₄ and black carbon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pc2dae.errors import FlightError
from pc2dae.flight.air import CARBON_G, MOLAR_MASS_G, moles_per_m3
from pc2dae.flight.conditions import air_of
from pc2dae.plumes.excess import Excess, add_up
from pc2dae.plumes.gas_units import interpolated
from pc2dae.plumes.ratios import Ratio, propagated
from pc2dae.plumes.signals import Signal, over_common, scaled, share_of
from pc2dae.plumes.species import PARTICLES
from pc2dae.suite import Channel
from pc2dae.suite.species import NG_M3

if TYPE_CHECKING:
    import xarray as xr

EMITTED = ("co2", "co", "ch4", "no", "no2", "nox", "so2", *PARTICLES)  # nox: NO + NO₂, both as NO₂
NAMES = {
    "co2": "CO₂", "co": "CO", "ch4": "CH₄", "no": "NO", "no2": "NO₂", "nox": "NOₓ as NO₂", "so2": "SO₂", "bc": "BC",
    "pm1": "PM1", "pm25": "PM2.5", "pm10": "PM10",
}  # fmt: skip
NEEDED = ("co2", "co")  # carbon species without which there is no balance
PER_MOLE = "ng mol-1"  # units of particles per mole of air
_DENSITY = 0.01  # of the air's density: 3 K of a payload's own warmth, a few hPa
_CARBON_ATOMS = {"co2": 1.0, "co": 1.0, "ch4": 1.0, "bc": 1 / CARBON_G}  # [mol of carbon per mol; per g]
_MOLAR_MASS_G = MOLAR_MASS_G | {"nox": MOLAR_MASS_G["no2"]} | dict.fromkeys(PARTICLES, 1.0)
_LEAST_SNR = 3.0  # minimum ratio of an excess to its uncertainty


@dataclass(frozen=True)
class Fuel:
    """Carbon of the dry fuel: its mass fraction, the standard uncertainty of that, and the share that is not measured.

    0.45 to 0.55 for wood, grass and peat: 0.50 ± 0.05 unless it was analysed (Yokelson et al. 1999,
    doi:10.1029/1999JD900817). Volatile organics that are not measured make emission factors 1 to 2 % too large (Andreae
    and Merlet 2001, doi:10.1029/2000GB001382; Akagi et al. 2011, doi:10.5194/acp-11-4039-2011): a systematic part.
    """

    carbon: float = 0.50
    uncertainty: float = 0.05
    unmeasured: float = 0.02

    def __post_init__(self) -> None:
        if not (0 < self.carbon <= 1 and 0 <= self.uncertainty < 1):
            raise FlightError(
                f"a carbon fraction of {self.carbon:g} ± {self.uncertainty:g} is not possible",
                hint="grams of carbon per gram of dry fuel, between 0 and 1; about 0.5 for wood and grass",
            )


def emission_factors(excess: Mapping[str, Excess], fuel: Fuel) -> dict[str, Ratio]:
    """Emission factors [g per kg of dry fuel] from excesses: gases in ppb, particles in ng per mole of air.

    EF = 1000·F_C·M·ΔX/(12.011·Σ n_j·ΔX_j), j over CO₂, CO, and CH₄ and black carbon where they are clear. A gain error
    common to numerator and carbon cancels; the fuel's carbon, carbon that was not measured (2 %) and the density of air
    for particles (1 %) do not. Empty unless CO₂ and CO were measured and the carbon is three times its uncertainty.

    >>> found = emission_factors({"co2": Excess(950.0, 0.0), "co": Excess(50.0, 0.0)}, Fuel(0.5, 0.0))
    >>> round(found["co"].value, 1), round(found["co2"].value)
    (58.3, 1740)
    """
    if not set(NEEDED) <= excess.keys():
        return {}
    atoms = {name: share for name, share in _CARBON_ATOMS.items() if name in NEEDED or _is_clear(excess.get(name))}
    carbon = sum(share * excess[name].value for name, share in atoms.items())
    if not _is_clear(Excess(carbon, propagated(carbon, {n: (share, excess[n]) for n, share in atoms.items()}).sigma)):
        return {}
    found: dict[str, Ratio] = {}
    for name in EMITTED:
        if name in excess:
            per = 1000 * fuel.carbon * _MOLAR_MASS_G[name] / (CARBON_G * carbon)
            value = per * excess[name].value
            derivatives = {carrier: -value * share / carbon for carrier, share in atoms.items()}
            derivatives[name] = derivatives.get(name, 0.0) + per
            relative = {"fuel carbon": fuel.uncertainty / fuel.carbon, "carbon not measured": fuel.unmeasured}
            relative |= {"air density": _DENSITY} if name in PARTICLES else {}
            found[name] = propagated(value, {n: (d, excess[n]) for n, d in derivatives.items()}, relative=relative)
    return found


def factors_over(
    emitted: Mapping[str, Signal], parts: Sequence[tuple[int, int]], fuel: Fuel
) -> dict[str, tuple[Ratio, float]]:
    """Emission factor of each species over the samples at which it and the carbon were measured, and their share."""
    if not set(NEEDED) <= emitted.keys():
        return {}
    carbon = np.all([emitted[name].measured for name in NEEDED], axis=0)
    by_mask: dict[bytes, dict[str, Ratio]] = {}
    found: dict[str, tuple[Ratio, float]] = {}
    for name in (name for name in EMITTED if name in emitted):
        used = carbon & emitted[name].measured
        if (key := np.concatenate([used[a:b] for a, b in parts]).tobytes()) not in by_mask:
            excess = dict(zip(emitted, over_common(list(emitted.values()), parts, used), strict=True))
            by_mask[key] = emission_factors(excess, fuel)
        if name in by_mask[key]:
            found[name] = by_mask[key][name], share_of(used, parts)
    return found


def _is_clear(excess: Excess | None) -> bool:
    """Whether an excess is several times its uncertainty: noise of a poor CH₄ sensor is not carbon."""
    return excess is not None and excess.value > _LEAST_SNR * excess.sigma


def campaign_factors(flights: Sequence[Mapping[str, Excess]], fuel: Fuel) -> dict[str, dict[str, Ratio]]:
    """Emission factors of several flights: weighted by their carbon, and the plain mean of the flights.

    Weighted by carbon is the factor of all excess together. The uncertainty of the plain mean is the scatter of the
    flights divided by √n (random), beside the mean systematic uncertainty, which the flights share.
    """
    names = dict.fromkeys(name for flight in flights for name in flight)
    shared = [name for name in names if all(name in flight for flight in flights)]
    total = {name: add_up(flight[name] for flight in flights) for name in shared}
    single = [emission_factors(flight, fuel) for flight in flights]
    found = {"campaign, carbon-weighted": emission_factors(total, fuel), "campaign, mean of flights": {}}
    for name in EMITTED:
        values = [factors[name] for factors in single if name in factors]
        if len(values) > 1:
            mean = float(np.mean([v.value for v in values]))
            scatter = float(np.std([v.value for v in values], ddof=1) / np.sqrt(len(values)))
            systematic = float(np.mean([v.systematic for v in values]))
            found["campaign, mean of flights"][name] = Ratio(mean, scatter, systematic)
    return found


def particles_per_mole(
    species: Mapping[str, Signal], flight: xr.Dataset, channels: Mapping[str, Channel]
) -> dict[str, Signal]:
    """Particles in ng per mole of air; `channels` are those whose reference conditions the masses of each species have.

    Omitted where temperature or pressure of the air is unknown, since the mass per mole of air is unknown too.
    """
    found: dict[str, Signal] = {}
    for name in (name for name in PARTICLES if name in species and species[name].units in NG_M3):
        air, units = moles_per_m3(*air_of(flight, channels[name])), species[name].units
        if np.isfinite(air).any():
            found[name] = scaled(species[name], NG_M3[units] / interpolated(air), PER_MOLE)
    return found


def missing_factors(species: Mapping[str, Signal], particles: Mapping[str, Signal]) -> list[str]:
    """One line for each reason why a species has no emission factor."""
    carbon = [NAMES[name] for name in NEEDED if name not in species or species[name].units != "ppb"]
    if carbon:
        return [f"no emission factors: {' and '.join(carbon)} not measured as a mole fraction or a mass of gas"]
    without = [NAMES[name] for name in PARTICLES if name in species and name not in particles]
    air = "the flight has no air temperature or pressure"
    return [f"no emission factor of {', '.join(without)}: {air}"] if without else []
