"""Planning of a campaign: duration, date, weather and smoke share of each flight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pc2dae.arrays import Array
from pc2dae.errors import Pc2daeError

PAPER_FLIGHTS = 5
PAPER_SAMPLES = 7_894
UTC_OFFSET_MIN = -360  # Saskatchewan, no daylight saving time

PM_ABOVE_DETECTION = 0.332  # paper: 66.8 % below
ZERO_CHECK_S = 180  # parked in clean air before take-off and after landing
COLOCATION, SPAN_GAS = 1_000_000, 1_000_001  # numbers of records on the ground, beyond those of flights
ON_THE_GROUND = {COLOCATION: "colocation", SPAN_GAS: "span_gas"}
GAS_NEGATIVE = 0.335  # share of compensated gas values below zero, inferred from the paper's tables


@dataclass(frozen=True)
class FlightPlan:
    """Parameters of one flight."""

    seed: int
    number: int  # within the campaign, from 1
    samples: int  # seconds, including zero checks
    start: np.datetime64  # UTC
    temperature_c: float  # at the ground
    humidity_pct: float
    smoke_share: float  # share of time with PM2.5 above detection
    gas_negative: float  # share of negative gas values after compensation
    perfect_sheets: bool = False
    zero_check_s: int = 0  # seconds parked in clean air at the start, and again at the end
    row_s: int | None = None  # seconds between logged rows, if not each instrument's own

    @property
    def name(self) -> str:
        """Name of the flight's folder and truth file."""
        return ON_THE_GROUND.get(self.number, f"flight_{self.number:03d}")

    def row_rate_hz(self, own: float) -> float:
        """Rows per second of an instrument that logs at `own` rate in flight."""
        return own if self.row_s is None else 1 / self.row_s

    def rng(self, *key: int) -> np.random.Generator:
        """Random generator for one part of this flight."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(self.number, *key)))


def plan_campaign(
    seed: int,
    *,
    flights: int | None = None,
    minutes: float | None = None,
    perfect_sheets: bool = False,
    zero_checks: bool = False,
) -> list[FlightPlan]:
    """Plan the flights of a campaign; by default the paper's 5 flights with 7,894 samples in total.

    Conditions are stratified over the flights, so that a campaign spans the published ranges for any seed. Zero checks
    are added before and after each flight and do not change its duration.
    """
    if flights is not None and flights < 1:
        raise Pc2daeError(f"{flights} flights cannot be simulated", hint="--flights takes 1 or more")
    if minutes is not None and not 3 <= minutes <= 240:
        raise Pc2daeError(f"a flight of {minutes:g} minutes cannot be simulated", hint="--minutes takes 3 to 240")
    if seed < 0:
        raise Pc2daeError(f"seed {seed} is negative", hint="--seed takes 0 or more")
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    count = PAPER_FLIGHTS if flights is None else flights
    weights = rng.uniform(0.85, 1.15, count)
    if minutes is None:
        edges = np.rint(
            np.concatenate([[0.0], np.cumsum(weights / weights.sum())]) * PAPER_SAMPLES * count / PAPER_FLIGHTS
        )
        samples = np.diff(edges).astype(int)
    else:
        samples = np.full(count, round(minutes * 60))
    warm = _strata(rng, count)
    moist = np.clip(1.0 - warm + rng.normal(0, 0.02, count), 0.0, 1.0)  # warm afternoons are dry
    smoke, negative = _strata(rng, count), _strata(rng, count)
    day = np.datetime64("2025-10-06T00:00:00", "s") + np.timedelta64(86_400, "s") * np.sort(rng.integers(0, 20, count))
    parked = ZERO_CHECK_S if zero_checks else 0
    hour = 16.0 + 8.0 * warm  # local 10 h to 18 h
    return [
        FlightPlan(
            seed=seed,
            number=i + 1,
            samples=int(samples[i]) + 2 * parked,
            start=np.datetime64(day[i] + np.timedelta64(int(hour[i] * 3600) + i - parked, "s"), "ns"),
            temperature_c=float(16.3 + 17.0 * warm[i]),
            humidity_pct=float(31.8 + 33.5 * moist[i]),
            smoke_share=float(PM_ABOVE_DETECTION + 0.2 * (smoke[i] - 0.5)),
            gas_negative=float(GAS_NEGATIVE + 0.12 * (negative[i] - 0.5)),
            perfect_sheets=perfect_sheets,
            zero_check_s=parked,
        )
        for i in range(count)
    ]


def _strata(rng: np.random.Generator, count: int) -> Array:
    """`count` evenly spaced values from 0 to 1 in random order; their mean is ½."""
    if count == 1:
        return rng.uniform(0.3, 0.7, 1)
    return rng.permutation(np.linspace(0.0, 1.0, count))
