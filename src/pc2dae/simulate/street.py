"""Simulated air at a street station: daily cycles of weather, ozone and traffic, smoke haze and sulphur episodes."""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array
from pc2dae.simulate.atmosphere import BACKGROUND, Air, saturation_hpa
from pc2dae.simulate.chemistry import NO_SHARE, Species, smoky, titrate
from pc2dae.simulate.plan import UTC_OFFSET_MIN, FlightPlan
from pc2dae.simulate.plumes import HAZE_AGE_S, HAZE_FLAMING, Smoke
from pc2dae.simulate.processes import swell

DT_S = 1.0  # nothing here changes faster than the cells respond
HOUR_S = 3600.0
RUSH_HOURS = ((8.0, 1.2, 1.0), (17.5, 1.8, 0.8))  # local hour, width [h], strength
CO_PER_NOX, NOX_PER_CO2 = 6.0, 4.0  # of traffic [ppb/ppb, ppb/ppm]
EXHAUST_AGE_S = 60.0


def street_air(plan: FlightPlan) -> tuple[Air, Smoke]:
    """Weather and composition of the air at the station; temperature and humidity exceed the range of the flights."""
    rng = plan.rng(1)
    count = round(plan.samples / DT_S)
    hour = _local_hour(plan, count)

    def vary(hours: float) -> Array:
        return swell(rng, count, tau_s=hours * HOUR_S, dt_s=DT_S)

    temperature = plan.temperature_c + 10.5 * _daily(hour, 15.0) + 1.0 * vary(4) + 0.25 * vary(0.2)
    moist = 1 + 0.07 * vary(5) + 0.015 * vary(0.1)
    still = np.zeros(count)
    clean = {name: centre * (1 + 0.06 * vary(6)) for name, (centre, _) in BACKGROUND.items()}
    night = 0.5 - 0.5 * _daily(hour, 15.0)
    clean["o3"] = np.maximum(54.0 - 38.0 * night + 4.0 * vary(3), 3.0)
    clean["co2"] = BACKGROUND["co2"][0] + 22.0 * night**2 + 2.0 * vary(2)
    stack = np.exp(-0.5 * ((hour - 11.0) / 1.5) ** 2)  # reaches the ground when the morning inversion breaks up
    clean["so2"] += 12.0 * stack * np.exp(0.6 * vary(0.3)) + 20.0 * np.maximum(vary(0.6) - 1.2, 0.0)
    clean |= {"pm1": 0.68 * clean["pm25"], "pm10": 1.35 * clean["pm25"], "angstrom": np.ones(count)}
    rush = sum(strength * np.exp(-0.5 * ((hour - at) / width) ** 2) for at, width, strength in RUSH_HOURS)
    nox = 45.0 * (0.12 + rush) * (1 + night) * np.exp(0.6 * vary(0.3) + 0.5 * vary(0.02))
    haze = 1.2 * np.maximum(vary(1.5) - 0.3, 0.0) * np.exp(0.4 * vary(0.1))
    old = np.full(count, HAZE_FLAMING)
    species = smoky(_with_traffic(clean, nox), carbon=haze, flaming=old, age_s=np.full(count, HAZE_AGE_S))
    air = Air(
        wind=0.0, drift_x=still, drift_y=still, meander=still, heave=still, temperature=temperature,
        vapour=saturation_hpa(np.array(plan.temperature_c)) * plan.humidity_pct / 100 * moist,
        pressure=955.0 + 4.0 * vary(12), background=clean, dt_s=DT_S,
    )  # fmt: skip
    return air, Smoke(species, species, still, old, np.empty(0))


def _local_hour(plan: FlightPlan, count: int) -> Array:
    midnight = (plan.start + np.timedelta64(UTC_OFFSET_MIN, "m")).astype("datetime64[D]")
    since = (plan.start + np.timedelta64(UTC_OFFSET_MIN, "m") - midnight) / np.timedelta64(1, "s")
    return np.asarray((since + np.arange(count) * DT_S) / HOUR_S % 24.0)


def _daily(hour: Array, highest: float) -> Array:
    """Daily cycle from −1 to 1 with its maximum at the local hour `highest`."""
    return np.asarray(np.cos(2 * np.pi * (hour - highest) / 24.0), dtype=np.float64)


def _with_traffic(clean: Species, nox: Array) -> Species:
    """Add exhaust with `nox` [ppb] to clean air: its NO removes ozone within a minute."""
    no = nox * NO_SHARE[1]
    titrated = np.minimum(clean["o3"] - titrate(no, clean["o3"], age_s=np.full(len(nox), EXHAUST_AGE_S)), no)
    return clean | {
        "no": clean["no"] + no - titrated,
        "no2": clean["no2"] + nox - no + titrated,
        "o3": clean["o3"] - titrated,
        "co": clean["co"] + CO_PER_NOX * nox,
        "co2": clean["co2"] + nox / NOX_PER_CO2,
        "so2": clean["so2"] + 0.01 * nox,
    }
