"""One response of a payload from all its flights: falls, plumes that a faster channel saw too, and steps.

A payload has one response and a campaign many flights. What single flights show is known to 30 or 40 % each, yet they
agree: their mean, with the scatter between them, is known better than any of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import erf

import numpy as np
import xarray as xr

from pc2dae.errors import FlightError, ResponseError
from pc2dae.flight.schema import add_history, suite_of
from pc2dae.response.falls import NO_FALLS, Falls, pooled
from pc2dae.response.kernels import WORST
from pc2dae.response.payload import ChannelResponse, PayloadResponse, with_response
from pc2dae.response.stated import stated_t90
from pc2dae.response.steps import Exposure, SensorStep, steps_of
from pc2dae.response.t90 import ResponseTime, joined, response_times, sampling_offset_s
from pc2dae.suite import Channel, Suite

_AGREE = 3.0  # combined standard uncertainties
_FEW_FLIGHTS = 3  # needed to trust a reference whose own t90 is not stated
_FIRST_ORDER = 0.08  # relative uncertainty of t90 from plumes and falls, at least: no sensor is exactly first order
_SHARPEST = 0.02  # relative uncertainty of a limit, at least

Value = tuple[float, float]  # with its standard uncertainty


@dataclass(frozen=True)
class FlightEvidence:
    """What one flight shows of its payload's response."""

    flight: str
    suite: Suite
    seen: Mapping[str, ResponseTime]
    sampled_late_s: Mapping[str, float]  # after the centre of a cell, on average
    steps: tuple[SensorStep, ...] = ()

    def delay_s(self, name: str) -> float:
        """Delay of a channel behind its reference, without that of sampling [s]."""
        seen = self.seen[name]
        return seen.delay_s + self.sampled_late_s[name] - self.sampled_late_s[seen.reference]


def evidence_of(flight: xr.Dataset, exposures: Sequence[Exposure] = ()) -> FlightEvidence:
    """What a flight, screened and compensated but not denoised, shows of its payload's response."""
    name = str(flight.attrs.get("id") or "flight")
    if flight.attrs.get("level") == "denoised":
        raise FlightError(f"{name} is denoised already", hint="pass the flight it was made from")
    suite = suite_of(flight)
    late = {n: sampling_offset_s(flight, suite, n) for n in suite.names}
    seen = response_times(flight, any_reference=True)
    return FlightEvidence(name, suite, seen, late, tuple(steps_of(flight, exposures)))


def pool(evidence: Sequence[FlightEvidence]) -> PayloadResponse:
    """The response of the payload that all flights belong to, channel by channel."""
    suite = _shared_suite(evidence)
    names = [c.name for c in suite.channels if c.difference_of is None]
    channels = {name: _channel(suite[name], suite, evidence) for name in names}
    delays = {n: _delay(n, suite, evidence) for n in names}
    channels = {
        n: c.model_copy(update={"delay_s": round(delays[n][0], 3), "delay_uncertainty_s": round(delays[n][1], 3)})
        for n, c in channels.items()
    }
    return PayloadResponse(suite=suite.name, flights=tuple(e.flight for e in evidence), channels=channels)


def completed(flight: xr.Dataset, response: PayloadResponse) -> xr.Dataset:
    """The flight with a suite that states the responses of its payload."""
    suite = with_response(suite_of(flight), response.channels)
    done = flight.assign_attrs(
        suite=suite.model_dump_json(exclude_defaults=True), pc2dae_response_sha256=response.digest
    )
    known = [name for name, channel in response.channels.items() if channel.is_usable and name in suite.names]
    return add_history(done, f"response of {', '.join(known) or 'no channel'} from sha256 {response.digest[:12]}")


def flights_mean(values: Sequence[Value]) -> Value:
    """Mean of what several flights say, weighted with inverse variances that include the scatter between flights.

    DerSimonian and Laird, doi:10.1016/0197-2456(86)90046-2.

    >>> [round(x, 2) for x in flights_mean([(12.0, 1.0), (13.0, 1.0)])], flights_mean([(10.0, 0.1), (14.0, 0.1)])[1] > 1
    ([12.5, 0.71], True)
    """
    x, u = np.array(values).T
    weight = u**-2.0
    mean = float(weight @ x / weight.sum())
    excess = float(weight @ (x - mean) ** 2) - (len(x) - 1)
    scale = weight.sum() - (weight @ weight) / weight.sum()
    weight = 1 / (u**2 + max(excess / scale, 0.0)) if scale > 0 else weight
    return float(weight @ x / weight.sum()), float(weight.sum() ** -0.5)


def below_limit(t90: Value, limit: Value) -> Value | None:
    """A t90 that is known not to exceed a limit; None if it contradicts it.

    >>> [round(x, 1) for x in below_limit((14.0, 1.0), (13.0, 0.5)) or ()], below_limit((20.0, 1.0), (13.0, 0.5))
    ([12.7, 0.6], None)
    """
    (x, u), (most, blur) = t90, (limit[0], max(limit[1], _SHARPEST * limit[0]))
    if x - most > _AGREE * np.hypot(u, blur):
        return None
    if u == 0:
        return t90
    at = np.linspace(max(x - 6 * u, 0.0), x + 6 * u, 601)
    allowed = np.array([1 + erf((most - t) / blur / 2**0.5) for t in at])
    weight = np.exp(-0.5 * ((at - x) / u) ** 2) * allowed
    mean = float(weight @ at / weight.sum())
    return mean, float((weight @ (at - mean) ** 2 / weight.sum()) ** 0.5)


def _shared_suite(evidence: Sequence[FlightEvidence]) -> Suite:
    if not evidence:
        raise ResponseError("there is no flight to pool", hint="pass the flights of one payload")
    first = evidence[0]
    for other in evidence[1:]:
        if other.suite.name != first.suite.name:
            raise ResponseError(
                f"{first.flight} was flown with payload '{first.suite.name}', {other.flight} with '{other.suite.name}'",
                hint="a response belongs to one payload: pool the flights of each by themselves",
            )
        if odd := sorted(set(other.suite.names) ^ set(first.suite.names)):
            without = other if odd[0] in first.suite.names else first
            raise ResponseError(f"{without.flight} has no channel '{odd[0]}', which other flights have",
                                hint="read all flights with the same --suite")  # fmt: skip
    return first.suite


@dataclass(frozen=True)
class _Estimate:
    t90: Value
    source: str


def _channel(channel: Channel, suite: Suite, evidence: Sequence[FlightEvidence]) -> ChannelResponse:
    """All that is known of one channel, without its delay."""
    own = [e.seen[channel.name] for e in evidence if channel.name in e.seen]
    falls = pooled([seen.falls for seen in own]) if own else NO_FALLS
    steps = [step for e in evidence for step in e.steps if step.channel == channel.name]
    usable = [step for step in steps if not step.reason]
    is_first_order = channel.kernel == "first_order"
    limit = (falls.limit_s, falls.limit_uncertainty_s) if is_first_order and falls.limit_s > 0 else None
    estimates = [_Estimate(_of_steps(usable), "steps")] if usable else []
    why = [step.reason for step in steps if step.reason]
    if is_first_order:
        estimates += _of_plumes(channel.name, suite, evidence, why)
        estimates += _of_falls(falls, why)
    if channel.t90_s is not None and channel.t90_source == "suite":  # others may come from these very flights
        estimates.append(_Estimate(stated_t90(channel), channel.t90_source))
    about = ChannelResponse(
        kernel=channel.kernel,
        slow_t90_s=channel.slow_t90_s or 0.0,
        slow_share=channel.slow_share or 0.0,
        limit_s=None if limit is None else round(limit[0], 2),
        rise_s=_mean_t90(s for s in usable if s.is_rise),
        fall_s=_mean_t90(s for s in usable if not s.is_rise),
        flights=sum(len(seen.falls.t90_s) > 0 or bool(np.isfinite(seen.t90_s)) for seen in own),
        falls=len(falls.t90_s),
        steps=len(usable),
    )
    if channel.t90_s == 0:
        return about.model_copy(update={"t90_s": 0.0, "source": channel.t90_source})
    known = _combined(estimates, limit, why)
    if known is None:
        return about.model_copy(update={"reason": "; ".join(why) or "no falls, and no faster channel saw its plumes"})
    (t90, doubt), source = known.t90, known.source
    vague = "" if doubt <= WORST * t90 else f"known only to {100 * doubt / t90:.0f} %"
    known_to = {"t90_s": round(t90, 3), "t90_uncertainty_s": round(doubt, 3), "source": source, "reason": vague}
    return about.model_copy(update=known_to)


def _of_plumes(name: str, suite: Suite, evidence: Sequence[FlightEvidence], why: list[str]) -> list[_Estimate]:
    """t90 behind the faster channel that most flights take, if there are enough of them."""
    own = [(e.flight, e.seen[name]) for e in evidence if name in e.seen]
    references = Counter(seen.reference for _, seen in own if np.isfinite(seen.t90_s))
    if not references:
        reasons = [seen.reason for _, seen in sorted(own, key=lambda pair: -len(pair[1].falls.t90_s)) if seen.reason]
        why += reasons[:1]
        return []
    ((reference, count),) = references.most_common(1)
    stated = stated_t90(suite[reference])
    is_stated = np.isfinite(stated[0])
    if not is_stated and count < _FEW_FLIGHTS:
        why.append(f"behind {reference} in {count} of {len(own)} flights, of which {_FEW_FLIGHTS} are needed")
        return []
    fast = pooled([e.seen[reference].falls for e in evidence if reference in e.seen])
    shared = stated[1] if is_stated else fast.limit_s / 2  # the reference is equally wrong in every flight
    t90s = [(s.t90_s, float(max(s.uncertainty_s**2 - shared**2, (s.uncertainty_s / 2) ** 2)) ** 0.5)
            for _, s in own if s.reference == reference and np.isfinite(s.t90_s)]  # fmt: skip
    mean, spread = flights_mean(t90s)
    return [_Estimate((mean, float(np.hypot(spread, shared))), reference)]


def _of_falls(falls: Falls, why: list[str]) -> list[_Estimate]:
    t90, doubt, _ = falls.pile()
    if np.isfinite(t90):
        return [_Estimate((t90, doubt), "falls")]
    if len(falls.t90_s):
        why.append(f"{len(falls.t90_s)} falls do not pile up")
    return []


def _of_steps(steps: Sequence[SensorStep]) -> Value:
    """Mean t90 of steps; rise and fall of one sensor may differ, and their mean is uncertain by a third of that."""
    sides = [[(s.t90_s, s.uncertainty_s) for s in steps if s.is_rise is up] for up in (True, False)]
    means = [flights_mean(side) for side in sides if side]
    if len(means) == 1:
        return means[0]
    (up, doubt), (down, spread) = means
    return (up + down) / 2, float(np.hypot(np.hypot(doubt, spread) / 2, abs(up - down) / 12**0.5))


def _mean_t90(steps: Iterable[SensorStep]) -> float | None:
    values = [(s.t90_s, s.uncertainty_s) for s in steps]
    return round(flights_mean(values)[0], 3) if values else None


def _combined(estimates: Sequence[_Estimate], limit: Value | None, why: list[str]) -> _Estimate | None:
    """The estimates that agree with the limit and with those before them, joined."""
    known: _Estimate | None = None
    for one in estimates:
        if limit is not None and below_limit(one.t90, limit) is None:
            t90 = f"t90 {one.t90[0]:.1f} ± {one.t90[1]:.1f} s ({one.source})"
            why.append(f"{t90} contradicts the falls, which allow {limit[0]:.1f} s at most")
        elif known is None:
            known = one
        elif abs(one.t90[0] - known.t90[0]) <= _AGREE * np.hypot(one.t90[1], known.t90[1]):
            known = _Estimate(joined(known.t90, one.t90), f"{known.source} and {one.source}")
        elif one.t90[1] * known.t90[0] < known.t90[1] * one.t90[0]:  # the better known of two that contradict
            known = one
    if known is not None and not {"steps", "suite"} & set(known.source.split(" and ")):
        known = _Estimate((known.t90[0], max(known.t90[1], _FIRST_ORDER * known.t90[0])), known.source)
    if known is None or limit is None:
        return known
    within = below_limit(known.t90, limit)
    return None if within is None else _Estimate(within, known.source)


def _delay(name: str, suite: Suite, evidence: Sequence[FlightEvidence]) -> Value:
    """Delay of a channel [s] with the uncertainty that it has in a single flight: clocks differ between flights.

    No delay is negative: a channel that is ahead of its reference has 0, uncertain by as much.
    """
    stated = suite[name].delay_s, suite[name].delay_uncertainty_s
    own = [e for e in evidence if name in e.seen and np.isfinite(e.seen[name].delay_s)]
    if own:
        reference = Counter(e.seen[name].reference for e in own).most_common(1)[0][0]
        same = [e for e in own if e.seen[name].reference == reference]
        values = [(e.delay_s(name), e.seen[name].delay_uncertainty_s) for e in same]
        mean, doubt = flights_mean(values)
        scatter = float(np.std([x for x, _ in values])) if len(values) > 1 else 0.0
        late = suite[reference].delay_s + mean
        return max(late, 0.0), float(np.hypot(np.hypot(doubt, scatter), min(late, 0.0)))
    steps = [(step.delay_s, step.delay_uncertainty_s) for e in evidence for step in e.steps
             if step.channel == name and not step.reason and np.isfinite(step.delay_s)]  # fmt: skip
    return flights_mean(steps) if steps else stated
