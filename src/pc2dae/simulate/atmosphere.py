"""Simulated atmosphere: wind, turbulence, temperature, humidity, pressure and slowly drifting background."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pc2dae.arrays import Array
from pc2dae.simulate.path import Path
from pc2dae.simulate.plan import FlightPlan
from pc2dae.simulate.processes import DT_S, at, lagged, second_means, swell, wander

GRAVITY, GAS_CONSTANT = 9.80665, 287.05  # m s-2, J kg-1 K-1
GROUND_M = 452.0  # above the geoid, near Prince Albert
CHAMBER_T90_S = 8.0  # payload enclosure; the small sensors inside respond within 1 to 2 s
LAPSE = 0.0098  # K m-1, well-mixed afternoon boundary layer

# Clean air of a rural autumn day: central value and relative spread between days.
BACKGROUND = {
    "bc": (230.0, 0.25),  # ng m-3 (paper: below 500)
    "co": (125.0, 0.10),  # ppb
    "co2": (419.5, 0.004),  # ppm
    "no": (0.6, 0.3),
    "no2": (3.0, 0.3),
    "o3": (34.0, 0.15),
    "so2": (0.8, 0.3),
    "pm25": (2.6, 0.2),  # ug m-3
}


@dataclass(frozen=True)
class Air:
    """State of the air at the aircraft at each fine time step."""

    wind: float  # mean [m s-1], blowing towards +x
    drift_x: Array  # displacement of the air since take-off [m]
    drift_y: Array
    meander: Array  # slow variation of the wind direction [rad]
    heave: Array  # slow relative variation of the plume height
    temperature: Array  # [degC]
    vapour: Array  # partial pressure of water [hPa]
    pressure: Array  # [hPa]
    background: dict[str, Array]  # species → clean-air concentration
    dt_s: float = DT_S  # time step of all series

    @cached_property
    def humidity(self) -> Array:
        """Relative humidity [%]."""
        return np.clip(100 * self.vapour / saturation_hpa(self.temperature), 1.0, 99.0)

    @cached_property
    def chamber_temperature(self) -> Array:
        """Air temperature in the flow chamber at the cells, SCD30, BME280 and MA200 inlet [degC]."""
        return self.lagged(self.temperature, t90_s=CHAMBER_T90_S) + 0.4

    @cached_property
    def chamber_humidity(self) -> Array:
        """Relative humidity in the flow chamber [%]."""
        return self.lagged(self.humidity, t90_s=CHAMBER_T90_S)

    def lagged(self, values: Array, *, t90_s: float) -> Array:
        """First-order response to `values` with 90 % of a step after `t90_s`."""
        return lagged(values, t90_s=t90_s, dt_s=self.dt_s)

    def swell(self, rng: np.random.Generator, *, tau_s: float) -> Array:
        """Smooth random series of unit standard deviation."""
        return swell(rng, len(self.temperature), tau_s=tau_s, dt_s=self.dt_s)

    def at(self, times_s: Array, values: Array) -> Array:
        """`values` interpolated at true times [s]."""
        return at(times_s, values, dt_s=self.dt_s)

    def second_means(self, values: Array) -> Array:
        """One-second means of `values`."""
        return second_means(values, dt_s=self.dt_s)


def weather(plan: FlightPlan, path: Path) -> Air:
    """Simulate the air along `path` under the conditions of `plan`."""
    rng = plan.rng(1)
    count = len(path.x)
    wind = float(rng.uniform(2.4, 5.0))
    gusts = 0.22 * wind * wander(rng, count, tau_s=12)
    across = 0.18 * wind * wander(rng, count, tau_s=10)
    meander = 0.10 * swell(rng, count, tau_s=70) + 0.05 * swell(rng, count, tau_s=15)
    trend = np.linspace(0, 1, count) * rng.uniform(-0.5, 0.5)
    thermals = 0.22 * swell(rng, count, tau_s=25) + 0.12 * wander(rng, count, tau_s=6)
    temperature = plan.temperature_c + trend + thermals - LAPSE * path.z + 0.25 * swell(rng, count, tau_s=200)
    ground_hpa = (
        960.0 + rng.normal(0, 4.0) + np.linspace(0, 1, count) * rng.normal(0, 0.3) + 0.03 * swell(rng, count, tau_s=60)
    )
    virtual = plan.temperature_c + 273.15 - 0.5 * LAPSE * path.z
    pressure = ground_hpa * np.exp(-GRAVITY * path.z / (GAS_CONSTANT * virtual))
    moist = 1 + 0.012 * swell(rng, count, tau_s=120) + 0.006 * wander(rng, count, tau_s=8)
    vapour = saturation_hpa(np.array(plan.temperature_c)) * plan.humidity_pct / 100 * moist
    background = {}
    for species, (centre, spread) in BACKGROUND.items():
        day = centre * float(np.exp(rng.normal(0, spread)))
        slow = 0.0015 if species == "co2" else 0.06
        background[species] = day * (1 + slow * swell(rng, count, tau_s=240))
    background |= {"pm1": 0.68 * background["pm25"], "pm10": 1.35 * background["pm25"], "angstrom": np.ones(count)}
    return Air(
        wind=wind,
        drift_x=np.cumsum(np.maximum(wind + gusts, 0.3)) * DT_S,
        drift_y=np.cumsum(across) * DT_S,
        meander=meander,
        heave=0.25 * swell(rng, count, tau_s=45),
        temperature=lagged(temperature, t90_s=0.5),
        vapour=vapour,
        pressure=pressure,
        background=background,
    )


def heated(air: Air, *, carbon: Array) -> Air:
    """Add the heat and water vapour of the smoke, given its `carbon` [ppm] of CO + CO2, to the air.

    1 kg of fuel emits 1.7 kg CO2, 18 MJ and 0.6 kg water: 16 mK and 0.9 Pa per ppm, half of which is radiated or lost.
    """
    return replace(air, temperature=air.temperature + 0.008 * carbon, vapour=air.vapour + 0.005 * carbon)


def saturation_hpa(temperature_c: Array) -> Array:
    """Saturation vapour pressure over water, 6.112·exp(17.62 T/(243.12 + T)) [hPa] (WMO-No. 8, −45…60 °C)."""
    return np.asarray(6.112 * np.exp(17.62 * temperature_c / (243.12 + temperature_c)), dtype=np.float64)
