"""Simulated records on the ground: the payload of a campaign some time before its first flight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from pc2dae.flight.stream import Stream
from pc2dae.simulate.atmosphere import Air
from pc2dae.simulate.electrochemical import fly_boards
from pc2dae.simulate.instruments import fly_bme280, fly_li830, fly_scd30
from pc2dae.simulate.path import Path
from pc2dae.simulate.payload import DAILY_ZERO, ZERO_PPB, Ageing, fixed_zeros, make_cells
from pc2dae.simulate.plan import FlightPlan
from pc2dae.simulate.plumes import Smoke
from pc2dae.simulate.processes import wander
from pc2dae.simulate.truth import make_truth

DAY_S = 86_400
ZERO_DAYS = 5.0  # correlation time of the day-to-day part of the zeros
GAIN_WALK = 0.005  # relative, after one day; grows with its square root to 10 % in a year (limit of the CO-B4 sheet)
CO2_ZERO_PPM = {"scd30": 8.0, "li830": 1.0}  # day-to-day part, as between flights


def record(plan: FlightPlan, air: Air, ambient: Smoke, *, gap_days: float) -> tuple[list[Stream], xr.Dataset]:
    """Logs of the gas and weather sensors that end `gap_days` before the first flight, and their truth.

    Boards, sheets, cross-sensitivities and responses to temperature and humidity are those of the flights. Gains follow
    a random walk that ends at the gains of the flights; zeros vary from day to day as much as between flights.
    """
    ageing = None if plan.perfect_sheets else _ageing(plan, air, gap_days)
    records = [
        *fly_boards(plan, air, ambient, ageing),
        fly_scd30(plan, air, _drifting(plan, air, ambient, "scd30")),
        fly_li830(plan, air, _drifting(plan, air, ambient, "li830")),
        fly_bme280(plan, air),
    ]
    at_rest = Path(*(np.zeros(len(air.temperature)) for _ in range(5)))
    return [one.stream for one in records], make_truth(plan, at_rest, air, ambient, records)


def _ageing(plan: FlightPlan, air: Air, gap_days: float) -> dict[str, Ageing]:
    """Gain and zero of each cell over time."""
    rng = plan.rng(41)
    count = len(air.temperature)
    cells = make_cells(plan.seed)
    fixed = fixed_zeros(plan.seed, cells)
    out = {}
    for name, cell in cells.items():
        steps = GAIN_WALK * rng.normal(0, np.sqrt(air.dt_s / DAY_S), count)
        since_flight = GAIN_WALK * rng.normal(0, np.sqrt(gap_days)) + np.cumsum(steps)[::-1]
        zero = fixed[name] + wander(rng, count, tau_s=ZERO_DAYS * DAY_S, sigma=DAILY_ZERO, dt_s=air.dt_s)
        out[name] = Ageing(gain=np.exp(since_flight), zero_ppb=ZERO_PPB[cell.gas] * zero)
    return out


def _drifting(plan: FlightPlan, air: Air, ambient: Smoke, instrument: str) -> Smoke:
    """Add the drift of a CO2 instrument's zero since the start to the air that it measures."""
    co2, sigma = ambient.species["co2"], CO2_ZERO_PPM[instrument]
    zero = wander(plan.rng(42, *instrument.encode()), len(co2), tau_s=ZERO_DAYS * DAY_S, sigma=sigma, dt_s=air.dt_s)
    return replace(ambient, species=ambient.species | {"co2": co2 + zero - zero[0]})
