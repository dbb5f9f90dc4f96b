"""Smoke at the aircraft: a few burning places, meandering plumes, intermittent filaments, emission by combustion phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from pc2dae.simulate.atmosphere import Air
from pc2dae.simulate.path import Path
from pc2dae.simulate.plan import FlightPlan
from pc2dae.simulate.processes import RATE_HZ, Array, swell, wander

# Emission per ppm of burnt carbon (CO + CO2), smouldering and flaming; from emission factors per kg of grass and
# boreal fuel (Akagi et al. 2011, doi:10.5194/acp-11-4039-2011): 0.3 / 0.8 g BC, 18 / 8 g PM2.5, 0.8 / 3.5 g NOx as NO, 0.9 g SO2.
EMISSION = {
    "bc": (300.0, 850.0),  # ng m-3 per ppm
    "pm25": (19.0, 8.5),  # ug m-3 per ppm
    "nox": (0.6, 2.8),  # ppb per ppm
    "so2": (0.40, 0.30),
}
COMBUSTION_EFFICIENCY = (0.82, 0.955)  # CO2/(CO + CO2)
NO_SHARE = (0.40, 0.85)  # of NOx, at the fire
ANGSTROM = (1.45, 1.08)  # absorption exponent; brown carbon absorbs in the ultraviolet and comes from smouldering
TITRATION = 4.4e-4  # NO + O3 → NO2 + O2 [ppb-1 s-1 at 298 K]
DETECTABLE_PM = 7.5  # ug m-3


@dataclass(frozen=True)
class Smoke:
    """Air with smoke in it, at the aircraft: species → concentration at every fine time step."""

    species: dict[
        str, Array
    ]  # bc [ng m-3, 880 nm], angstrom, no no2 o3 so2 co [ppb], co2 [ppm], pm1 pm25 pm10 [ug m-3]
    background: dict[str, Array]
    carbon: Array  # excess CO + CO2 [ppm]
    flaming: Array  # share of flaming combustion where there is smoke
    filament_edge_m: Array  # 10–90 % widths of the sharp edges met [m]


def smoke(plan: FlightPlan, path: Path, air: Air) -> Smoke:
    """The smoke of a few burning places met along `path`.

    The spread of the plumes is chosen so that the aircraft spends the planned share of its time in detectable smoke,
    and the strength of the fire so that the thickest second holds the planned black carbon.
    """
    rng = plan.rng(2)
    count = len(path.x)
    places = [
        (rng.uniform(-15, 5), rng.uniform(-30, 30), rng.uniform(0.4, 1.0)) for _ in range(int(rng.integers(2, 5)))
    ]
    peak_bc = float(np.exp(rng.uniform(np.log(50_000), np.log(140_000))))
    rise = rng.uniform(0.6, 1.3)
    phases = [_phase(rng, count) for _ in places]
    strengths = [np.exp(0.45 * swell(rng, count, tau_s=35)) * q for _, _, q in places]
    texture, fine = _turbulence(rng, path, air)

    def met(spread: float) -> tuple[Array, Array, Array]:
        total, weighted, aged = np.zeros(count), np.zeros(count), np.zeros(count)
        for (px, py, _), phase, strength in zip(places, phases, strengths, strict=True):
            part, age = _plume(path, air, px, py, spread=spread, rise=rise)
            part = part * _released(strength, age)
            total += part
            weighted += part * _released(phase, age)
            aged += part * age
        inside = np.maximum(total, 1e-30)
        core = total / total.max()
        # Filaments: near the axis most air is smoky, at the fringe only the odd one, each with a sharp edge.
        filled = expit((texture + 1.1 + 0.38 * np.log(core + 1e-9)) / 0.10)
        carbon = total * filled * np.exp(0.55 * fine)
        flame = weighted / inside
        peak = float(np.max(_mix("bc", flame) * carbon))
        return carbon * (peak_bc / max(peak, 1e-30)), flame, aged / inside

    def share(spread: float) -> float:
        carbon, flame, _ = met(spread)
        return float(np.mean(air.background["pm25"] + _mix("pm25", flame) * carbon > DETECTABLE_PM))

    low, high = 0.15, 6.0
    for _ in range(9):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if share(middle) < plan.smoke_share else (low, middle)
    carbon, flame, age = met(float(np.sqrt(low * high)))
    return Smoke(
        _compose(air, carbon, flame, age),
        _compose(air, carbon * 0, flame * 0, age),
        carbon,
        flame,
        _edges(carbon, path, air),
    )


def titrate(no: Array, o3: Array, *, age_s: Array) -> Array:
    """O3 left [ppb] after NO + O3 → NO2 + O2 for `age_s`: the second-order law D·O3/(NO·exp(k·D·t) − O3), D = NO − O3."""
    excess = np.where(np.abs(no - o3) < 1e-3, 1e-3, no - o3)
    grown = np.exp(np.clip(TITRATION * excess * age_s, -50, 50))
    return np.asarray(np.clip(excess * o3 / (no * grown - o3), 0.0, o3), dtype=np.float64)


def _mix(species: str, flame: Array) -> Array:
    smoulder, flaming = EMISSION[species]
    return np.asarray(smoulder + (flaming - smoulder) * flame, dtype=np.float64)


def _compose(air: Air, carbon: Array, flame: Array, age: Array) -> dict[str, Array]:
    """Species from burnt carbon [ppm], its flaming share and its age [s]."""
    clean = air.background
    efficiency = COMBUSTION_EFFICIENCY[0] + (COMBUSTION_EFFICIENCY[1] - COMBUSTION_EFFICIENCY[0]) * flame
    nox = _mix("nox", flame) * carbon
    no = clean["no"] + nox * (NO_SHARE[0] + (NO_SHARE[1] - NO_SHARE[0]) * flame)
    emitted_no2 = nox * (1 - NO_SHARE[0] - (NO_SHARE[1] - NO_SHARE[0]) * flame)
    o3 = titrate(nox + 1e-9, clean["o3"], age_s=age)
    eaten = np.minimum(clean["o3"] - o3, no)
    bc = clean["bc"] + _mix("bc", flame) * carbon
    pm25 = clean["pm25"] + _mix("pm25", flame) * carbon
    return {
        "bc": bc,
        "angstrom": (1.0 * clean["bc"] + (ANGSTROM[0] + (ANGSTROM[1] - ANGSTROM[0]) * flame) * (bc - clean["bc"])) / bc,
        "no": no - eaten,
        "no2": clean["no2"] + emitted_no2 + eaten,
        "o3": clean["o3"] - eaten,
        "so2": clean["so2"] + _mix("so2", flame) * carbon,
        "co": clean["co"] + 1000.0 * carbon * (1 - efficiency),
        "co2": clean["co2"] + carbon * efficiency,
        "pm1": 0.68 * clean["pm25"] + 0.86 * (pm25 - clean["pm25"]),
        "pm25": pm25,
        "pm10": 1.35 * clean["pm25"] + 1.08 * (pm25 - clean["pm25"]),
    }


def _phase(rng: np.random.Generator, count: int) -> Array:
    """Flaming share of one burning place: flares up, then smoulders."""
    decline = np.linspace(rng.uniform(0.2, 1.6), rng.uniform(-1.8, 0.2), count)
    return np.asarray(expit(1.2 * (decline + 1.3 * swell(rng, count, tau_s=90))), dtype=np.float64)


def _released(source: Array, age: Array) -> Array:
    """What the fire gave off `age` seconds before it is met."""
    now = np.arange(len(source), dtype=np.float64)
    return np.interp(now - age * RATE_HZ, now, source)


def _plume(path: Path, air: Air, px: float, py: float, *, spread: float, rise: float) -> tuple[Array, Array]:
    """Relative concentration and age [s] of one meandering Gaussian plume from (px, py) at the aircraft."""
    downwind = np.maximum(path.x - px, 1.0)
    age = downwind / air.wind
    swing = np.interp(np.arange(len(age)) - 0.5 * age * RATE_HZ, np.arange(len(age)), air.meander)
    axis_y = py + downwind * np.tan(swing)
    axis_z = 3.0 + 3.2 * rise * downwind ** (2 / 3) / air.wind * (1 + air.heave)
    wide = spread * (3.0 + 0.11 * downwind)
    tall = spread * (2.5 + 0.09 * downwind)
    upwind = expit((path.x - px) / 2.0)  # nothing but a little backflow on the windward side
    shape = np.exp(-0.5 * ((path.y - axis_y) / wide) ** 2) * (
        np.exp(-0.5 * ((path.z - axis_z) / tall) ** 2) + np.exp(-0.5 * ((path.z + axis_z) / tall) ** 2)
    )
    return shape * upwind / (wide * tall), age


def _turbulence(rng: np.random.Generator, path: Path, air: Air, *, modes: int = 72) -> tuple[Array, Array]:
    """Two unit-variance samples of a frozen −5/3 field blown past the aircraft: for the filaments and for their inside."""
    x, y, z = path.x - air.drift_x, path.y - air.drift_y, 1.4 * path.z
    fields = []
    for smallest in (7.0, 2.5):  # eddy sizes [m]
        k = 2 * np.pi / np.exp(rng.uniform(np.log(smallest), np.log(60.0), modes))
        weight = k ** (-1 / 3)
        direction = rng.standard_normal((3, modes))
        direction *= k / np.linalg.norm(direction, axis=0)
        offset = rng.uniform(0, 2 * np.pi, modes)
        field = np.zeros(len(x))
        for (kx, ky, kz), w, phi in zip(direction.T, weight, offset, strict=True):
            field += w * np.cos(kx * x + ky * y + kz * z + phi)
        fields.append(field * np.sqrt(2 / np.sum(weight**2)))
    # Eddies also live and die: a parked aircraft in still air sees change.
    return fields[0] * 0.95 + 0.3 * wander(rng, len(x), tau_s=20), fields[1]


def _edges(carbon: Array, path: Path, air: Air) -> Array:
    """10–90 % widths [m] of strong rises and falls, from the speed of the air past the aircraft."""
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
