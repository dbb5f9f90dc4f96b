"""The ideal gas law at the air's own temperature and pressure: mole fractions beside mass concentrations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array, Floats
from pc2dae.suite.species import NG_M3

GAS_CONSTANT = 8.314462618  # [J mol-1 K-1], CODATA 2018
ZERO_CELSIUS = 273.15  # [K]
STANDARD_C, STANDARD_HPA = 0.0, 1013.25  # reference conditions of reported masses (273.15 K, 1013.25 hPa)
NEAR_S = 60.0  # within which temperature and pressure may be interpolated or held
_TEMPERATURE_C, _PRESSURE_HPA = (-100.0, 60.0), (100.0, 1200.0)  # others are faults of the sensor

# From the abridged standard atomic weights (IUPAC 2021): C 12.011, H 1.008, N 14.007, O 15.999, S 32.06.
CARBON_G = 12.011  # [g mol-1]
MOLAR_MASS_G = {"co": 28.010, "co2": 44.009, "no": 30.006, "no2": 46.005, "so2": 64.058, "o3": 47.997, "ch4": 16.043}


def moles_per_m3(temperature_c: float | Floats, pressure_hpa: float | Floats) -> Array:
    """Amount of air in a cubic metre [mol m-3]: P/(R·T), with `temperature_c` [degC] and `pressure_hpa` [hPa].

    >>> float(moles_per_m3(25.0, 1013.25).round(3))
    40.874
    """
    return np.asarray(100.0 * pressure_hpa / (GAS_CONSTANT * (np.asarray(temperature_c) + ZERO_CELSIUS)))


def ug_m3_per_ppb(species: str, temperature_c: float | Floats, pressure_hpa: float | Floats) -> Array:
    """Mass concentration [ug m-3] of 1 ppb of a gas: M·P/(R·T)·10⁻³, with M [g mol-1].

    >>> float(ug_m3_per_ppb("co", 25.0, 1013.25).round(4))
    1.1449
    """
    return np.asarray(1e-3 * MOLAR_MASS_G[species] * moles_per_m3(temperature_c, pressure_hpa))


def in_mole_fraction(
    values: Floats, units: str, species: str, temperature_c: float | Floats, pressure_hpa: float | Floats
) -> Array:
    """Mole fraction [ppb] of a gas whose mass concentration is given in `units`: c·R·T/(M·P).

    Temperature [degC] and pressure [hPa] are those that the mass refers to; NaN where either is.

    >>> in_mole_fraction(np.array([1.1449, 1.1449]), "mg m-3", "co", np.array([25.0, np.nan]), 1013.25).round(1)
    array([1000.,   nan])
    """
    return np.asarray(values * (1e-3 * NG_M3[units]) / ug_m3_per_ppb(species, temperature_c, pressure_hpa))


def in_mass_concentration(
    values: Floats, units: str, species: str, temperature_c: float | Floats, pressure_hpa: float | Floats
) -> Array:
    """Mass concentration in `units` of a gas whose mole fraction [ppb] is given: x·M·P/(R·T).

    >>> in_mass_concentration(np.array([1000.0]), "mg m-3", "co", 25.0, 1013.25).round(4)
    array([1.1449])
    """
    return np.asarray(values * ug_m3_per_ppb(species, temperature_c, pressure_hpa) / (1e-3 * NG_M3[units]))


def at_conditions(
    values: Floats, given: tuple[float | Floats, float | Floats], wanted: tuple[float | Floats, float | Floats]
) -> Array:
    """A concentration per volume of air at other conditions (temperature [degC], pressure [hPa]): c·(P₂·T₁)/(P₁·T₂).

    >>> at_conditions(np.array([10.0]), (20.0, 710.0), (STANDARD_C, STANDARD_HPA)).round(2)
    array([15.32])
    """
    return np.asarray(values * moles_per_m3(*wanted) / moles_per_m3(*given))


def interpolated_air(
    time: NDArray[np.datetime64],
    temperature: tuple[NDArray[np.datetime64], Floats],
    pressure: tuple[NDArray[np.datetime64], Floats],
) -> tuple[Array, Array]:
    """Temperature and pressure at `time` from (stamps, values), NaN farther than 60 s from any plausible measurement.

    >>> at = np.arange(0, 4, dtype="datetime64[m]")
    >>> interpolated_air(at, (at[:1], np.array([20.0])), (at, np.array([990.0, 0.0, 970.0, 960.0])))
    (array([20., 20., nan, nan]), array([990., 980., 970., 960.]))
    """
    limits = (_TEMPERATURE_C, _PRESSURE_HPA)
    found = [_interpolated(time, *one, *limit) for one, limit in zip((temperature, pressure), limits, strict=True)]
    return found[0], found[1]


def _interpolated(
    time: NDArray[np.datetime64], stamps: NDArray[np.datetime64], values: Floats, low: float, high: float
) -> Array:
    known = (values >= low) & (values <= high)
    if not known.any():
        return np.full(len(time), np.nan)
    order = np.argsort(stamps[known], kind="stable")
    at, seen = ((t - stamps[0]) / np.timedelta64(1, "s") for t in (time, stamps[known][order]))
    right = np.searchsorted(seen, at).clip(0, len(seen) - 1)
    distance = np.minimum(np.abs(at - seen[right]), np.abs(at - seen[np.maximum(right - 1, 0)]))
    return np.where(distance <= NEAR_S, np.interp(at, seen, values[known][order]), np.nan)
