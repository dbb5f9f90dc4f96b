"""Plume survey of a flight: encounters of each channel, emission ratios of the flight and of each encounter.

All results use the unbounded estimate, because a lower bound biases clean air, and hence every integral, upward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pc2dae.flags import SATURATED
from pc2dae.flight.schema import check_flight
from pc2dae.plumes.baselines import RUNNING, Period
from pc2dae.plumes.detection import THRESHOLD
from pc2dae.plumes.emission import EMITTED, Fuel, emission_factors, missing_factors
from pc2dae.plumes.encounters import find_encounters
from pc2dae.plumes.excess import Excess, add_up
from pc2dae.plumes.flight_signals import flight_signals, tracer_of
from pc2dae.plumes.ratio_rows import Pair, pairs_of, ratio_rows
from pc2dae.plumes.ratios import Ratio
from pc2dae.plumes.signals import Signal
from pc2dae.plumes.systematic import assumed_gains

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_FIGURES = ["value", "sigma", "random_sigma", "systematic_sigma", "units"]
ENCOUNTER_COLUMNS = ["channel", "number", "onset", "end", "peak_time", "duration_s", "peak"]
ENCOUNTER_COLUMNS += ["excess", "excess_sigma", "excess_random_sigma", "excess_systematic_sigma", "snr", "units"]
ENCOUNTER_COLUMNS += ["is_lower_limit"]  # it contains saturated samples
RATIO_COLUMNS = ["scope", "onset", "ratio", "method", *_FIGURES, "resolution_s", "is_preferred", "reason"]
FACTOR_COLUMNS = ["scope", "onset", "species", *_FIGURES]
FACTOR_UNITS = "g kg-1"


@dataclass(frozen=True)
class Survey:
    """The plumes of a flight as tidy tables.

    `begun` lists intervals that are elevated from the first sample on, for channels and for the plume tracer. They may
    be smoke that was present before the record starts or a cell that is still settling; the two cannot be
    distinguished, so these intervals are not counted as encounters and are excluded from ratios.
    """

    encounters: pd.DataFrame  # columns: ENCOUNTER_COLUMNS
    ratios: pd.DataFrame  # columns: RATIO_COLUMNS
    begun: pd.DataFrame  # columns: ENCOUNTER_COLUMNS
    emission_factors: pd.DataFrame  # columns: FACTOR_COLUMNS
    intervals: tuple[tuple[int, int], ...] = ()  # [start, stop) of each encounter used for ratios
    assumed_gains: dict[str, float] = field(default_factory=dict)  # relative uncertainty, of uncalibrated channels used
    totals: dict[str, Excess] = field(default_factory=dict)  # of the flight [ppb, ng mol-1 × samples]
    notes: tuple[str, ...] = ()  # what could not be computed, and why
    signals: dict[str, Signal] = field(default_factory=dict)  # of each channel, above its background
    species: dict[str, Signal] = field(default_factory=dict)  # the same of each species, gases in ppb


def survey(
    flight: xr.Dataset,
    *,
    fuel: Fuel | None = None,
    background: str = RUNNING,
    threshold: float = THRESHOLD,
    clean_air: Sequence[Period] = (),
) -> Survey:
    """Encounters, excess, emission ratios and emission factors of a flight.

    `background`, `threshold` and `clean_air` as in `channel_signals`.
    """
    import pandas as pd

    suite = check_flight(flight)
    found = flight_signals(flight, suite, background=background, threshold=threshold, clean_air=clean_air)
    species, intervals, rate = found.species, found.intervals, suite.rate_hz
    rows = [_encounter_rows(flight, name, signal, rate) for name, signal in found.channels.items()]
    begun = [row for _, apart in rows for row in apart]
    tracer = tracer_of(species)
    if tracer is not None and not any(row[0] in found.sensors[tracer] for row in begun):
        # The mean of several sensors can be elevated although no single one is.
        begun += _encounter_rows(flight, tracer, species[tracer], rate)[1]
    measured, per_mole = (_excesses(group, intervals) for group in (species, found.particles))
    gases = [name for name in EMITTED if name in species and species[name].units == "ppb"]
    emitted = [{name: one[name] for name in gases} | masses for one, masses in zip(measured, per_mole, strict=True)]
    ratios, factors = _scope_rows(flight, pairs_of(species), intervals, measured, emitted, fuel or Fuel())
    used = [suite[n] for s in EMITTED for n in found.sensors.get(s, ()) if n in found.channels and intervals]
    return Survey(
        pd.DataFrame([row for own, _ in rows for row in own], columns=ENCOUNTER_COLUMNS),
        pd.DataFrame(ratios, columns=RATIO_COLUMNS),
        pd.DataFrame(begun, columns=ENCOUNTER_COLUMNS),
        pd.DataFrame(factors, columns=FACTOR_COLUMNS),
        tuple(intervals),
        assumed_gains(flight, used),
        emitted[0],
        (*found.unconverted, *missing_factors(species, found.particles)) if intervals else (),
        found.channels,
        species,
    )


def _scope_rows(
    flight: xr.Dataset,
    pairs: Sequence[Pair],
    intervals: Sequence[tuple[int, int]],
    measured: Sequence[dict[str, Excess]],
    emitted: Sequence[dict[str, Excess]],
    fuel: Fuel,
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Rows of ratios and of emission factors, of the whole flight and of each encounter; empty without encounters."""
    ratios: list[tuple[Any, ...]] = []
    factors: list[tuple[Any, ...]] = []
    time = flight.variables["time"].values
    scopes = [
        ("flight", time[0], intervals),
        *((f"encounter {i}", time[p[0]], [p]) for i, p in enumerate(intervals, 1)),
    ]
    for (scope, onset, parts), excess, masses in zip(scopes if intervals else [], measured, emitted, strict=False):
        for name, method, ratio, units, *rest in ratio_rows(pairs, parts, excess):
            ratios.append((scope, onset, name, method, *_numbers(ratio), units, *rest))
        for name, factor in emission_factors(masses, fuel).items():
            factors.append((scope, onset, name, *_numbers(factor), FACTOR_UNITS))
    return ratios, factors


def _excesses(species: Mapping[str, Signal], intervals: Sequence[tuple[int, int]]) -> list[dict[str, Excess]]:
    """Excess of each species over all intervals together, and over each of them."""
    single = [{name: signal.over(part) for name, signal in species.items()} for part in intervals]
    return [{name: add_up(one[name] for one in single) for name in species}, *single]


def without_slope(ratios: pd.DataFrame) -> list[str]:
    """Ratios of one scope without a slope estimate, because the two species are poorly correlated."""
    by = ratios.groupby("ratio", sort=False)["method"].agg(set)
    return [str(name) for name, methods in by.items() if name != "mce" and "slope" not in methods]


def _numbers(found: Excess | Ratio) -> tuple[float, float, float, float]:
    """Value, total, random and systematic uncertainty."""
    return found.value, found.sigma, found.random, found.systematic


def _encounter_rows(
    flight: xr.Dataset, name: str, signal: Signal, rate: float
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Rows of a channel's encounters, and separately of intervals already elevated when its record starts."""
    time = flight.variables["time"].values
    rows: list[tuple[Any, ...]] = []
    begun: list[tuple[Any, ...]] = []
    flags = flight.variables[f"qc_{name}"].values if f"qc_{name}" in flight else np.zeros(len(time), np.int32)
    for e in find_encounters(signal.excess, signal.limit):
        excess = signal.over((e.start, e.stop))
        snr = e.peak / signal.sigma if signal.sigma > 0 else np.nan
        dest = rows if signal.saw_rise(e.start) else begun
        is_limit = bool((flags[e.start : e.stop] & SATURATED).any())
        dest.append((name, len(dest) + 1, time[e.start], time[e.stop - 1], time[e.peak_at], e.duration / rate, e.peak,
                     *(x / rate for x in _numbers(excess)), snr, signal.units, is_limit))  # fmt: skip
    return rows, begun
