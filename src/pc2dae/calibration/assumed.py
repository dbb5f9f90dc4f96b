"""Standard uncertainty of gain and cross-sensitivity of a channel that is not calibrated, by species (numpy only)."""

from __future__ import annotations

import re

from pc2dae.flight.air import MOLAR_MASS_G
from pc2dae.suite import Channel
from pc2dae.suite.species import NG_M3, species_of

# - bc: MA300 against AE33 in smoke and traffic, slopes 0.73 to 1.01 (Chakraborty et al. 2023,
#   doi:10.5194/amt-16-2333-2023), that is 0.15 from 1 on average, and 10 % between micro-aethalometers and a mass
#   standard (Sipkens et al. 2026, doi:10.5194/amt-19-3123-2026). Common to all spots and units: it is the method's.
# - co2: infrared analysers that compensate pressure themselves, SCD30 ± (30 ppm + 3 %) (data sheet v1.0, 2020).
_BY_SPECIES = {"bc": 0.20, "co2": 0.03}
_CORRECTED_FOR_PRESSURE = 0.06  # 0.03, and 5 % from the exponent at 710 hPa: `ndir.exponent_uncertainty`
# Electrochemical cells lose sensitivity: CO-B4 up to 10 % a year, half in three (data sheet), NO2 and OX cells more.
_OTHERS = 0.15
# Counters of scattered light in smoke; US-EPA's target for the slope of PM2.5 is 1 ± 0.35.
_PARTICLES = 0.35
# Reading per concentration of another gas: the SO2-A4 data sheet allows for NO2 anything from 0 to −160 %, which is
# 0.9 from 0 on average.
ASSUMED_CROSS = {"so2": {"no2": 0.9}}
_SIGNAL = re.compile(r"([pnumk]?[VA])|counts?")  # units of raw signals


def assumed_gain(channel: Channel) -> float:
    """Relative standard uncertainty of the gain of a channel without a calibration; 0 for raw signals.

    >>> [assumed_gain(Channel(name="co", units=u)) for u in ("ppb", "ug m-3", "mV")]
    [0.15, 0.15, 0.0]
    """
    if _SIGNAL.fullmatch(channel.units):
        return 0.0
    if channel.pressure_exponent is not None:
        return _CORRECTED_FOR_PRESSURE
    species = species_of(channel)
    if species in _BY_SPECIES:
        return _BY_SPECIES[species]
    return _PARTICLES if species not in MOLAR_MASS_G and channel.units in (*NG_M3, "cm-3") else _OTHERS
