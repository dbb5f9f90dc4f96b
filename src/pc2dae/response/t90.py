"""What one flight says about the response of each channel: its falls, and plumes also observed by a faster channel.

The fit of two channels is in `pc2dae.response.shared_plumes`; here the references are chosen, and what several fits
say about one instrument is combined: its channels share one delay, and two fast channels check each other's t90. A
faster channel counts only if both saw the same air (`pc2dae.response.coherence`) and if the channel's own falls allow
the t90 that it suggests (`pc2dae.response.falls`).
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from pc2dae.arrays import Array, Mask
from pc2dae.flags import SATURATED
from pc2dae.flight.schema import check_flight, observed
from pc2dae.noise import noise_level
from pc2dae.response.coherence import COHERENT, coherence
from pc2dae.response.falls import NO_FALLS, Falls, falls_of
from pc2dae.response.kernels import LN10
from pc2dae.response.shared_plumes import PlumeFit, fit_shared_plumes
from pc2dae.response.stated import stated_kernel, stated_t90
from pc2dae.suite import Channel, Suite

_FAST_S = 3.0  # maximum t90 of a reference channel
_SHARP_S = 2.5  # largest limit of falls of a reference whose t90 is not stated
_SAME_CLOCK_S = 0.1  # difference of delay between channels of one instrument
_UNALIGNED_S = 5.0  # uncertainty of a clock that could not be aligned
_STRONG = 5.0  # σ that the plumes of a reference reach
_LEAST_S = 0.5


@dataclass(frozen=True)
class ResponseTime:
    """What a flight says about the response of a channel; NaN for what it does not."""

    t90_s: float
    uncertainty_s: float  # standard uncertainty
    reference: str = ""  # the faster channel
    delay_s: float = np.nan  # relative to the reference, clock error and tubing combined [s]
    delay_uncertainty_s: float = np.nan
    note: str = ""  # why the kernel does not fit
    falls: Falls = NO_FALLS
    reason: str = ""  # why there is no t90


def response_times(
    flight: xr.Dataset, names: Collection[str] | None = None, *, any_reference: bool = False
) -> dict[str, ResponseTime]:
    """What the flight says about each channel, or those among `names`, except differences of two channels.

    References are fast channels whose t90 is stated; with `any_reference`, which takes several flights to be trusted,
    also those whose falls show that they are fast. For ozone it is the t90 of the OX cell, estimated from its total
    response to O3 and NO2.
    """
    record = _Record.of(flight, any_reference=any_reference)
    found = {}
    for name in sorted(record.series, key=lambda n: -record.strength[n]):
        if names is not None and name not in names:
            continue
        reference = record.reference(name)
        if reference is None:
            answer = ResponseTime(np.nan, np.nan, reason="no faster channel saw its plumes")
        elif record.strength[name] > record.strength[reference] and name in record.fast:
            answer = record.by_slower(name, reference)  # the noisier of two fast channels is no reference
        else:
            answer = record.by_faster(name, reference)
        found[name] = replace(record.checked(name, answer), falls=record.falls[name])
    return {name: found[name] for name in record.suite.names if name in found}


def stated_delay(flight: xr.Dataset, suite: Suite, name: str) -> tuple[float, float]:
    """Delay of a channel on the flight's grid and its standard uncertainty [s], before anything was fitted.

    A sample taken after the centre of its cell appears early.
    """
    instrument, channel = suite.instrument_of(name), suite[name]
    clocks = _table(flight, "clock_offset_s")
    is_aligned = not clocks or instrument in clocks or name not in suite.sources  # a table has one clock
    delay = channel.delay_s - sampling_offset_s(flight, suite, name)
    return delay, channel.delay_uncertainty_s if is_aligned else _UNALIGNED_S


def sampling_offset_s(flight: xr.Dataset, suite: Suite, name: str) -> float:
    """How long after the centre of its cell a channel was sampled, on average [s]."""
    return _table(flight, "sampling_offset_s").get(suite.instrument_of(name), 0.0)


def is_resampled(flight: xr.Dataset, suite: Suite, name: str) -> bool:
    """Whether a channel's samples were averaged in the cells of the flight's grid."""
    return suite.instrument_of(name) in _table(flight, "sampling_offset_s")


def joined(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    """Mean of two values weighted with their inverse variances, and its uncertainty.

    >>> joined((4.0, 1.0), (6.0, 1.0))
    (5.0, 0.7071067811865475)
    """
    (x, u), (y, v) = first, second
    if u == 0 or v == 0:
        return first if u == 0 else second
    return (x * v**2 + y * u**2) / (u**2 + v**2), float(u * v / np.hypot(u, v))


@dataclass
class _Record:
    """The channels of a flight, and the fits between them made so far."""

    flight: xr.Dataset
    suite: Suite
    series: dict[str, tuple[Array, Mask, float]]  # values without gaps, mask, noise level
    strength: dict[str, float]
    falls: dict[str, Falls]
    fast: dict[str, tuple[float, float]]  # t90 of channels that may be references, and its uncertainty
    fits: dict[tuple[str, str, float], PlumeFit]
    delays: dict[tuple[str, str], tuple[float, float]]  # per instrument and reference, from its strongest channel

    @classmethod
    def of(cls, flight: xr.Dataset, *, any_reference: bool) -> _Record:
        suite = check_flight(flight)
        names = [c.name for c in suite.channels if c.difference_of is None]
        values = np.array([_signal(flight, suite, name) for name in names], dtype=np.float64)
        exact = np.array([flight.variables[f"qc_{name}"].values & SATURATED == 0 for name in names])
        valid = np.array([observed(flight, name) for name in names]) & exact & np.isfinite(values)
        noise = noise_level(values, valid).sigma
        series = {
            n: (_filled(v, ok), ok, float(s))
            for n, v, ok, s in zip(names, values, valid, noise, strict=True)
            if ok.sum() >= 100 and s > 0
        }
        strength = {n: _strength(v[ok], s) for n, (v, ok, s) in series.items()}
        falls = {n: falls_of(v, ok, sigma=s, rate_hz=suite.rate_hz) for n, (v, ok, s) in series.items()}
        known = [n for n in series if strength[n] > _STRONG and (any_reference or suite[n].t90_s is not None)]
        fast = {n: _fast(suite[n], falls[n]) for n in known}
        fast = {n: t90 for n, t90 in fast.items() if t90[0] <= _FAST_S}
        return cls(flight, suite, series, strength, falls, fast, {}, {})

    def reference(self, name: str) -> str | None:
        """Fast channel of another instrument with the strongest plumes; a duplicate of the channel is preferred."""
        own, pairs = self.suite.instrument_of(name), self.suite.duplicates()
        fast = [n for n in self.fast if self.suite.instrument_of(n) != own]
        return max(fast, key=lambda n: (tuple(sorted((n, name))) in pairs, self.strength[n]), default=None)

    def checked(self, name: str, answer: ResponseTime) -> ResponseTime:
        """The answer, unless the two channels saw different air or the channel falls faster than it allows."""
        if not np.isfinite(answer.t90_s):
            return answer
        values, sigma, limit = self.series[name][0], self.series[name][2], self.falls[name].limit_s
        other, _, noise = self.series[answer.reference]
        late = round(np.nan_to_num(answer.delay_s) * self.suite.rate_hz)
        same = coherence(values, np.roll(other, late), t90_s=max(answer.t90_s, self.fast[answer.reference][0]),
                         sigma=(sigma, noise), rate_hz=self.suite.rate_hz)  # fmt: skip
        if same < COHERENT:
            reason = f"{answer.reference} saw other air: squared coherence {same:.2f} around t90 {answer.t90_s:.0f} s"
        elif answer.t90_s - answer.uncertainty_s > limit:
            reason = f"t90 {answer.t90_s:.0f} s from {answer.reference}, but its own falls allow {limit:.0f} s at most"
        else:
            return answer
        return ResponseTime(np.nan, np.nan, reason=reason)

    def by_slower(self, name: str, other: str) -> ResponseTime:
        """t90 of a fast channel from that of another, stated one: the fit of the latter gives their difference."""
        (t90, uncertainty), assumed = self.fast[other], self.fast[name][0]
        fit = self._fit(other, name, assumed)
        behind = float(np.exp(fit.log_t90))
        spread = float(np.hypot(uncertainty, behind * fit.covariance[0, 0] ** 0.5))
        return ResponseTime(max(t90 - (behind - assumed), _LEAST_S), spread, other)

    def by_faster(self, name: str, reference: str) -> ResponseTime:
        """t90 and delay of a channel behind its reference, whose own t90 is the suite's joined with the flight's."""
        fast, doubt = self.fast[reference]
        other = self.reference(reference)
        is_own = other is not None and self.suite.instrument_of(other) == self.suite.instrument_of(name)
        if other is not None and not is_own and self.strength[reference] > self.strength[other]:
            checked = self.by_slower(reference, other)
            if np.isfinite(checked.t90_s):
                fast, doubt = joined((fast, doubt), (checked.t90_s, checked.uncertainty_s))
        fit = self._fit(name, reference, fast)
        if not np.isfinite(fit.log_t90):
            return ResponseTime(np.nan, np.nan, reason=f"its plumes are not those of {reference}")
        key = self.suite.instrument_of(name), reference
        if key not in self.delays:
            (own, sigma), (behind, of_reference) = (stated_delay(self.flight, self.suite, n) for n in (name, reference))
            fit = fit.with_delay(own - behind, float(np.hypot(sigma, of_reference)))
            self.delays[key] = fit.delay_s, float(np.hypot(fit.covariance[1, 1] ** 0.5, _SAME_CLOCK_S))
        elif (fit := fit.with_delay(*self.delays[key])) is self.fits[name, reference, fast]:
            return ResponseTime(np.nan, np.nan, reason="its delay is not that of its instrument")
        t90 = float(np.exp(fit.log_t90))
        # An error of the reference's t90 counts in full in sharp plumes, by (fast/t90)² in smooth ones.
        shared = min(fast / t90, 1.0) * doubt / max(fast, _LEAST_S)
        relative = float(np.hypot(fit.covariance[0, 0] ** 0.5, shared))
        late = float(np.hypot(fit.covariance[1, 1] ** 0.5, doubt / LN10 * abs(1 - min(fast / t90, 1.0))))
        return ResponseTime(t90, t90 * relative, reference, fit.delay_s, late, fit.note)

    def _fit(self, name: str, reference: str, fast_t90_s: float) -> PlumeFit:
        if (name, reference, fast_t90_s) not in self.fits:
            values, valid, sigma = self.series[name]
            (own, _), (behind, _) = (stated_delay(self.flight, self.suite, n) for n in (name, reference))
            self.fits[name, reference, fast_t90_s] = fit_shared_plumes(
                values,
                valid,
                self.series[reference][0],
                replace(stated_kernel(self.suite[reference]), t90_s=fast_t90_s),
                sigma=sigma,
                kernel=stated_kernel(self.suite[name]),
                delay_s=own - behind,
                rate_hz=self.suite.rate_hz,
            )
        return self.fits[name, reference, fast_t90_s]


def _filled(values: Array, valid: Mask) -> Array:
    seen = np.flatnonzero(valid)
    straight: Array = np.interp(np.arange(len(values)), seen, values[seen])
    return straight


def cross_terms(flight: xr.Dataset, name: str) -> tuple[tuple[str, float], ...]:
    """Channels that were subtracted from a sensor's signal to form this one, and their gains: NO2 for an OX cell."""
    return tuple(json.loads(flight.variables[name].attrs.get("signal_cross", "{}")).items())


def _signal(flight: xr.Dataset, suite: Suite, name: str) -> Array:
    """What the sensor behind a channel responds to, without the subtraction of others."""
    signal: Array = flight.variables[name].values.astype(np.float64)
    for partner, gain in cross_terms(flight, name):
        signal = signal + gain * flight.variables[partner].values
    return signal


def _fast(channel: Channel, falls: Falls) -> tuple[float, float]:
    """t90 of a possible reference and its uncertainty [s]: stated, or anything up to the limit of its falls."""
    if channel.t90_s is not None:
        return stated_t90(channel)
    return (falls.limit_s / 2, falls.limit_s / 2) if falls.limit_s <= _SHARP_S else (np.nan, np.nan)


def _strength(values: Array, sigma: float) -> float:
    """99th percentile minus median of the 5-sample medians, in σ."""
    medians = np.median(np.lib.stride_tricks.sliding_window_view(values, 5), axis=1)
    return float((np.quantile(medians, 0.99) - np.median(medians)) / sigma)


def _table(flight: xr.Dataset, attribute: str) -> dict[str, float]:
    text = flight.attrs.get(attribute)
    return json.loads(text) if isinstance(text, str) else {}
