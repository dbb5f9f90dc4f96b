"""Channels and species above their background, with what is known of their errors.

All results use the unbounded estimate, because a lower bound biases clean air, and hence every integral, upward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pc2dae.arrays import Array, Mask
from pc2dae.plumes.baselines import BackgroundUsed
from pc2dae.plumes.choices import other_backgrounds
from pc2dae.plumes.drift import DRIFT_S, bridged_drift
from pc2dae.plumes.encounters import SHORTEST, in_plume
from pc2dae.plumes.excess import FLANK, CleanAir, Excess, add_up, integrate
from pc2dae.plumes.systematic import Sources
from pc2dae.response.kernels import match_response, smoothed

_BACKGROUND = "background"  # the sources that are other choices of it begin with this
_USUAL_STEPS = 1.5  # times the median distance of two observations: a longer one is a gap


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
    limit: Array  # plume threshold above background; infinite for a constant signal
    sigma: float  # noise level of one sample; 0 if unknown
    sum_variance: float  # variance that each sample adds to a sum
    seen: Mask  # observed (not interpolated) samples
    unseen_sigma: Array  # stated uncertainty of samples not observed; 0 where observed or not stated
    error: Array  # standard uncertainty of each sample, random: as stated, or the noise level
    uncertainty: Array  # the same in all: as stated, or the noise level
    t90_s: float  # 0 where the lag was corrected
    width_s: float  # t90, or the effective resolution where the lag was corrected
    units: str
    rate_hz: float
    outside: Mask  # clean air
    smoke: Mask  # encounters of all species together
    drift: float = 0.0  # standard uncertainty of the zero's drift
    sources: Sources = field(default_factory=dict)  # systematic errors proportional to gases
    residual: Array | None = None  # reading − its estimate where observed, otherwise 0; None for a raw channel
    removed: Array | None = None  # raw − estimate, where both are the same quantity and observed, otherwise 0
    reach_s: float = 0.0  # how far beyond a plume its integral reaches: t90 of the reading, or the resolution if less
    background: BackgroundUsed | None = None
    averaged: dict[str, tuple[Sensor, ...]] = field(default_factory=dict)  # sensors of each species in it, if several
    parts: tuple[Signal, ...] = ()  # whose mean or sum it is
    summands: tuple[Signal, ...] = ()  # of NOₓ: each is integrated over its own background

    def saw_rise(self, start: int) -> bool:
        """Whether at least `SHORTEST` samples were recorded before `start`, so that the onset was observed."""
        return start >= int(np.argmax(self.seen)) + SHORTEST

    @cached_property
    def between_encounters(self) -> Mask:
        """Mask of samples outside the encounters of this signal and of all species together: clean air and haze."""
        own = in_plume(self.excess[None], self.limit[None])[0]
        return np.asarray(~own & ~self.smoke & np.isfinite(self.excess))

    @cached_property
    def measured(self) -> Mask:
        """Samples observed, or between two observations that are no farther apart than usual (a slow sensor)."""
        if self.parts:
            return np.asarray(np.all([part.measured for part in self.parts], axis=0))
        at = np.flatnonzero(self.seen)
        steps = np.diff(at)
        is_usual = steps <= _USUAL_STEPS * np.median(steps) if len(steps) else np.zeros(0, bool)
        edges = np.zeros(len(self.seen) + 1, np.int8)
        edges[at[:-1][is_usual] + 1] += 1
        edges[at[1:][is_usual]] -= 1
        return np.asarray(self.seen | (np.cumsum(edges[:-1]) > 0))

    def over(self, interval: tuple[int, int], used: Mask | None = None) -> Excess:
        """Integrated excess over an interval, or over its `used` samples; its random uncertainty is NaN if unknown.

        What denoising took from the readings is added again: an estimate of a weak plume is too low, its readings are
        not, and their noise averages out in the integral.
        """
        if used is not None and not used[slice(*interval)].all():
            return self._over(interval, used)
        if interval not in self._integrals:
            self._integrals[interval] = self._over(interval, None)
        return self._integrals[interval]

    @cached_property
    def _integrals(self) -> dict[tuple[int, int], Excess]:
        return {}

    def _over(self, interval: tuple[int, int], used: Mask | None) -> Excess:
        if self.summands:
            return add_up(part.over(interval, used) for part in self.summands)
        start, stop = interval
        weight = np.ones(stop - start) if used is None else used[start:stop].astype(np.float64)
        found = integrate(self.excess, interval, self.outside, noise_sum_variance=self.sum_variance,
                          clean=self._clean_air, flank=self._flank, seen=self.seen,
                          unseen_sigma=self.unseen_sigma, used=used)  # fmt: skip
        drift = bridged_drift(
            stop - start, *self._flanks(interval), sigma=self.drift, correlation=DRIFT_S * self.rate_hz
        )
        effects = {name: _total(effect * weight) for name, effect in self.effects(interval).items()}
        value = found.value + float(np.sum(self._shrunk(interval) * weight))
        return Excess(value, float(np.hypot(found.random, drift * weight.mean())) or np.nan, effects)

    def peak(self, interval: tuple[int, int]) -> tuple[float, float]:
        """Highest excess in an interval and its standard uncertainty.

        That of the estimate at the peak and of the background beneath it: its scatter and the other choices.
        """
        start, stop = interval
        at = start + int(np.nanargmax(self.excess[start:stop]))
        level = self.sum_variance / max(sum(self._flanks(interval)), 1)
        others = sum(x[at - start] ** 2 for name, x in self.effects(interval).items() if name.startswith(_BACKGROUND))
        return float(self.excess[at]), float(np.sqrt(self.uncertainty[at] ** 2 + level + others))

    def _flanks(self, interval: tuple[int, int]) -> tuple[int, int]:
        """Samples of clean air that determine the background before and after an interval."""
        (start, stop), flank = interval, self._flank
        return int(self.outside[max(start - flank, 0) : start].sum()), int(self.outside[stop : stop + flank].sum())

    @property
    def _flank(self) -> int:
        return FLANK + margin_of([self.width_s], self.rate_hz)  # air within the margin is not clean

    def _shrunk(self, interval: tuple[int, int]) -> Array:
        """The readings over an interval minus the estimate, less what that is in clean air."""
        inside = slice(*interval)
        if self.residual is None:
            return np.zeros(interval[1] - interval[0])
        return np.asarray(self.residual[inside] - self._usual_residual * self.seen[inside])

    @cached_property
    def _usual_residual(self) -> float:
        """Mean of reading − estimate in clean air."""
        clean = self.outside & self.seen
        return float(self.residual[clean].mean()) if self.residual is not None and clean.any() else 0.0

    @cached_property
    def _clean_air(self) -> CleanAir:
        return CleanAir(self.excess, self.outside)

    def effects(self, interval: tuple[int, int]) -> dict[str, Array]:
        """What one standard uncertainty of each systematic source adds to the excess over an interval."""
        inside = slice(*interval)
        found = {name: u * series[inside] for name, (u, series) in self.sources.items()}
        others = other_backgrounds(self.excess, interval, self.between_encounters)
        found |= {f"{_BACKGROUND} {name}": -other / np.sqrt(len(others)) for name, other in others.items()}
        for name, group in self.averaged.items():
            mean = np.sum([weight * scale * signal.excess[inside] for weight, scale, signal in group], axis=0)
            found[f"disagreement {name}"] = _disagreement(group, interval) * mean
        return found


def over_common(signals: Sequence[Signal], parts: Sequence[tuple[int, int]], used: Mask) -> list[Excess]:
    """The excess of each signal over all parts together, summed over the `used` samples."""
    some = [part for part in parts if used[slice(*part)].any()]
    return [add_up(signal.over(part, used) for part in some) for signal in signals]


def share_of(used: Mask, parts: Sequence[tuple[int, int]]) -> float:
    """Share of the samples of all parts that is used."""
    return float(np.mean(np.concatenate([used[start:stop] for start, stop in parts])))


def _total(series: Array) -> float:
    """Sum of what is known; np.nansum takes three times as long where everything is."""
    total = float(series.sum())
    return float(np.nansum(series)) if np.isnan(total) else total


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


def margin_of(widths_s: Iterable[float], rate_hz: float) -> int:
    """Samples on both sides of an encounter within which the slowest response has passed."""
    return int(np.ceil(max(widths_s) * rate_hz)) + 2


def slowed(signal: Signal, t90_s: float) -> Signal:
    """The signal with a longer response time [s], which preserves integrals."""
    if t90_s <= signal.t90_s:
        return signal

    def at_t90(series: Array) -> Array:
        return match_response(series, signal.t90_s, t90_s, rate_hz=signal.rate_hz)

    return _smoothed(replace(signal, t90_s=t90_s), max(signal.width_s, t90_s), at_t90)


def at_resolution(signal: Signal, width_s: float) -> Signal:
    """The signal smoothed by a Gaussian to a coarser effective resolution [s, full width at half maximum]."""
    extra = np.sqrt(max(width_s**2 - signal.width_s**2, 0.0)) * signal.rate_hz / np.sqrt(8 * np.log(2))
    if extra == 0.0:
        return signal
    return _smoothed(signal, width_s, lambda series: smoothed(series, extra))


def _smoothed(signal: Signal, width_s: float, smooth: Callable[[Array], Array]) -> Signal:
    """The signal with all its series smoothed; the error of a sample falls with the root of the width."""
    own = max(signal.width_s * signal.rate_hz, 1.0)
    error = signal.error * np.sqrt(own / max(width_s * signal.rate_hz, own))
    sources = {name: (u, smooth(series)) for name, (u, series) in signal.sources.items()}
    return replace(signal, excess=smooth(signal.excess), error=error, width_s=width_s, sources=sources)


def scaled(signal: Signal, factor: Array, units: str) -> Signal:
    """The signal times a factor (time,) that converts it to other units."""
    middle = float(np.median(factor))
    sources = {name: (u, series * factor) for name, (u, series) in signal.sources.items()}
    averaged = {
        name: tuple(sensor._replace(scale=sensor.scale * middle) for sensor in group)
        for name, group in signal.averaged.items()
    }
    return replace(
        signal, excess=signal.excess * factor, level=signal.level * factor, limit=signal.limit * middle, units=units,
        sigma=signal.sigma * middle, sum_variance=signal.sum_variance * float(np.mean(factor**2)),
        unseen_sigma=signal.unseen_sigma * factor, error=signal.error * factor,
        uncertainty=signal.uncertainty * factor, drift=signal.drift * middle,
        sources=sources, averaged=averaged, residual=None if signal.residual is None else signal.residual * factor,
        removed=None if signal.removed is None else signal.removed * factor,
    )  # fmt: skip
