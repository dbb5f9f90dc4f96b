"""The responses that a suite states: all that a live stream can use (numpy only)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from pc2dae.response.kernels import LN10, WORST, Kernel, Response
from pc2dae.suite import Channel, Suite

_USUAL = 0.15  # relative uncertainty of a t90 stated without one


def stated_kernel(channel: Channel) -> Kernel:
    """The kernel of a channel's suite entry; t90 is 0 where it states none."""
    return Kernel(channel.t90_s or 0.0, channel.kernel, channel.slow_t90_s or 0.0, channel.slow_share or 0.0)


def stated_t90(channel: Channel) -> tuple[float, float]:
    """t90 of a channel's suite entry and its standard uncertainty [s]; NaN where it states none."""
    if channel.t90_s is None:
        return np.nan, np.nan
    doubt = channel.t90_uncertainty_s
    return channel.t90_s, _USUAL * channel.t90_s if doubt is None else doubt


def lags_left_s(
    suite: Suite, corrected: Collection[str], limits_s: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Root mean square time constants [s] of the channels whose lag is not corrected, as far as anything is known.

    From t90 and its uncertainty, but not above the limit of falls (`limits_s`, or the suite's); with nothing but a
    limit, t90 may be anything below it.
    """
    left = {}
    for channel in suite.channels:
        limit = float(np.fmin((limits_s or {}).get(channel.name, np.nan), channel.t90_limit_s or np.nan))
        t90 = float(np.fmin(np.hypot(*stated_t90(channel)), limit)) if channel.t90_s is not None else limit / 3**0.5
        if channel.name not in corrected and t90 > 0:
            left[channel.name] = t90 / LN10
    return left


def stated_responses(
    suite: Suite, cross: Mapping[str, Mapping[str, float]] | None = None
) -> tuple[dict[str, Response], dict[str, str]]:
    """The response of each channel whose t90 the suite states to better than 30 %, and why the others' is not used.

    `cross` are the interferences in each channel's signal that a calibration has subtracted.
    """
    responses: dict[str, Response] = {}
    reasons: dict[str, str] = {}
    for channel in suite.channels:
        if channel.difference_of is not None:
            continue
        t90, doubt = stated_t90(channel)
        if np.isnan(t90):
            limit = "" if channel.t90_limit_s is None else f", at most {channel.t90_limit_s:.0f} s"
            reasons[channel.name] = f"t90 unknown: not in the suite{limit}"
        elif doubt > WORST * t90:
            reasons[channel.name] = f"t90 {t90:g} ± {doubt:g} s is known only to {100 * doubt / t90:.0f} %"
        else:
            responses[channel.name] = Response(
                stated_kernel(channel),
                doubt,
                channel.delay_s,
                channel.delay_uncertainty_s,
                source=channel.t90_source,
                cross=tuple((cross or {}).get(channel.name, {}).items()),
            )
    return with_differences(suite, responses, reasons)


def with_differences(
    suite: Suite, responses: dict[str, Response], reasons: dict[str, str]
) -> tuple[dict[str, Response], dict[str, str]]:
    """Responses and reasons with those of differences of two channels, known if both parts are."""
    responses, reasons = dict(responses), dict(reasons)
    for channel in suite.channels:
        if channel.difference_of is not None:
            first, second = channel.difference_of
            if first in responses and second in responses:
                responses[channel.name] = replace(responses[first], cross=((second, 1.0),))
            else:
                reasons[channel.name] = f"a difference of {first} and {second}, of which at least one is not corrected"
    return responses, reasons
