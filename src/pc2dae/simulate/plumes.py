"""Simulated smoke at the aircraft: meandering plumes of several fires, intermittent filaments and ambient haze."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from pc2dae.arrays import Array
from pc2dae.simulate.atmosphere import Air
from pc2dae.simulate.chemistry import Species, emitted, smoky
from pc2dae.simulate.path import Path
from pc2dae.simulate.plan import FlightPlan
from pc2dae.simulate.processes import RATE_HZ, lagged, swell, wander

DETECTABLE_PM = 7.5  # ug m-3, seen by a PMS5003 with a t90 of 5 s
PMS_T90_S = 5.2
PLUME_SHARE = 0.55  # share of detectable smoke from fresh plumes; the rest is aged smouldering haze
HAZE_FLAMING, HAZE_AGE_S = 0.15, 600.0
CARRIED_S = 10.0  # between the smoke and the clean air of a zero check
EDGE = 0.28  # half-width of a filament edge in units of the turbulent field; gives edges of 1–10 m


@dataclass(frozen=True)
class Smoke:
    """Smoky air at the aircraft at each fine time step."""

    species: Species
    background: Species  # air without fresh plumes
    carbon: Array  # excess CO + CO2 of the plumes [ppm]
    flaming: Array  # share of flaming combustion in the plumes
    edge_m: Array  # 10–90 % widths of the encountered plume edges [m]


def smoke(plan: FlightPlan, path: Path, air: Air) -> Smoke:
    """Simulate the smoke of several fires along `path`.

    Plume spread and haze concentration are adjusted so that the aircraft spends the planned share of time in smoke that
    a particle counter detects; the fire strength is scaled to the planned maximum of black carbon.
    """
    rng = plan.rng(2)
    count = len(path.x)
    places = [(rng.uniform(-15, 5), rng.uniform(-30, 30), rng.uniform(0.4, 1.0)) for _ in range(rng.integers(2, 5))]
    peak_bc = float(np.exp(rng.uniform(np.log(60_000), np.log(140_000))))
    rise = rng.uniform(0.8, 1.6)
    phases = [_phase(rng, count) for _ in places]
    strengths = [np.exp(0.45 * swell(rng, count, tau_s=35)) * q for _, _, q in places]
    flying = slice(plan.zero_check_s * RATE_HZ, count - plan.zero_check_s * RATE_HZ)
    takeoff_s, landing_s = plan.zero_check_s, plan.samples - plan.zero_check_s
    edges = [takeoff_s - CARRIED_S, takeoff_s, landing_s, landing_s + CARRIED_S]
    present = np.interp(np.arange(count) / RATE_HZ, edges, [0.0, 1.0, 1.0, 0.0])  # zero checks are made upwind
    texture, inside = _turbulence(rng, path, air)
    haze_pattern = np.exp(1.1 * swell(rng, count, tau_s=60) + 0.3 * texture) * present

    def plumes(spread: float) -> tuple[Array, Array, Array]:
        total, weighted, aged = np.zeros(count), np.zeros(count), np.zeros(count)
        for (px, py, _), phase, strength in zip(places, phases, strengths, strict=True):
            part, age = _plume(path, air, px, py, spread=spread, rise=rise)
            part = part * _released(strength, age)
            total += part
            weighted += part * _released(phase, age)
            aged += part * age
        some = np.maximum(total, 1e-30)
        # Mostly smoke near the plume axis, isolated filaments with sharp edges at the fringe.
        filled = expit((texture + 0.9 + 0.40 * np.log(total / total.max() + 1e-9)) / EDGE)
        carbon, flaming = total * filled * np.exp(0.55 * inside) * present, weighted / some
        return carbon * (peak_bc / max(float(np.max(emitted("bc", flaming) * carbon)), 1e-30)), flaming, aged / some

    def detectable(*parts: Array) -> float:
        pm25 = lagged(air.background["pm25"] + sum(parts), t90_s=PMS_T90_S)
        return float(np.mean(pm25[flying] > DETECTABLE_PM))

    spread = _solve(lambda s: detectable(_pm25(*plumes(s)[:2])), PLUME_SHARE * plan.smoke_share, 0.15, 6.0)
    carbon, flaming, age = plumes(spread)
    fresh = _pm25(carbon, flaming)
    old = np.full(count, HAZE_FLAMING)
    haze = haze_pattern * _solve(lambda h: detectable(fresh, _pm25(haze_pattern * h, old)), plan.smoke_share, 1e-3, 1.0)
    background = smoky(air.background, carbon=haze, flaming=old, age_s=np.full(count, HAZE_AGE_S))
    species = smoky(background, carbon=carbon, flaming=flaming, age_s=age)
    return Smoke(species, background, carbon, flaming, _edges(carbon, path, air))


def _pm25(carbon: Array, flaming: Array) -> Array:
    return np.asarray(emitted("pm25", flaming) * carbon, dtype=np.float64)


def _solve(share: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Argument at which the increasing function `share` reaches `wanted`, by bisection in log space."""
    for _ in range(10):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if share(middle) < wanted else (low, middle)
    return float(np.sqrt(low * high))


def _phase(rng: np.random.Generator, count: int) -> Array:
    """Flaming share of one fire, which decreases over time from flaming to smouldering."""
    decline = np.linspace(rng.uniform(0.2, 1.6), rng.uniform(-1.8, 0.2), count)
    return np.asarray(expit(1.2 * (decline + 1.3 * swell(rng, count, tau_s=90))), dtype=np.float64)


def _released(source: Array, age: Array) -> Array:
    """Source value at emission time, `age` seconds before the encounter."""
    now = np.arange(len(source), dtype=np.float64)
    return np.interp(now - age * RATE_HZ, now, source)


def _plume(path: Path, air: Air, px: float, py: float, *, spread: float, rise: float) -> tuple[Array, Array]:
    """Relative concentration and age [s] of one meandering Gaussian plume from (px, py) at the aircraft."""
    downwind = np.maximum(path.x - px, 1.0)
    age = downwind / air.wind
    swing = np.interp(np.arange(len(age)) - 0.5 * age * RATE_HZ, np.arange(len(age)), air.meander)
    axis_y = py + downwind * np.tan(swing)
    axis_z = 3.0 + 3.2 * rise * downwind ** (2 / 3) / air.wind * (1 + air.heave)
    wide = spread * (8.0 + 0.09 * downwind)  # line source rather than point source
    tall = spread * (6.0 + 0.07 * downwind)
    upwind = expit((path.x - px) / 2.0)  # small backflow upwind of the source
    shape = np.exp(-0.5 * ((path.y - axis_y) / wide) ** 2) * (
        np.exp(-0.5 * ((path.z - axis_z) / tall) ** 2) + np.exp(-0.5 * ((path.z + axis_z) / tall) ** 2)
    )
    return shape * upwind / (wide * tall), age


def _turbulence(rng: np.random.Generator, path: Path, air: Air, *, modes: int = 72) -> tuple[Array, Array]:
    """Two unit-variance frozen turbulence fields with a −5/3 spectrum: filament structure and internal variability."""
    x, y, z = path.x - air.drift_x, path.y - air.drift_y, 1.4 * path.z
    fields = []
    for smallest in (8.0, 5.0):  # eddy sizes [m]
        k = 2 * np.pi / np.exp(rng.uniform(np.log(smallest), np.log(60.0), modes))
        weight = k ** (-1 / 3)
        direction = rng.standard_normal((3, modes))
        direction *= k / np.linalg.norm(direction, axis=0)
        offset = rng.uniform(0, 2 * np.pi, modes)
        field = np.zeros(len(x))
        for (kx, ky, kz), w, phi in zip(direction.T, weight, offset, strict=True):
            field += w * np.cos(kx * x + ky * y + kz * z + phi)
        fields.append(field * np.sqrt(2 / np.sum(weight**2)))
    # Eddies also evolve in time: a parked aircraft in still air observes variability.
    return fields[0] * 0.95 + 0.3 * wander(rng, len(x), tau_s=20), fields[1]


def _edges(carbon: Array, path: Path, air: Air) -> Array:
    """10–90 % widths [m] of strong plume edges, from the air speed relative to the aircraft."""
    window = 2 * RATE_HZ
    if len(carbon) < 4 * window:
        return np.empty(0)
    relative = np.hypot(
        np.diff(path.x - air.drift_x, prepend=path.x[0] - air.drift_x[0]),
        np.diff(path.y - air.drift_y, prepend=path.y[0]),
    )
    slope = np.abs(np.gradient(carbon)) / np.maximum(relative, 0.01)
    pieces = carbon[: len(carbon) // window * window].reshape(-1, window)
    swing = np.ptp(pieces, axis=1)
    steepest = slope[: len(carbon) // window * window].reshape(-1, window).max(axis=1)
    strong = swing > 0.05 * carbon.max()
    return np.asarray(0.8 * swing[strong] / steepest[strong], dtype=np.float64)
