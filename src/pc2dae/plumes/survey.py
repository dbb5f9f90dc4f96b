"""Plume survey of a flight: encounters of each channel, emission ratios of the flight and of each encounter.

All results use the unbounded estimate, because a lower bound biases clean air, and hence every integral, upward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pc2dae.flags import SATURATED
from pc2dae.flight.schema import check_flight
from pc2dae.plumes.baselines import BackgroundUsed, Period
from pc2dae.plumes.detection import RUNNING, THRESHOLD
from pc2dae.plumes.emission import EMITTED, Fuel, factors_over, missing_factors
from pc2dae.plumes.encounters import find_encounters
from pc2dae.plumes.excess import Excess, add_up
from pc2dae.plumes.flight_signals import flight_signals, tracer_of
from pc2dae.plumes.ratio_rows import Pair, kinds_of, pairs_of
from pc2dae.plumes.ratios import Ratio
from pc2dae.plumes.signals import Signal
from pc2dae.plumes.systematic import assumed_gains

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_FIGURES = ["value", "sigma", "random_sigma", "systematic_sigma", "units"]
ENCOUNTER_COLUMNS = ["channel", "number", "onset", "end", "peak_time", "duration_s", "peak", "peak_sigma"]
ENCOUNTER_COLUMNS += ["excess", "excess_sigma", "excess_random_sigma", "excess_systematic_sigma", "snr", "units"]
ENCOUNTER_COLUMNS += ["is_lower_limit"]  # it contains saturated samples
RATIO_COLUMNS = ["scope", "onset", "ratio", "method", *_FIGURES, "resolution_s", "share", "is_preferred", "reason"]
FACTOR_COLUMNS = ["scope", "onset", "species", *_FIGURES, "share", "is_good"]
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
    kinds: tuple[str, ...] = ()  # of each encounter: SMOKE where more than one tracer rises and varies together
    background: BackgroundUsed | None = None
    assumed_gains: dict[str, float] = field(default_factory=dict)  # relative uncertainty, of uncalibrated channels used
    totals: dict[str, Excess] = field(default_factory=dict)  # of the flight [ppb, ng mol-1 × samples]
    notes: tuple[str, ...] = ()  # what could not be computed, and why
    signals: dict[str, Signal] = field(default_factory=dict)  # of each channel, above its background
    species: dict[str, Signal] = field(default_factory=dict)  # the same of each species, gases in ppb
    results: dict[str, dict[str, Ratio]] = field(default_factory=dict)  # of each scope, with the effects of all sources


def survey(
    flight: xr.Dataset,
    *,
    fuel: Fuel | None = None,
    background: str = RUNNING,
    threshold: float = THRESHOLD,
    clean_air: Sequence[Period] = (),
    ratios: Sequence[str] = (),
) -> Survey:
    """Encounters, excess, emission ratios and emission factors of a flight.

    `background`, `threshold` and `clean_air` as in `channel_signals`; `ratios` are further pairs A/B of species or
    channels. Clean air and ratios that are not given are those of the suite.
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
    used = [suite[n] for s in EMITTED for n in found.sensors.get(s, ()) if n in found.channels and intervals]
    pairs = pairs_of(species, found.channels, ratios or suite.plumes.ratios)
    above = next(iter(found.channels.values())).background
    table = _scope_rows(flight, pairs, intervals, found.emitted, fuel or Fuel(), above is None or above.is_good)
    notes = (*found.unconverted, *missing_factors(species, found.particles)) if intervals else ()
    return Survey(
        pd.DataFrame([row for own, _ in rows for row in own], columns=ENCOUNTER_COLUMNS),
        pd.DataFrame(table.ratios, columns=RATIO_COLUMNS),
        pd.DataFrame(begun, columns=ENCOUNTER_COLUMNS),
        pd.DataFrame(table.factors, columns=FACTOR_COLUMNS),
        tuple(intervals),
        kinds_of(species, intervals),
        above,
        assumed_gains(flight, used),
        {name: add_up(map(signal.over, intervals)) for name, signal in found.emitted.items()},
        notes,
        found.channels,
        species,
        table.results,
    )


class _Rows(NamedTuple):
    ratios: list[tuple[Any, ...]]
    factors: list[tuple[Any, ...]]
    results: dict[str, dict[str, Ratio]]  # of each scope


def _scope_rows(
    flight: xr.Dataset,
    pairs: Sequence[Pair],
    intervals: Sequence[tuple[int, int]],
    emitted: Mapping[str, Signal],
    fuel: Fuel,
    is_good: bool,
) -> _Rows:
    """Rows of ratios and of emission factors, of the whole flight and of each encounter; empty without encounters."""
    rows = _Rows([], [], {})
    time = flight.variables["time"].values
    scopes = [
        ("flight", time[0], intervals),
        *((f"encounter {i}", time[p[0]], [p]) for i, p in enumerate(intervals, 1)),
    ]
    for scope, onset, parts in scopes if intervals else []:
        results = rows.results.setdefault(scope, {})
        trusted = is_good
        for name, method, ratio, units, *rest in (row for pair in pairs for row in pair.rows(parts)):
            rows.ratios.append((scope, onset, name, method, *_numbers(ratio), units, *rest))
            results[name if method == "integral" else f"{name} {method}"] = ratio
            trusted &= name != "mce" or bool(rest[2])
        for name, (factor, share) in factors_over(emitted, parts, fuel).items():
            rows.factors.append((scope, onset, name, *_numbers(factor), FACTOR_UNITS, share, trusted))
            results[f"ef_{name}"] = factor
    return rows


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
        peak, sigma = signal.peak((e.start, e.stop))
        snr = peak / sigma if sigma > 0 else np.nan
        dest = rows if signal.saw_rise(e.start) else begun
        is_limit = bool((flags[e.start : e.stop] & SATURATED).any())
        dest.append((name, len(dest) + 1, time[e.start], time[e.stop - 1], time[e.peak_at], e.duration / rate,
                     peak, sigma, *(x / rate for x in _numbers(excess)), snr, signal.units, is_limit))  # fmt: skip
    return rows, begun
