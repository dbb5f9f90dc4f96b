"""Conversion of positions relative to the fire to latitude and longitude."""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array
from pc2dae.simulate.path import Path
from pc2dae.simulate.plan import FlightPlan

FIRE = (53.2131, -105.7372)  # near Prince Albert, Saskatchewan
METRES_PER_DEGREE = 111_195.0


def latitude_longitude(path: Path, plan: FlightPlan) -> tuple[Array, Array]:
    """Latitude and longitude of the aircraft [degrees], rotated by the wind direction of the day."""
    rng = plan.rng(3)
    towards = rng.uniform(0, 2 * np.pi)
    fire = FIRE[0] + rng.normal(0, 0.004), FIRE[1] + rng.normal(0, 0.006)
    north = path.x * np.cos(towards) - path.y * np.sin(towards)
    east = path.x * np.sin(towards) + path.y * np.cos(towards)
    return fire[0] + north / METRES_PER_DEGREE, fire[1] + east / (METRES_PER_DEGREE * np.cos(np.radians(fire[0])))
