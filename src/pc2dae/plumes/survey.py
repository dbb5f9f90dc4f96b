"""Plume survey of a flight: encounters of each channel, emission ratios of the flight and of each encounter.

All results use the unbounded estimate, because a lower bound biases clean air, and hence every integral, upward.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

from pc2dae.arrays import Array
from pc2dae.flight.schema import check_flight
from pc2dae.plumes.encounters import extents, find_encounters, widened
from pc2dae.plumes.excess import Excess, add_up
from pc2dae.plumes.ratios import Ratio, combustion_efficiency, correlation, integral_ratio, slope_ratio
from pc2dae.plumes.signals import Signal, channel_signals, chosen_sensors, slowed, species_signals
from pc2dae.plumes.species import have_ratio
from pc2dae.plumes.systematic import assumed_gains

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


RATIOS = {"bc/co": ("bc", "co"), "nox/co": ("nox", "co"), "co/co2": ("co", "co2")}  # name: (numerator, denominator)
LEAST_CORRELATION = 0.5  # minimum correlation of two species for a meaningful slope
_SMOOTHED = 5.0  # samples over which two sensors are averaged to see whether they resolve the same
_LEAST_SNR = 3.0  # minimum signal-to-noise ratio of the denominator's integral

ENCOUNTER_COLUMNS = ["channel", "number", "onset", "end", "peak_time", "duration_s", "peak"]
ENCOUNTER_COLUMNS += ["excess", "excess_sigma", "excess_random_sigma", "excess_systematic_sigma", "snr", "units"]
RATIO_COLUMNS = ["scope", "onset", "ratio", "method", "value", "sigma", "random_sigma", "systematic_sigma", "units"]


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
    intervals: tuple[tuple[int, int], ...] = ()  # [start, stop) of each encounter used for ratios
    assumed_gains: dict[str, float] = field(default_factory=dict)  # relative uncertainty, of uncalibrated channels used


def survey(flight: xr.Dataset, *, matched: bool = False) -> Survey:
    """Encounters, excess and emission ratios of a flight; `matched` first equalises all response times."""
    import pandas as pd

    suite = check_flight(flight)
    signals = channel_signals(flight, suite)
    rate = suite.rate_hz
    species = species_signals(signals, suite, matched=matched)
    found = [_encounter_rows(flight, name, signal, rate) for name, signal in signals.items()]
    begun = [row for _, apart in found for row in apart]
    chosen = chosen_sensors(signals, suite)
    tracer = _tracer(species)
    if tracer is not None and not any(row[0] in chosen[tracer] for row in begun):
        # The mean of several sensors can be elevated although no single one is.
        begun += _encounter_rows(flight, tracer, species[tracer], rate)[1]
    intervals = encounter_intervals(species, rate)
    return Survey(
        pd.DataFrame([row for rows, _ in found for row in rows], columns=ENCOUNTER_COLUMNS),
        pd.DataFrame(_ratio_rows(flight, species, intervals), columns=RATIO_COLUMNS),
        pd.DataFrame(begun, columns=ENCOUNTER_COLUMNS),
        tuple(intervals),
        assumed_gains(flight, [suite[n] for names in chosen.values() for n in names if n in signals and intervals]),
    )


def encounter_intervals(species: dict[str, Signal], rate_hz: float) -> list[tuple[int, int]]:
    """Plume intervals of the flight from the tracer (CO, else CO₂, else BC), widened by the slowest response."""
    tracer = _tracer(species)
    if tracer is None:
        return []
    signal = species[tracer]
    margin = int(np.ceil(max(s.width_s for s in species.values()) * rate_hz)) + 2
    inside = [part for part in extents(signal.excess, signal.limit) if signal.saw_rise(part[0])]
    return widened(inside, margin, len(signal.excess))


def _tracer(species: dict[str, Signal]) -> str | None:
    """Species used as plume tracer; None if there is none."""
    return next((name for name in ("co", "co2", "bc") if name in species), None)


def without_slope(ratios: pd.DataFrame) -> list[str]:
    """Ratios of one scope without a slope estimate, because the two species are poorly correlated."""
    by = ratios.groupby("ratio", sort=False)["method"].agg(set)
    return [str(name) for name, methods in by.items() if name in RATIOS and "slope" not in methods]


def _ratio_rows(
    flight: xr.Dataset, species: dict[str, Signal], intervals: list[tuple[int, int]]
) -> list[tuple[Any, ...]]:
    """Ratio rows of the whole flight and of each encounter; empty without encounters."""
    if not intervals:
        return []
    time = flight["time"].values
    scopes = [(f"encounter {i}", time[interval[0]], [interval]) for i, interval in enumerate(intervals, 1)]
    rows: list[tuple[Any, ...]] = []
    for scope, onset, parts in [("flight", time[0], intervals), *scopes]:
        for name, (above, below) in RATIOS.items():
            if above in species and below in species:
                a, b = species[above], species[below]
                if not have_ratio(a.units, b.units, above=above):
                    continue
                units = "1" if a.units == b.units else f"{a.units} per {b.units}"
                for method, ratio in _ratios(a, b, parts):
                    rows.append((scope, onset, name, method, *_numbers(ratio), units))
        if {"co", "co2"} <= species.keys() and species["co"].units == species["co2"].units == "ppb":
            co, co2 = (_total(species[s], parts) for s in ("co", "co2"))
            if co2.value > _LEAST_SNR * co2.sigma:
                mce = combustion_efficiency(co, co2)
                rows += [(scope, onset, "mce", "integral", *_numbers(mce), "1")] if mce.sigma > 0 else []
    return rows


def _ratios(a: Signal, b: Signal, parts: list[tuple[int, int]]) -> list[tuple[str, Ratio]]:
    below = _total(b, parts)
    if not below.value > _LEAST_SNR * below.sigma:  # denominator not significant, or uncertainty unknown
        return []
    index = np.concatenate([np.arange(*part) for part in parts])
    found = [("integral", integral_ratio(_total(a, parts), below))]
    a, b = (slowed(signal, max(a.t90_s, b.t90_s)) for signal in (a, b))  # compared sample by sample
    x, y = b.excess[index], a.excess[index]
    if correlation(x, y) >= LEAST_CORRELATION:
        width_s = max(a.width_s, b.width_s)
        block = max(10, int(np.ceil(3 * width_s)))
        slope = slope_ratio(
            x, y, sigma_x=b.sigma, sigma_y=a.sigma, block=block,
            sum_variance_x=b.sum_variance, sum_variance_y=a.sum_variance,
            effects_x=_effects(b, parts), effects_y=_effects(a, parts),
            removed_y=None if a.removed is None else a.removed[index],
            smoothed=(_coarser(b.excess, width_s * b.rate_hz)[index], _coarser(a.excess, width_s * b.rate_hz)[index]),
        )  # fmt: skip
        found.append(("slope", slope))
    return [(method, ratio) for method, ratio in found if ratio.sigma > 0]


def _coarser(excess: Array, width: float) -> Array:
    """The series smoothed by a Gaussian of this full width at half maximum, at least `_SMOOTHED` [samples]."""
    return np.asarray(gaussian_filter1d(excess, max(width, _SMOOTHED) / np.sqrt(8 * np.log(2))))


def _total(signal: Signal, parts: list[tuple[int, int]]) -> Excess:
    return add_up(signal.over(part) for part in parts)


def _effects(signal: Signal, parts: list[tuple[int, int]]) -> dict[str, Array]:
    """What one standard uncertainty of each systematic source adds to the excess, all parts joined."""
    pieces = [signal.effects(part) for part in parts]
    names = dict.fromkeys(name for piece in pieces for name in piece)
    return {
        name: np.concatenate([piece.get(name, np.zeros(b - a)) for piece, (a, b) in zip(pieces, parts, strict=True)])
        for name in names
    }


def _numbers(found: Excess | Ratio) -> tuple[float, float, float, float]:
    """Value, total, random and systematic uncertainty."""
    return found.value, found.sigma, found.random, found.systematic


def _encounter_rows(
    flight: xr.Dataset, name: str, signal: Signal, rate: float
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Rows of a channel's encounters, and separately of intervals already elevated when its record starts."""
    time = flight["time"].values
    rows: list[tuple[Any, ...]] = []
    begun: list[tuple[Any, ...]] = []
    for e in find_encounters(signal.excess, signal.limit):
        excess = signal.over((e.start, e.stop))
        snr = e.peak / signal.sigma if signal.sigma > 0 else np.nan
        dest = rows if signal.saw_rise(e.start) else begun
        dest.append((name, len(dest) + 1, time[e.start], time[e.stop - 1], time[e.peak_at], e.duration / rate, e.peak,
                     *(x / rate for x in _numbers(excess)), snr, signal.units))  # fmt: skip
    return rows, begun
