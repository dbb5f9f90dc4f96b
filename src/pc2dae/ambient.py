"""The air behind a flight's readings: which responses are undone, and whether the record accepts the result."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import xarray as xr

from pc2dae.arrays import Floats, Mask
from pc2dae.denoiser import AirDenoiser, Estimate
from pc2dae.edge.lag import Lags
from pc2dae.noise import Noise, sum_variance
from pc2dae.response.acceptance import CorrectedChannel, rejection
from pc2dae.response.inverse import noise_growth
from pc2dae.response.kernels import LN10, Response
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


def estimate_air(
    denoiser: AirDenoiser, flight: xr.Dataset, suite: Suite, noise: Noise
) -> tuple[AirDenoiser, Estimate, dict[str, LagLeft]]:
    """The estimate with the responses that the record accepts, the denoiser undoing them, and why it leaves others.

    A stream cannot look back, and undoes all responses that are known.
    """
    responses, left_s, left = _known(flight, suite, live=denoiser.profile == "live")
    values, environment, valid = arrays_of(flight, suite)
    while True:
        denoiser = denoiser.undoing(responses, left_s)
        estimate = denoiser.prepare(flight, suite)(values, environment, valid)
        lags = denoiser.lags(suite)
        reasons = {} if denoiser.profile == "live" else _rejected(lags, estimate, values, valid, noise)
        reasons |= {
            n: "of a channel it is made from" for n, r in responses.items() if {c for c, _ in r.cross} & set(reasons)
        }
        if not reasons:
            return denoiser, estimate, left
        out = {n: responses.pop(n) for n in reasons}
        left |= {n: LagLeft(f"t90 {out[n].kernel.t90_s:.1f} s rejected, {why}") for n, why in reasons.items()}
        left_s |= {n: float(np.hypot(r.kernel.t90_s, r.t90_uncertainty_s)) / LN10 for n, r in out.items()}


def _known(
    flight: xr.Dataset, suite: Suite, *, live: bool
) -> tuple[dict[str, Response], dict[str, float], dict[str, LagLeft]]:
    """The responses to undo, and the time constants and reasons of lags that are left.

    A stream knows what suite, response file and calibration state; a flight also what its own record says.
    """
    limits: dict[str, float] = {}
    if live:
        cross = {name: json.loads(flight.variables[name].attrs.get("calibration_cross", "{}")) for name in suite.names}
        responses, reasons = stated_responses(suite, cross)
    else:
        times = response_times(flight, suite.names)
        responses, reasons = known_responses(flight, suite, found=times)
        limits = {name: seen.falls.limit_s for name, seen in times.items()}
    stated = {c.name: c.t90_limit_s or np.nan for c in suite.channels}
    left = {n: LagLeft(why, float(np.fmin(limits.get(n, np.nan), stated[n]))) for n, why in reasons.items()}
    return dict(responses), dict(lags_left_s(suite, responses, limits)), left


def _rejected(lags: Lags, estimate: Estimate, values: Floats, valid: Mask, noise: Noise) -> dict[str, str]:
    """Why the record does not accept the response of some channels; not of those that others were subtracted from."""
    if not lags.ambient or estimate.sigma is None or estimate.systematic is None:
        return {}
    reading, seen, _ = lags.in_step(values, valid)
    response = lags.response(estimate.unbounded, reading, lags.restarts(reading, seen, noise.sigma))
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
            float(noise_growth(kept, rho)), channel.lower_bound,
            known.delay_uncertainty_s * lags.rate_hz,
        ))  # fmt: skip
    return {name: why for name, why in found.items() if why}
