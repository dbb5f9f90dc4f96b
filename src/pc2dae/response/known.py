"""Which channels can be corrected for their lag: responses known from the payload, from the flight or from both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from pc2dae.flight.schema import check_flight
from pc2dae.response.kernels import LN10, WORST, Kernel, Response, memory
from pc2dae.response.stated import stated_kernel, stated_t90, with_differences
from pc2dae.response.t90 import ResponseTime, cross_terms, is_resampled, joined, response_times, stated_delay
from pc2dae.suite import Channel, Suite

_AGREE = 3.0  # combined sigma; of 20 channels one differs by two


def known_responses(
    flight: xr.Dataset, suite: Suite, *, found: Mapping[str, ResponseTime] | None = None
) -> tuple[dict[str, Response], dict[str, str]]:
    """The response of each channel of `suite` whose t90 is known to better than 30 %, and why the others' is not.

    A t90 that the falls of the flight contradict is not used, whoever states it. `found` is what the flight says about
    the responses, where that has been estimated before.
    """
    found = response_times(flight, suite.names) if found is None else found
    whole = check_flight(flight)
    delays = _delays(flight, whole, found)
    responses: dict[str, Response] = {}
    reasons: dict[str, str] = {}
    for channel in suite.channels:
        if channel.difference_of is not None:
            continue
        answer = _response(flight, whole, channel, found.get(channel.name), delays)
        if isinstance(answer, str):
            reasons[channel.name] = answer
        else:
            responses[channel.name] = answer
    return with_differences(suite, responses, reasons)


def sampling_delay_s(kernel: Kernel, rate_hz: float = 1.0) -> float:
    """How far a sensor lags behind a kernel that takes the air as constant within a sample [s].

    Samples lie at the centre of their cells on average, τ behind the air; the kernel's reading is a/(1 − a) samples
    behind, as at the end of the cell. The difference is nearly half a sample for τ of a sample and more.

    >>> round(sampling_delay_s(Kernel(4.0)), 2), sampling_delay_s(Kernel(0.0))
    (0.45, 0.0)
    """
    if kernel.kind == "gaussian":
        return 0.0
    left = memory(kernel.t90_s, rate_hz)
    return kernel.t90_s / LN10 - left / (1 - left) / rate_hz


def _response(
    flight: xr.Dataset,
    suite: Suite,
    channel: Channel,
    seen: ResponseTime | None,
    delays: Mapping[str, tuple[float, float]],
) -> Response | str:
    """The response of a channel, or why it is not known."""
    known = _t90(channel, seen)
    if isinstance(known, str):
        return known
    limit = np.nan if seen is None or channel.kernel == "gaussian" else seen.falls.limit_s  # a Gaussian falls faster
    if known.t90_s - known.uncertainty_s > limit:
        t90 = f"t90 {known.t90_s:.1f} ± {known.uncertainty_s:.1f} s ({known.source})"
        return f"{t90} contradicts the record, whose falls allow {limit:.1f} s at most"
    kernel = replace(stated_kernel(channel), t90_s=known.t90_s)
    delay, spread = delays.get(suite.instrument_of(channel.name), stated_delay(flight, suite, channel.name))
    if is_resampled(flight, suite, channel.name):
        delay += sampling_delay_s(kernel, suite.rate_hz)
    notes = "; ".join(note for note in (known.note, seen.note if seen is not None else "") if note)
    cross = cross_terms(flight, channel.name)
    return Response(kernel, known.uncertainty_s, delay, spread, known.source, cross, notes)


@dataclass(frozen=True)
class _T90:
    t90_s: float
    uncertainty_s: float
    source: str
    note: str = ""


def _t90(channel: Channel, seen: ResponseTime | None) -> _T90 | str:
    """t90 of the suite joined with that of the flight, less certain if the two contradict each other.

    What was measured for the payload, as in a response file, is used as it is.
    """
    t90, doubt = stated_t90(channel)
    why, limit = "no faster channel saw its plumes", channel.t90_limit_s
    if seen is not None:
        why, limit = seen.reason or why, min(seen.falls.limit_s, limit or np.inf) if seen.falls.limit_s > 0 else limit
    if channel.kernel != "first_order" or channel.t90_source != "suite" or (seen is not None and np.isnan(seen.t90_s)):
        seen = None  # the flight's t90 is that of a first-order sensor
    if seen is None and np.isnan(t90):
        at_most = "" if limit is None else f"; its falls allow {limit:.0f} s at most"
        return f"t90 unknown: {why if channel.kernel == 'first_order' else f'not found for {channel.kernel}'}{at_most}"
    if t90 == 0:
        return _T90(0.0, 0.0, channel.t90_source)
    if seen is None:
        known = _T90(t90, doubt, channel.t90_source)
    elif np.isnan(t90):
        known = _T90(seen.t90_s, seen.uncertainty_s, "flight")
    else:
        mean, spread = joined((t90, doubt), (seen.t90_s, seen.uncertainty_s))
        apart = abs(seen.t90_s - t90) / np.hypot(seen.uncertainty_s, doubt)
        if apart <= _AGREE:
            known = _T90(mean, spread, "suite and flight")
        elif seen.uncertainty_s > WORST * seen.t90_s:
            known = _T90(t90, doubt, channel.t90_source)
        else:  # both are sure, and one is wrong: Birge's ratio
            note = f"{t90:g} s in the suite, {seen.t90_s:.1f} ± {seen.uncertainty_s:.1f} s in this flight"
            known = _T90(mean, spread * float(apart), "suite and flight", note)
    if known.uncertainty_s > WORST * known.t90_s:
        share = 100 * known.uncertainty_s / known.t90_s
        why = f" ({known.note})" if known.note else ""
        return f"t90 {known.t90_s:.1f} ± {known.uncertainty_s:.1f} s is known only to {share:.0f} %{why}"
    return known


def _delays(flight: xr.Dataset, suite: Suite, found: Mapping[str, ResponseTime]) -> dict[str, tuple[float, float]]:
    """Delay of each timed instrument on the flight's grid and its uncertainty [s], without that of sampling.

    The flight only gives delays behind references. A reference's own delay is what it and all instruments timed by it
    agree on, except those that the flight shows to be later or earlier than stated.
    """
    timed: dict[str, str] = {}  # the channel of each instrument that is timed best
    for name, seen in found.items():
        best = timed.get(suite.instrument_of(name), name)
        if np.isfinite(seen.delay_s) and seen.delay_uncertainty_s <= found[best].delay_uncertainty_s:
            timed[suite.instrument_of(name)] = name
    delays: dict[str, tuple[float, float]] = {}
    for reference in {found[name].reference for name in timed.values()}:
        own = agreed = stated_delay(flight, suite, reference)
        for name in timed.values():
            seen = found[name]
            if seen.reference != reference:
                continue
            late, doubt = stated_delay(flight, suite, name)
            other = late - seen.delay_s, float(np.hypot(doubt, seen.delay_uncertainty_s))
            if abs(other[0] - own[0]) < 2 * np.hypot(other[1], own[1]):
                agreed = joined(agreed, other)
        delays.setdefault(suite.instrument_of(reference), agreed)
    for instrument, name in timed.items():
        seen = found[name]
        start, doubt = delays[suite.instrument_of(seen.reference)]
        delays[instrument] = start + seen.delay_s, float(np.hypot(doubt, seen.delay_uncertainty_s))
    return delays
