"""Plume survey of a flight: encounters of each channel, emission ratios of the flight and of each encounter.

All results use the unbounded estimate, because a lower bound biases clean air, and hence every integral, upward.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pc2dae.arrays import Array, Mask
from pc2dae.errors import FlightError
from pc2dae.flight.schema import check_flight, observed
from pc2dae.noise import noise_level, sum_variance
from pc2dae.plumes.background import background, clean_air, threshold
from pc2dae.plumes.encounters import SHORTEST, extents, find_encounters, widened
from pc2dae.plumes.excess import Excess, estimate_sum_variance, integrate
from pc2dae.plumes.ratios import Ratio, combustion_efficiency, correlation, integral_ratio, slope_ratio
from pc2dae.plumes.species import NG_M3, PPB, have_ratio, sensors
from pc2dae.response.matched import match_response
from pc2dae.suite import Suite

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


RATIOS = {"bc/co": ("bc", "co"), "nox/co": ("nox", "co"), "co/co2": ("co", "co2")}  # name: (numerator, denominator)
LEAST_CORRELATION = 0.5  # minimum correlation of two species for a meaningful slope
_LEAST_SNR = 3.0  # minimum signal-to-noise ratio of the denominator's integral
_CONSTANT = 1e-9  # relative variation below which a channel is treated as constant (rounding)

ENCOUNTER_COLUMNS = ["channel", "number", "onset", "end", "peak_time", "duration_s"]
ENCOUNTER_COLUMNS += ["peak", "excess", "excess_sigma", "snr", "units"]
RATIO_COLUMNS = ["scope", "onset", "ratio", "method", "value", "sigma", "units"]


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


@dataclass(frozen=True)
class Signal:
    """One channel or species above its background."""

    excess: Array  # (time,) [channel's units]
    level: Array  # background
    limit: float  # plume threshold; infinite for a constant signal
    sigma: float  # noise level of one sample; 0 if unknown
    sum_variance: float  # variance that each sample adds to a sum
    seen: Mask  # observed (not interpolated) samples
    unseen_sigma: Array  # stated uncertainty of samples not observed; 0 where observed or not stated
    t90_s: float  # 0 where the lag was corrected
    width_s: float  # t90, or the effective resolution where the lag was corrected
    units: str

    @cached_property
    def outside(self) -> Mask:
        """Mask of clean-air samples: within 3 σ of the background."""
        return np.asarray(clean_air(self.excess[None], np.array([self.sigma]))[0])

    def saw_rise(self, start: int) -> bool:
        """Whether at least `SHORTEST` samples were recorded before `start`, so that the onset was observed."""
        return start >= int(np.argmax(self.seen)) + SHORTEST

    def over(self, interval: tuple[int, int]) -> Excess:
        """Integrated excess over an interval; its uncertainty is NaN if unknown."""
        found = integrate(self.excess, interval, self.outside, noise_sum_variance=self.sum_variance, seen=self.seen,
                          unseen_sigma=self.unseen_sigma)  # fmt: skip
        return found if found.sigma > 0 else replace(found, sigma=np.nan)


def survey(flight: xr.Dataset, *, matched: bool = False) -> Survey:
    """Encounters, excess and emission ratios of a flight; `matched` first equalises all response times."""
    import pandas as pd

    suite = check_flight(flight)
    signals = channel_signals(flight, suite)
    rate = suite.rate_hz
    species = species_signals(signals, suite, matched=matched)
    found = [_encounter_rows(flight, name, signal, rate) for name, signal in signals.items()]
    begun = [row for _, apart in found for row in apart]
    tracer = _tracer(species)
    if tracer is not None and not any(row[0] in _sensors(signals, suite)[tracer] for row in begun):
        # The mean of several sensors can be elevated although no single one is.
        begun += _encounter_rows(flight, tracer, species[tracer], rate)[1]
    intervals = encounter_intervals(species, rate)
    return Survey(
        pd.DataFrame([row for rows, _ in found for row in rows], columns=ENCOUNTER_COLUMNS),
        pd.DataFrame(_ratio_rows(flight, species, intervals), columns=RATIO_COLUMNS),
        pd.DataFrame(begun, columns=ENCOUNTER_COLUMNS),
        tuple(intervals),
    )


def channel_signals(flight: xr.Dataset, suite: Suite) -> dict[str, Signal]:
    """Signal of each channel over its background; channels without observations are omitted."""
    values, seen, unseen, sigma, variance = [], [], [], [], []
    names = [n for n in suite.names if observed(flight, n).any() and np.isfinite(_best(flight, n)).any()]
    for name in names:
        x = _best(flight, name)
        raw = flight[f"{name}_raw" if f"{name}_raw" in flight else name].values.astype(np.float64)
        seen.append(observed(flight, name) & np.isfinite(raw))
        stated = flight[f"{name}_uncertainty"].values if f"{name}_uncertainty" in flight else np.zeros(len(x))
        unseen.append(np.where(seen[-1], 0.0, np.nan_to_num(stated)))
        known = np.isfinite(x) if f"{name}_raw" in flight else seen[-1]
        steps = np.arange(len(x))
        values.append(np.interp(steps, steps[known], x[known]))
        noise = noise_level(raw[None], seen[-1][None])
        sigma.append(float(np.nan_to_num(noise.sigma[0])))
        variance.append(_sum_variance(flight, name, suite.rate_hz, sigma[-1], float(np.nan_to_num(noise.lag1[0]))))
    if not names:
        raise FlightError(
            "no channel of the flight has a usable observation", hint="check the flags with `pc2dae inspect`"
        )
    x = np.stack(values)
    level = background(x, np.array(sigma))
    limit = _limit(x, np.array(sigma))
    t90s, widths = zip(*(_response(flight, suite, name) for name in names), strict=True)
    units = [suite[name].units for name in names]
    columns = zip(x - level, level, limit, sigma, variance, seen, unseen, t90s, widths, units, strict=True)
    return {name: Signal(*column) for name, column in zip(names, columns, strict=True)}


def species_signals(signals: dict[str, Signal], suite: Suite, *, matched: bool = False) -> dict[str, Signal]:
    """One signal per species: mean of its sensors weighted by 1/σ², gases in ppb; NOₓ = NO + NO₂."""
    chosen = {s: [signals[n] for n in names if n in signals] for s, names in _sensors(signals, suite).items()}
    species = {s: _averaged(group) for s, group in chosen.items() if group}
    if "nox" not in species and {"no", "no2"} <= species.keys() and species["no"].units == species["no2"].units:
        species["nox"] = _added(species["no"], species["no2"])
    if matched:
        slowest = max((s.t90_s for s in species.values()), default=0.0)
        species = {name: _slowed(s, slowest, suite.rate_hz) for name, s in species.items()}
    return species


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
                    rows.append((scope, onset, name, method, ratio.value, ratio.sigma, units))
        if {"co", "co2"} <= species.keys() and species["co"].units == species["co2"].units == "ppb":
            co, co2 = (_total(species[s], parts) for s in ("co", "co2"))
            if co2.value > _LEAST_SNR * co2.sigma:
                mce = combustion_efficiency(co, co2)
                rows += [(scope, onset, "mce", "integral", mce.value, mce.sigma, "1")] if mce.sigma > 0 else []
    return rows


def _ratios(a: Signal, b: Signal, parts: list[tuple[int, int]]) -> list[tuple[str, Ratio]]:
    below = _total(b, parts)
    if not below.value > _LEAST_SNR * below.sigma:  # denominator not significant, or uncertainty unknown
        return []
    index = np.concatenate([np.arange(*part) for part in parts])
    found = [("integral", integral_ratio(_total(a, parts), below))]
    x, y = b.excess[index], a.excess[index]
    if correlation(x, y) >= LEAST_CORRELATION:
        block = max(10, int(np.ceil(3 * max(a.width_s, b.width_s))))
        found.append(("slope", slope_ratio(x, y, sigma_x=b.sigma, sigma_y=a.sigma, block=block)))
    return [(method, ratio) for method, ratio in found if ratio.sigma > 0]


def _total(signal: Signal, parts: list[tuple[int, int]]) -> Excess:
    pieces = [signal.over(part) for part in parts]
    return Excess(sum(p.value for p in pieces), float(np.sqrt(sum(p.sigma**2 for p in pieces))))


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
                     excess.value / rate, excess.sigma / rate, snr, signal.units))  # fmt: skip
    return rows, begun


def _sensors(signals: dict[str, Signal], suite: Suite) -> dict[str, tuple[str, ...]]:
    return sensors(suite, {name: signal.width_s for name, signal in signals.items()})


def _response(flight: xr.Dataset, suite: Suite, name: str) -> tuple[float, float]:
    """t90 and width of the response that is still in a channel [s]."""
    attrs, t90_s = flight[name].attrs, suite[name].t90_s or 0.0
    if attrs.get("target") != "ambient":
        return t90_s, t90_s
    return 0.0, float(np.nan_to_num(attrs["effective_resolution_s"]))  # NaN: a network without a table of widths


def _best(flight: xr.Dataset, name: str) -> Array:
    """The unbounded estimate if available, otherwise the channel itself."""
    return flight[f"{name}_unbounded" if f"{name}_unbounded" in flight else name].values.astype(np.float64)


def _sum_variance(flight: xr.Dataset, name: str, rate: float, sigma: float, lag1: float) -> float:
    """Sum variance from the stated uncertainty and its correlation time if available, otherwise from the raw noise."""
    stated = flight.get(f"{name}_uncertainty")
    if stated is not None and "error_correlation_s" in stated.attrs:
        middle = float(np.nan_to_num(np.nanmedian(stated.values))) if np.isfinite(stated.values).any() else sigma
        return estimate_sum_variance(middle, float(stated.attrs["error_correlation_s"]), rate_hz=rate)
    return sum_variance(sigma, lag1)


def _limit(values: Array, sigma: Array) -> Array:
    """Plume threshold of each channel; infinite for constant channels."""
    limit = threshold(values, sigma)
    return np.where(limit > _CONSTANT * np.abs(values).max(axis=-1), limit, np.inf)


def _averaged(group: list[Signal]) -> Signal:
    """Weighted mean of sensors, gases in ppb; sensors with units not convertible to the first one's are omitted."""
    first = group[0].units
    kind = next((kind for kind in (PPB, NG_M3) if first in kind), {first: 1.0})
    group = [s for s in group if s.units in kind]
    scales = [kind[s.units] / (1.0 if kind is PPB else kind[first]) for s in group]
    weights = np.array([1.0 / max((s.sigma * k) ** 2, 1e-30) for s, k in zip(group, scales, strict=True)])
    weights /= weights.sum()
    return _combined(group, weights * scales)


def _added(first: Signal, second: Signal) -> Signal:
    return _combined([first, second], np.ones(2))


def _combined(group: list[Signal], weights: Array) -> Signal:
    """Weighted sum Σ wᵢ·signalᵢ, assuming independent sensor errors."""
    sigma = float(np.sqrt(sum((w * s.sigma) ** 2 for w, s in zip(weights, group, strict=True))))
    excess = np.sum([w * s.excess for w, s in zip(weights, group, strict=True)], axis=0)
    level = np.sum([w * s.level for w, s in zip(weights, group, strict=True)], axis=0)
    limit = float(_limit((excess + level)[None], np.array([sigma]))[0])
    variance = float(sum(w**2 * s.sum_variance for w, s in zip(weights, group, strict=True)))
    units = "ppb" if group[0].units in PPB else group[0].units
    seen = np.all([s.seen for s in group], axis=0)
    unseen = np.sqrt(sum((w * s.unseen_sigma) ** 2 for w, s in zip(weights, group, strict=True)))
    t90_s, width_s = max(s.t90_s for s in group), max(s.width_s for s in group)
    return Signal(excess, level, limit, sigma, variance, seen, unseen, t90_s, width_s, units)


def _slowed(signal: Signal, t90_s: float, rate_hz: float) -> Signal:
    excess = match_response(signal.excess, signal.t90_s, t90_s, rate_hz=rate_hz)
    return replace(signal, excess=excess, t90_s=t90_s, width_s=max(signal.width_s, t90_s))
