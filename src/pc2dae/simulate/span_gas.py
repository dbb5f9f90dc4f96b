"""Simulated span gas: the payload of a campaign breathes zero air and known gases in turn."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pc2dae.simulate.atmosphere import Air, saturation_hpa
from pc2dae.simulate.campaign import SimulatedFlight
from pc2dae.simulate.ground import DAY_S, record
from pc2dae.simulate.plan import SPAN_GAS, FlightPlan, plan_campaign
from pc2dae.simulate.plumes import Smoke
from pc2dae.simulate.processes import DT_S, RATE_HZ, lagged, swell
from pc2dae.simulate.zero_checks import stamp
from pc2dae.suite import load_suite

# Gas and level of each plateau [ppb; CO2 ppm]; None is zero air from a generator that does not remove CO2.
PLATEAUS = (
    None, ("co", 2_000.0), ("co", 10_000.0), ("no", 500.0), ("no2", 200.0), ("o3", 150.0), ("so2", 300.0),
    ("co2", 400.0), ("co2", 1_000.0), ("co2", 2_000.0), None,
)  # fmt: skip
PLATEAU_S = 240
RISE_S = 120  # left out: six time constants of the slowest sensor (SCD30)
MARGIN_S = 10  # left out at the end, for clocks
FLUSH_T90_S = 5.0  # of the gas in the flow chamber
CYLINDER_UNCERTAINTY = 0.02  # relative, standard
ZERO_AIR_UNCERTAINTY_PPB = 0.5
GAP_DAYS = 0.5  # before the first flight
TRACE_GASES = ("no", "no2", "o3", "so2", "co")


def simulate_span_gas(seed: int, *, perfect_sheets: bool = False) -> SimulatedFlight:
    """Simulate the span gas sequence of campaign `seed` in memory, with its contents in `tables["intervals"]`."""
    return breathe_span_gas(plan_campaign(seed, perfect_sheets=perfect_sheets)[0])


def breathe_span_gas(first: FlightPlan) -> SimulatedFlight:
    """Simulate the gas and weather logs of a span gas sequence half a day before the flight `first`."""
    samples = PLATEAU_S * len(PLATEAUS)
    plan = FlightPlan(
        seed=first.seed, number=SPAN_GAS, samples=samples,
        start=first.start - np.timedelta64(samples + round(GAP_DAYS * DAY_S), "s"), temperature_c=22.0,
        humidity_pct=45.0, smoke_share=0.0, gas_negative=0.0, perfect_sheets=first.perfect_sheets,
    )  # fmt: skip
    gas = _gas(plan)
    streams, truth = record(plan, _room(plan, gas), gas, gap_days=GAP_DAYS)
    return SimulatedFlight(plan, streams, truth, {"intervals": _intervals(plan)})


def _gas(plan: FlightPlan) -> Smoke:
    """Gas in the flow chamber: the error of a cylinder is the same at all of its levels."""
    rng = plan.rng(44)
    rest = np.abs(rng.normal(0, ZERO_AIR_UNCERTAINTY_PPB, len(TRACE_GASES)))
    levels = {g: np.full(len(PLATEAUS), r) for g, r in zip(TRACE_GASES, rest, strict=True)}
    levels["co2"] = np.full(len(PLATEAUS), 420.0)
    true = {g: 1 + rng.normal(0, CYLINDER_UNCERTAINTY) for g in levels}
    for i, plateau in enumerate(PLATEAUS):
        if plateau is not None:
            levels[plateau[0]][i] = plateau[1] * true[plateau[0]]
    species = {g: lagged(np.repeat(v, PLATEAU_S * RATE_HZ), t90_s=FLUSH_T90_S) for g, v in levels.items()}
    still = np.zeros(plan.samples * RATE_HZ)
    return Smoke(species, species, still, still, np.empty(0))


def _room(plan: FlightPlan, gas: Smoke) -> Air:
    """Humidified gas at room temperature."""
    rng = plan.rng(1)
    still = np.zeros(plan.samples * RATE_HZ)
    return Air(
        wind=0.0, drift_x=still, drift_y=still, meander=still, heave=still,
        temperature=plan.temperature_c + 0.3 * swell(rng, len(still), tau_s=600),
        vapour=saturation_hpa(np.array(plan.temperature_c)) * plan.humidity_pct / 100 + still,
        pressure=955.0 + 0.1 * swell(rng, len(still), tau_s=600), background=gas.background, dt_s=DT_S,
    )  # fmt: skip


def _intervals(plan: FlightPlan) -> pd.DataFrame:
    """Nominal contents of each plateau without its rise: start, end (UTC), channel, value and standard uncertainty."""
    channels = load_suite("black-kite").names
    rows = []
    for i, plateau in enumerate(PLATEAUS):
        period = stamp(plan, i * PLATEAU_S + RISE_S), stamp(plan, (i + 1) * PLATEAU_S - MARGIN_S)
        for channel in channels:
            gas = channel.split("_")[0]
            if plateau is None and gas in TRACE_GASES:
                rows.append((*period, channel, 0.0, ZERO_AIR_UNCERTAINTY_PPB))
            elif plateau is not None and gas == plateau[0]:
                rows.append((*period, channel, plateau[1], CYLINDER_UNCERTAINTY * plateau[1]))
    return pd.DataFrame(rows, columns=["start", "end", "channel", "value", "uncertainty"])
