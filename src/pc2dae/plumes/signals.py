"""Channels and species above their background, with what is known of their errors.

All results use the unbounded estimate, because a lower bound biases clean air, and hence every integral, upward.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pc2dae.arrays import Array, Mask
from pc2dae.calibration.budget import budget_of
from pc2dae.errors import FlightError
from pc2dae.flight.schema import observed
from pc2dae.noise import noise_level, sum_variance
from pc2dae.plumes.background import background, clean_air, threshold
from pc2dae.plumes.choices import other_backgrounds
from pc2dae.plumes.drift import DRIFT_S, bridged_drift
from pc2dae.plumes.encounters import SHORTEST, in_plume
from pc2dae.plumes.excess import FLANK, Excess, estimate_sum_variance, integrate
from pc2dae.plumes.species import sensors
from pc2dae.plumes.systematic import Sources, channel_sources
from pc2dae.response.matched import match_response
from pc2dae.suite import Suite
from pc2dae.suite.species import NG_M3, PPB

if TYPE_CHECKING:
    import xarray as xr

_CONSTANT = 1e-9  # relative variation below which a channel is treated as constant (rounding)


class Sensor(NamedTuple):
    """One sensor in the mean of several."""

    weight: float
    scale: float  # from its units to those of the mean
    signal: Signal


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
    rate_hz: float
    drift: float = 0.0  # standard uncertainty of the zero's drift
    sources: Sources = field(default_factory=dict)  # systematic errors proportional to gases
    removed: Array | None = None  # raw − estimate, where both are the same quantity and observed, otherwise 0
    averaged: dict[str, tuple[Sensor, ...]] = field(default_factory=dict)  # sensors of each species in it, if several

    @cached_property
    def outside(self) -> Mask:
        """Mask of clean-air samples: within 3 σ of the background."""
        return np.asarray(clean_air(self.excess[None], np.array([self.sigma]))[0])

    def saw_rise(self, start: int) -> bool:
        """Whether at least `SHORTEST` samples were recorded before `start`, so that the onset was observed."""
        return start >= int(np.argmax(self.seen)) + SHORTEST

    @cached_property
    def between_encounters(self) -> Mask:
        """Mask of samples below the plume threshold: clean air and haze."""
        return np.asarray(~in_plume(self.excess[None], np.array([[self.limit]]))[0] & np.isfinite(self.excess))

    def over(self, interval: tuple[int, int]) -> Excess:
        """Integrated excess over an interval; its random uncertainty is NaN if unknown."""
        start, stop = interval
        found = integrate(self.excess, interval, self.outside, noise_sum_variance=self.sum_variance, seen=self.seen,
                          unseen_sigma=self.unseen_sigma)  # fmt: skip
        left, right = (int(self.outside[a:b].sum()) for a, b in ((max(start - FLANK, 0), start), (stop, stop + FLANK)))
        drift = bridged_drift(stop - start, left, right, sigma=self.drift, correlation=DRIFT_S * self.rate_hz)
        effects = {name: float(np.nansum(effect)) for name, effect in self.effects(interval).items()}
        return Excess(found.value, float(np.hypot(found.random, drift)) or np.nan, effects)

    def effects(self, interval: tuple[int, int]) -> dict[str, Array]:
        """What one standard uncertainty of each systematic source adds to the excess over an interval."""
        inside = slice(*interval)
        found = {name: u * series[inside] for name, (u, series) in self.sources.items()}
        others = other_backgrounds(self.excess, interval, self.between_encounters)
        found |= {f"background {name}": -other / np.sqrt(len(others)) for name, other in others.items()}
        for name, group in self.averaged.items():
            mean = np.sum([weight * scale * signal.excess[inside] for weight, scale, signal in group], axis=0)
            found[f"disagreement {name}"] = _disagreement(group, interval) * mean
        return found


def _disagreement(sensors: tuple[Sensor, ...], interval: tuple[int, int]) -> float:
    """Relative standard uncertainty of a mean because its sensors differ by more than they state.

    τ² = [Σ w(A − Ā)² − Σ w(1 − w)σ²] / Σ w(1 − w) is the variance between sensors, τ²Σw² that of their mean.
    """
    found = [sensor.signal.over(interval) for sensor in sensors]
    w, scale = (np.array([sensor[k] for sensor in sensors], np.float64) for k in (0, 1))
    value, sigma = scale * [e.value for e in found], scale * [e.sigma for e in found]
    mean, free = float(w @ value), w * (1 - w)
    between = (w @ (value - mean) ** 2 - free @ np.nan_to_num(sigma) ** 2) / max(free.sum(), 1e-30)
    return float(np.sqrt(max(between, 0.0) * (w @ w)) / abs(mean)) if mean else 0.0


def channel_signals(flight: xr.Dataset, suite: Suite) -> dict[str, Signal]:
    """Signal of each channel over its background; channels without observations are omitted."""
    values, seen, unseen, sigma, variance = [], [], [], [], []
    names = [n for n in suite.names if observed(flight, n).any() and np.isfinite(_best(flight, n)).any()]
    for name in names:
        x = _best(flight, name)
        raw = flight[f"{name}_raw" if f"{name}_raw" in flight else name].values.astype(np.float64)
        seen.append(observed(flight, name) & np.isfinite(raw))
        stated = _stated(flight, name)
        unseen.append(np.zeros(len(x)) if stated is None else np.where(seen[-1], 0.0, np.nan_to_num(stated.values)))
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
    excess = dict(zip(names, x - level, strict=True))
    budgets = [budget_of(flight, name) for name in names]
    drifts = [0.0 if budget is None else budget.drift for budget in budgets]
    sources = [channel_sources(suite[n], budget, excess) for n, budget in zip(names, budgets, strict=True)]
    rates = [suite.rate_hz] * len(names)
    removed = [_removed(flight, name, own) for name, own in zip(names, seen, strict=True)]
    columns = zip(excess.values(), level, limit, sigma, variance, seen, unseen, t90s, widths, units, rates, drifts,
                  sources, removed, strict=True)  # fmt: skip
    return {name: Signal(*column) for name, column in zip(names, columns, strict=True)}


def species_signals(signals: dict[str, Signal], suite: Suite, *, matched: bool = False) -> dict[str, Signal]:
    """One signal per species: mean of its sensors weighted by 1/σ², gases in ppb; NOₓ = NO + NO₂."""
    chosen = {s: [signals[n] for n in names if n in signals] for s, names in chosen_sensors(signals, suite).items()}
    species = {s: _averaged(s, group) for s, group in chosen.items() if group}
    if "nox" not in species and {"no", "no2"} <= species.keys() and species["no"].units == species["no2"].units:
        slower = max(species["no"].t90_s, species["no2"].t90_s)
        species["nox"] = _added(*(slowed(species[s], slower) for s in ("no", "no2")))
    if matched:
        slowest = max((s.t90_s for s in species.values()), default=0.0)
        species = {name: slowed(s, slowest) for name, s in species.items()}
    return species


def chosen_sensors(signals: dict[str, Signal], suite: Suite) -> dict[str, tuple[str, ...]]:
    """Channels that represent each species, by the width of their response."""
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


def _removed(flight: xr.Dataset, name: str, seen: Mask) -> Array | None:
    """What denoising took away; None for a raw channel and where the lag was corrected, which cannot be compared."""
    if f"{name}_raw" not in flight or flight[name].attrs.get("target") == "ambient":
        return None
    return np.where(seen, np.nan_to_num(flight[f"{name}_raw"].values - _best(flight, name)), 0.0)


def _stated(flight: xr.Dataset, name: str) -> xr.DataArray | None:
    """The stated random uncertainty of a channel, or the only one there is."""
    return next((flight[n] for part in ("_random_uncertainty", "_uncertainty") if (n := name + part) in flight), None)


def _sum_variance(flight: xr.Dataset, name: str, rate: float, sigma: float, lag1: float) -> float:
    """Sum variance from the stated uncertainty and its correlation time if available, otherwise from the raw noise."""
    stated = _stated(flight, name)
    if stated is not None and "error_correlation_s" in stated.attrs:
        middle = float(np.nan_to_num(np.nanmedian(stated.values))) if np.isfinite(stated.values).any() else sigma
        return estimate_sum_variance(middle, float(stated.attrs["error_correlation_s"]), rate_hz=rate)
    return sum_variance(sigma, lag1)


def _limit(values: Array, sigma: Array) -> Array:
    """Plume threshold of each channel; infinite for constant channels."""
    limit = threshold(values, sigma)
    return np.where(limit > _CONSTANT * np.abs(values).max(axis=-1), limit, np.inf)


def _averaged(name: str, group: list[Signal]) -> Signal:
    """Weighted mean of sensors, gases in ppb; sensors with units not convertible to the first one's are omitted."""
    first = group[0].units
    kind = next((kind for kind in (PPB, NG_M3) if first in kind), {first: 1.0})
    group = [s for s in group if s.units in kind]
    scales = [kind[s.units] / (1.0 if kind is PPB else kind[first]) for s in group]
    weights = np.array([1.0 / max((s.sigma * k) ** 2, 1e-30) for s, k in zip(group, scales, strict=True)])
    weights /= weights.sum()
    averaged = {name: tuple(map(Sensor, weights.tolist(), scales, group))} if len(group) > 1 else {}
    return replace(_combined(group, weights * scales), averaged=averaged)


def _added(first: Signal, second: Signal) -> Signal:
    return replace(_combined([first, second], np.ones(2)), averaged=first.averaged | second.averaged)


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
    drift = float(np.sqrt(sum((w * s.drift) ** 2 for w, s in zip(weights, group, strict=True))))
    known = [w * s.removed for w, s in zip(weights, group, strict=True) if s.removed is not None]
    sources: Sources = {}
    for w, s in zip(weights, group, strict=True):
        for name, (u, series) in s.sources.items():
            before = sources.get(name)  # of another sensor: a source they share
            sources[name] = (w * u, series) if before is None else (1.0, before[0] * before[1] + w * u * series)
    return Signal(excess, level, limit, sigma, variance, seen, unseen, t90_s, width_s, units, group[0].rate_hz, drift,
                  sources, np.sum(known, axis=0) if known else None)  # fmt: skip


def slowed(signal: Signal, t90_s: float) -> Signal:
    """The signal with a longer response time [s], which preserves integrals."""
    if t90_s <= signal.t90_s:
        return signal

    def at_t90(series: Array) -> Array:
        return match_response(series, signal.t90_s, t90_s, rate_hz=signal.rate_hz)

    sources = {name: (u, at_t90(series)) for name, (u, series) in signal.sources.items()}
    width_s = max(signal.width_s, t90_s)
    return replace(signal, excess=at_t90(signal.excess), t90_s=t90_s, width_s=width_s, sources=sources)
