"""Smoke composition: gas and particle emissions by combustion phase, and titration of ozone by nitric oxide."""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array

Species = dict[
    str, Array
]  # no no2 o3 so2 co [ppb], co2 [ppm], bc [ng m-3 at 880 nm], angstrom [1], pm1 pm25 pm10 [ug m-3]

# Emission per ppm of emitted carbon (CO + CO2), smouldering and flaming, from emission factors of grass and boreal fuel
# (Akagi et al. 2011, doi:10.5194/acp-11-4039-2011): 0.3/0.8 g BC, 18/8 g PM2.5, 0.8/3.5 g NOx as NO, 0.9 g SO2 per kg.
EMISSION = {
    "bc": (300.0, 850.0),  # ng m-3 per ppm
    "pm25": (19.0, 8.5),  # ug m-3 per ppm
    "nox": (0.6, 2.8),  # ppb per ppm
    "so2": (0.40, 0.30),
}
COMBUSTION_EFFICIENCY = (0.82, 0.955)  # CO2/(CO + CO2)
NO_SHARE = (0.40, 0.85)  # NO/NOx at the source
ANGSTROM = (1.45, 1.08)  # absorption exponent; higher for smouldering, which emits UV-absorbing brown carbon
PM1_SHARE, PM10_SHARE = 0.86, 1.08  # relative to PM2.5, in smoke
TITRATION = 4.4e-4  # NO + O3 → NO2 + O2 [ppb-1 s-1 at 298 K]


def emitted(species: str, flaming: Array) -> Array:
    """Emission per ppm of carbon for a flaming share from 0 to 1."""
    return _between(EMISSION[species], flaming)


def titrate(no: Array, o3: Array, *, age_s: Array) -> Array:
    """Remaining O3 [ppb] after NO + O3 → NO2 + O2 for `age_s`: D·O3/(NO·exp(k·D·t) − O3) with D = NO − O3.

    Photolysis of NO2, which regenerates O3 within minutes, is neglected: the smoke is seconds to a minute old.
    """
    excess = np.where(np.abs(no - o3) < 1e-3, 1e-3, no - o3)
    grown = np.exp(np.clip(TITRATION * excess * age_s, -50, 50))
    return np.asarray(np.clip(excess * o3 / (no * grown - o3), 0.0, o3), dtype=np.float64)


def smoky(clean: Species, *, carbon: Array, flaming: Array, age_s: Array) -> Species:
    """Add smoke to `clean` air, given its `carbon` [ppm] of CO + CO2, flaming share and age."""
    efficiency = _between(COMBUSTION_EFFICIENCY, flaming)
    nox = emitted("nox", flaming) * carbon
    no = clean["no"] + nox * _between(NO_SHARE, flaming)
    titrated = np.minimum(clean["o3"] - titrate(nox + 1e-9, clean["o3"], age_s=age_s), no)
    bc = emitted("bc", flaming) * carbon
    pm25 = emitted("pm25", flaming) * carbon
    return {
        "bc": clean["bc"] + bc,
        "angstrom": (clean["angstrom"] * clean["bc"] + _between(ANGSTROM, flaming) * bc) / (clean["bc"] + bc),
        "no": no - titrated,
        "no2": clean["no2"] + nox * (1 - _between(NO_SHARE, flaming)) + titrated,
        "o3": clean["o3"] - titrated,
        "so2": clean["so2"] + emitted("so2", flaming) * carbon,
        "co": clean["co"] + 1000.0 * carbon * (1 - efficiency),
        "co2": clean["co2"] + carbon * efficiency,
        "pm1": clean["pm1"] + PM1_SHARE * pm25,
        "pm25": clean["pm25"] + pm25,
        "pm10": clean["pm10"] + PM10_SHARE * pm25,
    }


def _between(ends: tuple[float, float], flaming: Array) -> Array:
    return np.asarray(ends[0] + (ends[1] - ends[0]) * flaming, dtype=np.float64)
