"""NDIR CO2: correction to standard pressure and conversion to dry mole fraction (numpy only, offline and live).

An infrared cell counts absorbing molecules, whose lines also widen with pressure: its reading is x·(P/P0)^n of the mole
fraction x if the instrument does not compensate. Makers state the slope at P0: 1.4 (E+E EE8915, 0.14 % per hPa), 1.5
(CO2 option of the Acoem Serinus 30), 1.6 (Senseair, 1.6 % per kPa) and 1.7 (Chauvin Arnoux C.A 1510) for n.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.suite import Channel

STANDARD_HPA = 1013.25
NEAR_S = 5.0  # within which the pressure of a drone changes by less than 1 %
EXPONENT_UNCERTAINTY = 0.15  # [1] spread of the exponents above
_PRESSURE_HPA = (300.0, 1100.0)  # others are faults of the sensor
_TEMPERATURE_DEGC = (-45.0, 60.0)  # range of the Magnus formula
_HUMIDITY_PCT = (0.0, 110.0)  # a capacitive sensor in cloud reads up to some percent above 100


def pressure_factor(pressure_hpa: ArrayLike, exponent: float) -> Array:
    """(1013.25 hPa / P)^n [1], by which a reading is multiplied; NaN for pressures outside 300 to 1100 hPa.

    >>> pressure_factor([1013.25, 716.0, 0.0], 1.6).round(3)
    array([1.   , 1.743,   nan])
    """
    return np.asarray((STANDARD_HPA / _within(pressure_hpa, _PRESSURE_HPA)) ** exponent)


def dry_factor(temperature_degc: ArrayLike, humidity_pct: ArrayLike, pressure_hpa: ArrayLike) -> Array:
    """1 / (1 − e/P) [1], from the mole fraction in moist air to that in dry air; NaN where T, RH or P is not plausible.

    Vapour pressure e = RH·6.112 hPa·exp(17.62·T/(243.12 degC + T)) (Magnus formula of WMO-No. 8, 2018, over water).

    >>> dry_factor([25.0, np.nan], 50.0, 1013.25).round(4)
    array([1.0158,    nan])
    """
    t = _within(temperature_degc, _TEMPERATURE_DEGC)
    vapour_hpa = _within(humidity_pct, _HUMIDITY_PCT) / 100.0 * 6.112 * np.exp(17.62 * t / (243.12 + t))
    return np.asarray(1.0 / (1.0 - vapour_hpa / _within(pressure_hpa, _PRESSURE_HPA)))


def correct_ndir(reading: Floats, environment: Floats, channel: Channel) -> tuple[Array, Mask]:
    """Apply the corrections that a channel's suite asks for, and tell for which samples the air was known.

    Args:
        reading: Values of the channel, (time,), in its units.
        environment: Air temperature [degC], relative humidity [%] and pressure [hPa], (3, time).
        channel: With `pressure_exponent`, `dry` or both.

    Returns:
        Corrected values and a mask; a correction whose air is unknown is left out, and the mask is false.
    """
    temperature, humidity, pressure = environment
    factors = []
    if channel.pressure_exponent is not None:
        factors.append(pressure_factor(pressure, channel.pressure_exponent))
    if channel.dry:
        factors.append(dry_factor(temperature, humidity, pressure))
    known = np.isfinite(np.array(factors))
    value = np.asarray(reading, np.float64) * np.where(known, factors, 1.0).prod(axis=0)
    return np.asarray(value), np.asarray(known.all(axis=0))


def correct_with_held_air(reading: Floats, air: Floats, age_s: Floats, channel: Channel) -> tuple[Array, Mask]:
    """Correct as a stream must, with the last plausible air; without any pressure yet, a value would be far off: NaN.

    Args:
        reading: Values of the channel, (time,), in its units.
        air: Last plausible temperature [degC], humidity [%] and pressure [hPa], (3, time), NaN before the first.
        age_s: Since when each is held [s], (3, time).
        channel: With `pressure_exponent`, `dry` or both.

    Returns:
        Corrected values, and a mask of those whose air is not known or older than 5 s.
    """
    value, known = correct_ndir(reading, air, channel)
    if channel.pressure_exponent is not None:
        value = np.where(np.isfinite(air[2]), value, np.nan)
    old = (age_s if channel.dry else age_s[2:]).max(axis=0) > NEAR_S
    return value, np.asarray((old | ~known) & np.isfinite(value))


def plausible_air(environment: Floats) -> Array:
    """Temperature, humidity and pressure (3, …) with NaN where they are faults of a sensor."""
    limits = (_TEMPERATURE_DEGC, _HUMIDITY_PCT, _PRESSURE_HPA)
    return np.stack([_within(row, limit) for row, limit in zip(environment, limits, strict=True)])


def exponent_uncertainty(value: Floats, pressure_hpa: Floats) -> Array:
    """Standard uncertainty of a pressure-corrected value from that of the exponent: x·|ln(1013.25 hPa / P)|·0.15."""
    log = np.log(STANDARD_HPA / _within(pressure_hpa, _PRESSURE_HPA))
    return np.asarray(np.abs(value * log) * EXPONENT_UNCERTAINTY)


def _within(values: ArrayLike, limits: tuple[float, float]) -> Array:
    x = np.asarray(values, np.float64)
    return np.where((x >= limits[0]) & (x <= limits[1]), x, np.nan)
