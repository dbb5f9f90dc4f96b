"""Simulated co-location: the payload of a campaign beside the reference analysers of a street station."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from pc2dae.errors import Pc2daeError
from pc2dae.simulate.campaign import SimulatedFlight
from pc2dae.simulate.chemistry import Species
from pc2dae.simulate.ground import DAY_S, record
from pc2dae.simulate.plan import COLOCATION, FlightPlan, plan_campaign
from pc2dae.simulate.street import street_air

ROW_S = 10
GAP_DAYS = 1.0  # between the co-location and the first flight

# Reference analysers: standard deviation of one-minute noise and of the error of the zero [ppb; CO2 ppm].
NOISE = {"co": 6.0, "no": 0.4, "no2": 0.5, "o3": 0.5, "so2": 0.5, "co2": 0.3}
ZERO = {"co": 3.0, "no": 0.2, "no2": 0.3, "o3": 0.4, "so2": 0.2, "co2": 0.3}
SPAN_ERROR = 0.01  # largest relative error
ZERO_CHECK_MIN = 25  # daily internal check of each analyser, without data
OUTAGES_PER_DAY = 2.0


def simulate_colocation(seed: int, days: float = 1.0, *, perfect_sheets: bool = False) -> SimulatedFlight:
    """Simulate the payload of campaign `seed` beside a reference, in memory; `tables["reference"]` is the reference."""
    return colocate(plan_campaign(seed, perfect_sheets=perfect_sheets)[0], days)


def colocate(first: FlightPlan, days: float) -> SimulatedFlight:
    """Simulate the gas and weather logs of `days` that end one day before the flight `first`, and a reference."""
    if not 0.25 <= days <= 7:
        raise Pc2daeError(f"a co-location of {days:g} days cannot be simulated", hint="--colocation takes 0.25 to 7")
    samples = round(days * DAY_S / 60) * 60
    begin = first.start - np.timedelta64(samples + round(GAP_DAYS * DAY_S), "s")
    plan = FlightPlan(
        seed=first.seed, number=COLOCATION, samples=samples, start=begin, temperature_c=25.0, humidity_pct=42.0,
        smoke_share=0.0, gas_negative=0.0, perfect_sheets=first.perfect_sheets, row_s=ROW_S,
    )  # fmt: skip
    air, ambient = street_air(plan)
    streams, truth = record(plan, air, ambient, gap_days=GAP_DAYS)
    table, facts = _reference(plan, ambient.species)
    truth = truth.isel(time=slice(None, None, ROW_S)).assign_attrs(truth.attrs | facts)
    return SimulatedFlight(plan, streams, truth, {"reference": table})


def _reference(plan: FlightPlan, species: Species) -> tuple[pd.DataFrame, dict[str, str | float]]:
    """One-minute means of the analysers, stamped with the start of each minute by a clock that is minutes off."""
    rng = plan.rng(43)
    offset_s = int(rng.choice([-1, 1]) * rng.integers(90, 300))
    shown = plan.start.astype("datetime64[s]") + np.timedelta64(offset_s, "s")
    skipped = -int(shown.astype(np.int64)) % 60  # seconds to the first whole minute of its clock
    minutes = (plan.samples - skipped) // 60
    stamps = shown + np.timedelta64(skipped, "s") + np.arange(minutes) * np.timedelta64(60, "s")
    table = pd.DataFrame({"time": [f"{stamp}Z" for stamp in np.datetime_as_string(stamps, unit="s")]})
    spans = {}
    for gas in NOISE:
        means = species[gas][skipped : skipped + 60 * minutes].reshape(minutes, 60).mean(axis=1)
        spans[gas] = float(rng.uniform(1 - SPAN_ERROR, 1 + SPAN_ERROR))
        read = spans[gas] * means + rng.normal(0, ZERO[gas]) + rng.normal(0, NOISE[gas], minutes)
        checked = (np.arange(minutes) - int(rng.integers(1440))) % 1440 < ZERO_CHECK_MIN
        table[f"{gas}_{'ppm' if gas == 'co2' else 'ppb'}"] = np.where(checked, np.nan, read.round(2))
    kept = np.ones(minutes, dtype=bool)
    for _ in range(rng.poisson(OUTAGES_PER_DAY * plan.samples / DAY_S)):
        start = int(rng.integers(minutes))
        kept[start : start + int(rng.integers(3, 40))] = False
    facts: dict[str, str | float] = {"reference_clock_offset_s": offset_s, "reference_span": json.dumps(spans)}
    return table[kept].reset_index(drop=True), facts
