r"""Steps: t90 and delay of a channel whose inlet was moved into known air, or out of it (numpy and scipy only).

A first-order sensor answers a change of the air at :math:`t_0` from u to v with

.. math:: r(t) = u + (v - u)(1 - e^{-(t-t_0)/\tau})

A plateau that is not reached is fitted as the approach to it, and refused with its slope where that does not give t90.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from pc2dae.arrays import Array
from pc2dae.errors import ResponseError, nearest
from pc2dae.flags import BAD, FLAT_LINE, SATURATED
from pc2dae.flight.schema import suite_of
from pc2dae.response.kernels import LN10, WORST

_LEAD = 0.25  # of an exposure: how far the change may lie from the stated time
_LEAST = 8  # samples of a step
_MOST = 400  # to which longer ones are averaged
_HEIGHT = 8.0  # standard uncertainties, below which nothing has changed …
_WOBBLE = 0.02  # … or this share of the reading, as plateaus wobble
_SHAPE = 0.03  # largest residual standard deviation, of the height: more is not one exponential
_KNOWN = 0.04  # relative uncertainty of t90 that even a good fit has: no change of air is sudden
_REACHED = 0.7  # of the height, at the end of a fit
_STAYED = 0.03  # of the height: how far a plateau may go back
_RESOLVED = 0.5  # samples; a shorter time constant is not seen
_START, _CLOCK_S = 0.03, 0.3  # uncertainty of when an answer began: of t90, and of the samples' times
_OTHER = 0.2  # height of the second change of an exposure, relative to the first, from which it counts

_QUARTILE = 0.6745  # of the absolute value of a standard normal variable

Stamp = np.datetime64


@dataclass(frozen=True)
class Exposure:
    """A channel in other air between two times, as stated: to the nearest few seconds or minutes."""

    channel: str
    start: Stamp
    end: Stamp


@dataclass(frozen=True)
class SensorStep:
    """The answer of a channel to one change of its air; with a reason, it gives no t90."""

    channel: str
    is_first: bool  # into the other air, not out of it
    is_rise: bool
    t90_s: float = np.nan
    uncertainty_s: float = np.nan  # standard uncertainty
    start_s: float = np.nan  # of the answer, after the stated time
    height: float = np.nan
    delay_s: float = np.nan  # behind the first channel that answered to this change
    delay_uncertainty_s: float = np.nan
    reason: str = ""


def steps_of(flight: xr.Dataset, exposures: Sequence[Exposure]) -> list[SensorStep]:
    """The steps at both ends of each exposure that the flight covers; an unknown channel is an error."""
    suite = suite_of(flight)
    time = flight["time"].values
    changes: dict[tuple[Stamp, Stamp], list[SensorStep]] = {}  # of channels that were exposed together
    for on in exposures:
        if on.channel not in suite.names:
            raise ResponseError(f"the flight has no channel '{on.channel}'", hint=nearest(on.channel, suite.names))
        if on.end < time[0] or on.start > time[-1]:
            continue
        bits = flight.variables[f"qc_{on.channel}"].values
        values = flight.variables[on.channel].values.astype(np.float64)
        good = ((bits & (BAD & ~FLAT_LINE | SATURATED)) == 0) & np.isfinite(values)
        second = np.timedelta64(1, "s")
        steps = exposure_steps(
            on.channel, ((time - on.start) / second)[good], values[good], float((on.end - on.start) / second)
        )
        if not steps:
            period = f"from {str(on.start)[:19]}Z to {str(on.end)[:19]}Z"
            steps = [SensorStep(on.channel, is_first=True, is_rise=True, reason=f"no step in its reading {period}")]
        changes.setdefault((on.start, on.end), []).extend(steps)
    return [step for together in changes.values() for step in _with_delays(together)]


def exposure_steps(channel: str, time_s: Array, values: Array, length_s: float) -> list[SensorStep]:
    """The steps of a channel into other air at 0 s and out of it at `length_s`; those of which there is a sign.

    >>> time = np.arange(-30.0, 120.0)
    >>> reading = 5 + 100 * (1 - np.exp(-np.maximum(time - 2.5, 0) / 8.0))
    >>> step, = exposure_steps("co", time, reading, 100.0)
    >>> step.is_rise, round(float(step.t90_s / np.log(10)), 1), round(step.start_s, 1)
    (True, 8.0, 2.5)
    """
    lead = _LEAD * length_s
    both = [_step(channel, time_s - at, values, lead, length_s - lead, is_first=at == 0) for at in (0.0, length_s)]
    highest = max((abs(step.height) for step in both if step is not None), default=0.0)
    return [step for step in both if step is not None and abs(step.height) >= _OTHER * highest]


def _step(
    channel: str, time_s: Array, values: Array, lead: float, length: float, *, is_first: bool
) -> SensorStep | None:
    """The answer to a change within `lead` of 0 s, seen for `length`; None if there is no sign of one."""
    inside = (time_s >= -2 * lead) & (time_s <= length)
    t, x = _thinned(time_s[inside], values[inside])
    if len(t) < _LEAST or t[-1] <= 0 or not np.ptp(x) > 0:
        return None
    fit = _Fit.of(t, x, lead)
    left = float(np.exp(-(t[-1] - fit.start) / fit.tau))
    height = fit.height * (1 - left)  # that was seen
    if abs(fit.start) > lead or abs(height) < max(_HEIGHT * fit.height_doubt, _WOBBLE * float(np.abs(x).max())):
        return None
    step = SensorStep(channel, is_first, height > 0, start_s=fit.start, height=height)
    if fit.misfit > _SHAPE * abs(height):
        share = 100 * fit.misfit / abs(height)
        return replace(step, reason=f"not a step: it departs by {share:.0f} % of its height from one exponential")
    if fit.tau < _RESOLVED * float(np.median(np.diff(t))):
        return replace(step, reason="its step is faster than its samples show")
    if left > 1 - _REACHED:
        slope = abs(fit.height) * left / fit.tau * 60
        change = "rises" if step.is_rise else "falls"
        return replace(step, reason=f"its plateau is not reached: it still {change} by {slope:.3g} a minute at the end")
    if (back := _went_back(x, height)) > _STAYED:
        return replace(step, reason=f"its air did not stay: the reading went back by {100 * back:.0f} % of its height")
    doubt = float(np.hypot(fit.doubt, _KNOWN))
    if doubt > WORST:
        return replace(step, reason=f"its t90 of {LN10 * fit.tau:.3g} s is known only to {100 * doubt:.0f} %")
    return replace(step, t90_s=LN10 * fit.tau, uncertainty_s=LN10 * fit.tau * doubt)


def _went_back(x: Array, height: float) -> float:
    """How far the end of a step lies behind its extreme, as a share of its height."""
    size = max(len(x) // 20, 3)
    means = np.convolve(x if height > 0 else -x, np.ones(size) / size, "valid")
    return float((means.max() - means[-1]) / abs(height))


@dataclass(frozen=True)
class _Fit:
    """The least-squares step of a series: start [s], time constant [s] and its relative uncertainty, height."""

    start: float
    tau: float
    doubt: float
    height: float
    height_doubt: float
    misfit: float  # standard deviation of what is left, without the noise

    @classmethod
    def of(cls, t: Array, x: Array, lead: float) -> _Fit:
        """The step with the least squares."""
        from scipy.optimize import least_squares

        spacing, span = float(np.median(np.diff(t))), float(t[-1] - t[0])
        starts, taus = np.linspace(-lead, lead, 33), np.geomspace(spacing / 4, 2 * span, 25)
        places = [(float(s), float(tau)) for s in starts for tau in taus]
        start, tau = min(places, key=lambda place: float(np.sum(_rest(t, x, *place)[0] ** 2)))
        best = least_squares(
            lambda p: _rest(t, x, p[0], float(np.exp(p[1])))[0], (start, np.log(tau)), x_scale=(spacing, 0.1)
        )
        start, tau = float(best.x[0]), float(np.exp(best.x[1]))
        rest, height = _rest(t, x, start, tau)
        variance = float(rest @ rest) / max(len(t) - 4, 1)
        rho = float(np.clip(rest[1:] @ rest[:-1] / max(float(rest @ rest), 1e-300), 0.0, 0.98))
        spread = variance * (1 + rho) / (1 - rho)  # residuals that hang together count less
        doubt = float((spread * np.linalg.pinv(best.jac.T @ best.jac))[1, 1] ** 0.5)
        noise = float(np.median(np.abs(np.diff(x)))) / _QUARTILE / 2**0.5
        misfit = float(max(variance - noise**2, 0.0)) ** 0.5
        before = int(np.clip(np.sum(t < start), 1, len(t) - 1))
        height_doubt = float((spread * (1 / before + 1 / (len(t) - before))) ** 0.5)
        return cls(start, tau, doubt, height, height_doubt, misfit)


def _rest(t: Array, x: Array, start: float, tau: float) -> tuple[Array, float]:
    """What a step leaves of a series, with the best levels, and its height."""
    answer = -np.expm1(-np.maximum(t - start, 0.0) / tau)
    design = np.stack([np.ones_like(t), answer], axis=1)
    best = np.linalg.lstsq(design, x, rcond=None)[0]
    return x - design @ best, float(best[1])


def _thinned(t: Array, x: Array) -> tuple[Array, Array]:
    """Means of neighbours, where there are more samples than the fit needs."""
    size = -(-len(t) // _MOST)
    whole = len(t) // size * size
    first, second = (a[:whole].reshape(-1, size).mean(axis=1) for a in (t, x))
    return np.asarray(first), np.asarray(second)


def _with_delays(steps: Sequence[SensorStep]) -> list[SensorStep]:
    """The steps with their delays behind the channel that answered first to the same change."""
    known = [step for step in steps if not step.reason]
    first = {
        side: min((s.start_s for s in known if s.is_first is side), default=np.nan)
        for side in {s.is_first for s in known}
        if len({s.channel for s in known if s.is_first is side}) > 1
    }
    return [
        replace(s, delay_s=s.start_s - first[s.is_first], delay_uncertainty_s=_START * s.t90_s + _CLOCK_S)
        if not s.reason and s.is_first in first else s
        for s in steps
    ]  # fmt: skip
