"""The air behind a flight's readings: which responses are undone, and whether the record accepts the result."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from pc2dae.arrays import Floats, Mask
from pc2dae.denoiser import Estimate
from pc2dae.edge.adaptive import AdaptiveDenoiser
from pc2dae.edge.lag import Lags
from pc2dae.noise import Noise, sum_variance
from pc2dae.response.acceptance import CorrectedChannel, rejection
from pc2dae.response.kernels import LN10
from pc2dae.response.known import known_responses
from pc2dae.response.stated import lags_left_s, stated_responses
from pc2dae.response.t90 import response_times
from pc2dae.suite import Suite
from pc2dae.windows.arrays import arrays_of


@dataclass(frozen=True)
class LagLeft:
    """Why a channel keeps its lag, and what is known about its size."""

    reason: str
    limit_s: float = np.nan  # largest t90 possible

    @property
    def attributes(self) -> dict[str, str | float]:
        """Attributes of the channel."""
        limit = {"t90_limit_s": round(self.limit_s, 1)} if np.isfinite(self.limit_s) else {}
        return {"lag_not_corrected": self.reason} | limit


def for_air(
    denoiser: AdaptiveDenoiser, flight: xr.Dataset, suite: Suite
) -> tuple[AdaptiveDenoiser, dict[str, LagLeft]]:
    """The denoiser with the responses it is to undo, and why it does not undo those of the other channels.

    A stream knows what suite, response file and calibration state; a flight also what its own record says.
    """
    limits: dict[str, float] = {}
    if denoiser.profile == "live":
        cross = {name: json.loads(flight.variables[name].attrs.get("calibration_cross", "{}")) for name in suite.names}
        responses, reasons = stated_responses(suite, cross)
    else:
        found = response_times(flight, suite.names)
        responses, reasons = known_responses(flight, suite, found=found)
        limits = {name: seen.falls.limit_s for name, seen in found.items()}
    left_s = lags_left_s(suite, responses, limits)
    stated = {c.name: c.t90_limit_s or np.nan for c in suite.channels}
    left = {n: LagLeft(why, float(np.fmin(limits.get(n, np.nan), stated[n]))) for n, why in reasons.items()}
    return replace(denoiser, responses=responses, left_s=left_s), left


def accepted_estimate(
    denoiser: AdaptiveDenoiser, left: dict[str, LagLeft], flight: xr.Dataset, suite: Suite, noise: Noise
) -> tuple[Estimate, AdaptiveDenoiser, dict[str, LagLeft]]:
    """The estimate with the responses that the record accepts; a stream cannot look back, and uses them all."""
    values, environment, valid = arrays_of(flight, suite)
    while True:
        estimate = denoiser.prepare(flight, suite)(values, environment, valid)
        if denoiser.profile == "live":
            return estimate, denoiser, left
        known = denoiser.responses
        reasons = _rejected(denoiser.lags(suite), estimate, values, valid, noise)
        reasons |= {
            n: "of a channel it is made from" for n, r in known.items() if {c for c, _ in r.cross} & set(reasons)
        }
        if not reasons:
            return estimate, denoiser, left
        left = left | {n: LagLeft(f"t90 {known[n].kernel.t90_s:.1f} s rejected, {why}") for n, why in reasons.items()}
        tau = {n: float(np.hypot(known[n].kernel.t90_s, known[n].t90_uncertainty_s)) / LN10 for n in reasons}
        kept = {n: r for n, r in known.items() if n not in reasons}
        denoiser = replace(denoiser, responses=kept, left_s={**denoiser.left_s, **tau})


def _rejected(lags: Lags, estimate: Estimate, values: Floats, valid: Mask, noise: Noise) -> dict[str, str]:
    """Why the record does not accept the response of some channels; not of those that others were subtracted from."""
    if not lags.ambient or estimate.sigma is None or estimate.systematic is None:
        return {}
    response = lags.response(estimate.unbounded)
    reading, seen, _ = lags.in_step(values, valid)
    random = np.sqrt(np.maximum(estimate.sigma**2 - estimate.systematic**2, 0.0))
    found = {}
    for row, (channel, known) in enumerate(zip(lags.suite.channels, lags.known, strict=True)):
        if known is None or known.kernel.t90_s == 0 or known.cross or not noise.sigma[row] > 0:
            continue
        spacing = float(np.median(np.diff(np.flatnonzero(seen[row])))) if seen[row].sum() > 1 else 1.0
        kept, rho = lags.memory[row] ** spacing, float(noise.lag1[row])
        found[channel.name] = rejection(CorrectedChannel(
            reading[row], seen[row], response[row], estimate.unbounded[row], random[row], float(noise.sigma[row]),
            sum_variance(float(noise.sigma[row]), rho) ** 0.5, known.kernel.t90_s * lags.rate_hz / LN10,
            float(np.sqrt(1 + kept**2 - 2 * kept * rho) / (1 - kept)), channel.lower_bound,
            known.delay_uncertainty_s * lags.rate_hz,
        ))  # fmt: skip
    return {name: why for name, why in found.items() if why}
