"""Simulated flight path: parked, climbing, hovering and crossing the plume, with the paper's speed statistics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pc2dae.arrays import Array
from pc2dae.simulate.plan import FlightPlan
from pc2dae.simulate.processes import DT_S, RATE_HZ, swell

# Paper: 36.9 % of the time below 0.1 m/s, median 0.21, mean 1.78, maximum 8.6 m/s.
STILL_SHARE = 0.372  # parked or in position hold
DRIFT_SHARE = 0.185  # drifting in hover; contains the median speed
MEAN_SPEED = 1.795  # target; turns and truncation reduce it by 1 %
MAX_SPEED = 8.6  # speed limit of the autopilot
ACCELERATION = 1.6  # m s-2
CLIMB = 2.0  # m s-1
FIRE = (53.2131, -105.7372)  # near Prince Albert, Saskatchewan
METRES_PER_DEGREE = 111_195.0


@dataclass(frozen=True)
class Path:
    """Position at each fine time step relative to the fire: x downwind, y crosswind, z above ground."""

    x: Array  # [m]
    y: Array
    z: Array
    vx: Array  # [m s-1]
    vy: Array

    @property
    def speed(self) -> Array:
        """Horizontal speed over ground [m s-1]."""
        return np.hypot(self.vx, self.vy)


def fly(rng: np.random.Generator, samples: int) -> Path:
    """Simulate a flight of `samples` seconds from home through the smoke and back."""
    still = round(STILL_SHARE * samples)
    drift = round(DRIFT_SHARE * samples)
    moving = samples - still - drift
    legs = _legs(rng, moving, MEAN_SPEED * samples - _DRIFT_MEAN * drift - 0.045 * still)
    parked = max(20, round(0.09 * samples)), max(15, round(0.04 * samples))
    hovers = _split(rng, still - sum(parked), shortest=15, longest=110, kind="still") + _split(
        rng, drift, shortest=15, longest=90, kind="drift"
    )
    rng.shuffle(hovers)
    order = _interleave(rng, hovers, legs[:-1])
    # The aircraft climbs in the first hover and descends in the last.
    segments = [("parked", parked[0], 0.0), *order, legs[-1], hovers[-1], ("parked", parked[1], 0.0)]
    return _integrate(rng, segments, samples)


_DRIFT_QUANTILES = np.array([0.0, 0.35, 0.72, 0.93, 1.0]), np.array([0.101, 0.15, 0.213, 0.32, 0.45])
_DRIFT_MEAN = float(np.trapezoid(np.interp(np.linspace(0, 1, 999), *_DRIFT_QUANTILES), np.linspace(0, 1, 999)))

PathSegment = tuple[str, int, float]  # kind, seconds, cruise speed


def _legs(rng: np.random.Generator, seconds: int, distance: float) -> list[PathSegment]:
    """Legs of total duration `seconds` and length `distance` [m]; one reaches the speed limit, the last leads home."""
    home = int(np.clip(seconds // 3, 20, 45))  # sufficient to return from any position
    durations: list[int] = []
    while (left := seconds - home - sum(durations)) > 0:
        leg = int(rng.integers(14, 60))
        durations.append(left if left - leg < 14 else leg)
    durations.append(home)
    speeds = np.append(rng.lognormal(np.log(3.6), 0.45, len(durations) - 1), 4.0)
    fastest = int(np.argmax(np.array(durations[:-1])))
    low, high = 0.05, 6.0
    for _ in range(40):
        scale = 0.5 * (low + high)
        cruise = _limited(speeds * scale, durations, fastest)
        low, high = (scale, high) if _covered(cruise, durations) < distance else (low, scale)
    return [("leg", t, float(v)) for t, v in zip(durations, cruise, strict=True)]


def _limited(speeds: Array, durations: list[int], fastest: int) -> Array:
    reachable = 0.48 * ACCELERATION * np.array(durations)
    cruise = np.minimum(np.minimum(speeds, MAX_SPEED), reachable)
    cruise[fastest] = min(MAX_SPEED, reachable[fastest])
    return np.asarray(np.maximum(cruise, 0.4), dtype=np.float64)


def _covered(cruise: Array, durations: list[int]) -> float:
    return float(np.sum(cruise * (np.array(durations) - cruise / ACCELERATION)))


def _split(rng: np.random.Generator, seconds: int, *, shortest: int, longest: int, kind: str) -> list[PathSegment]:
    pieces: list[int] = []
    while (left := seconds - sum(pieces)) > 0:
        piece = int(rng.integers(shortest, longest))
        pieces.append(left if left - piece < shortest else piece)
    return [(kind, piece, 0.0) for piece in pieces]


def _interleave(rng: np.random.Generator, hovers: list[PathSegment], legs: list[PathSegment]) -> list[PathSegment]:
    """All hovers except the last, each followed by a random number of legs."""
    places = np.sort(rng.integers(0, len(hovers) - 1, len(legs))) if len(hovers) > 1 else np.zeros(len(legs), int)
    order: list[PathSegment] = []
    for i, hover in enumerate(hovers[:-1]):
        order.append(hover)
        order.extend(leg for leg, place in zip(legs, places, strict=True) if place == i)
    return order


def _trapezoid(seconds: int, cruise: float) -> Array:
    t = (np.arange(seconds * RATE_HZ) + 0.5) * DT_S
    return np.asarray(np.minimum(cruise, ACCELERATION * np.minimum(t, seconds - t)), dtype=np.float64)


def _integrate(rng: np.random.Generator, segments: list[PathSegment], samples: int) -> Path:
    home = np.array([rng.uniform(-60, -20), rng.choice([-1, 1]) * rng.uniform(50, 90)])
    position = home.copy()
    vx, vy, level = [], [], []
    height = 0.0
    last_leg = max(i for i, (kind, _, _) in enumerate(segments) if kind == "leg")
    for i, (kind, seconds, cruise) in enumerate(segments):
        count = seconds * RATE_HZ
        if kind == "leg":
            speed = _trapezoid(seconds, cruise) * (1 - 0.02 * np.abs(swell(rng, count, tau_s=3)))
            goal = home if i == last_leg else _goal(rng, position, float(speed.sum()) * DT_S)
            if i == last_leg:
                stretch = float(np.hypot(*(goal - position))) / max(float(speed.sum()) * DT_S, 1e-9)
                speed = np.minimum(speed * max(stretch, 1.0), MAX_SPEED)
            bearing = _arc(goal - position, speed) + 0.03 * swell(rng, count, tau_s=4)
            dx, dy = speed * np.cos(bearing), speed * np.sin(bearing)
        else:
            speed, bearing_series = _hover(rng, count, kind)
            dx, dy = speed * np.cos(bearing_series), speed * np.sin(bearing_series)
        position = position + np.array([dx.sum(), dy.sum()]) * DT_S
        if kind == "parked" or i == len(segments) - 2:
            height = 0.0
        elif i == last_leg:
            height = 12.0
        elif rng.random() < 0.55 or height == 0.0:
            height = float(rng.uniform(10, 65))
        vx.append(dx)
        vy.append(dy)
        level.append(np.full(count, height))
    across = np.concatenate(vx), np.concatenate(vy)
    z = _climb(np.concatenate(level))
    z = z + np.clip(z / 5, 0, 1) * 0.25 * swell(rng, len(z), tau_s=3)
    x = home[0] + np.cumsum(across[0]) * DT_S
    y = home[1] + np.cumsum(across[1]) * DT_S
    keep = slice(0, samples * RATE_HZ)
    return Path(x[keep], y[keep], np.maximum(z[keep], 0.0), across[0][keep], across[1][keep])


def _arc(way: Array, speed: Array) -> Array:
    """Bearing [rad] along a circular arc with chord `way` [m]; straight if the leg is barely long enough."""
    travelled = np.cumsum(speed) * DT_S
    ratio = float(np.hypot(*way)) / max(float(travelled[-1]), 1e-9)
    turn = 0.0
    if ratio < 0.97:  # chord-to-arc ratio of a circle: sin(turn/2)/(turn/2)
        low, high = 0.0, 1.9 * np.pi
        for _ in range(30):
            turn = 0.5 * (low + high)
            low, high = (turn, high) if np.sinc(turn / (2 * np.pi)) > ratio else (low, turn)
    return np.asarray(
        np.arctan2(way[1], way[0]) + turn * (travelled / max(travelled[-1], 1e-9) - 0.5), dtype=np.float64
    )


def _goal(rng: np.random.Generator, position: Array, reach: float) -> Array:
    """End point of a leg of length `reach` [m] downwind of the fire, preferably across the plume."""
    places = np.column_stack([rng.uniform(20, 200, 60), rng.uniform(-95, 95, 60)])
    misses = np.abs(np.hypot(*(places - position).T) - reach)
    crosses = places[:, 1] * position[1] < 0
    return np.asarray(places[np.argmin(misses - 12.0 * crosses)], dtype=np.float64)


def _hover(rng: np.random.Generator, count: int, kind: str) -> tuple[Array, Array]:
    """Speed with a prescribed distribution, and a varying bearing that keeps the aircraft in place."""
    if kind == "parked":
        return np.zeros(count), np.zeros(count)
    quantile = np.argsort(np.argsort(swell(rng, count, tau_s=4))) / count
    speed = np.interp(quantile, *_DRIFT_QUANTILES) if kind == "drift" else 0.012 + 0.068 * quantile
    bearing = rng.uniform(0, 2 * np.pi) + np.cumsum(0.7 * swell(rng, count, tau_s=6)) * DT_S
    return speed, bearing


def _climb(level: Array) -> Array:
    """Height [m] that follows the target `level` smoothly, limited by the climb rate."""
    step = CLIMB * DT_S
    z = np.empty_like(level)
    now = 0.0
    for i, wanted in enumerate(level.tolist()):
        now += min(step, max(-step, 0.025 * (wanted - now)))
        z[i] = now
    return z


def latitude_longitude(path: Path, plan: FlightPlan) -> tuple[Array, Array]:
    """Latitude and longitude of the aircraft [degrees], rotated by the wind direction of the day."""
    rng = plan.rng(3)
    towards = rng.uniform(0, 2 * np.pi)
    fire = FIRE[0] + rng.normal(0, 0.004), FIRE[1] + rng.normal(0, 0.006)
    north = path.x * np.cos(towards) - path.y * np.sin(towards)
    east = path.x * np.sin(towards) + path.y * np.cos(towards)
    return fire[0] + north / METRES_PER_DEGREE, fire[1] + east / (METRES_PER_DEGREE * np.cos(np.radians(fire[0])))
