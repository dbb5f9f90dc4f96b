"""Part `ambient`: the air behind sensors that lag, by the network and by classical deconvolution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import binary_dilation

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.benchmark.cases import AMBIENT, Case, simulated_cases
from pc2dae.benchmark.plan import ORACLES, READING, T90_ERRORS, Contender
from pc2dae.denoiser import Denoiser, Estimate, Job
from pc2dae.edge.adaptive import AdaptiveDenoiser
from pc2dae.edge.lag import Lags
from pc2dae.errors import ModelError
from pc2dae.filters import FILTERS, clipped
from pc2dae.filters.catalogue import Filter, Oracle
from pc2dae.filters.deconvolve import PRICES, joint_rts, richardson_lucy, tikhonov, wiener, with_slope
from pc2dae.metrics.plume_rule import background, clean_air, threshold
from pc2dae.metrics.reference import interval_scores
from pc2dae.noise import noise_level
from pc2dae.plumes import find_encounters
from pc2dae.registry import load_model
from pc2dae.response.kernels import Response
from pc2dae.response.known import known_responses
from pc2dae.suite import Suite

if TYPE_CHECKING:
    import xarray as xr

SOLVERS = {"tikhonov": tikhonov, "joint-rts": joint_rts, "wiener": wiener, "richardson-lucy": richardson_lucy}
LONGEST_S = 10.0  # t90 up to which noise in clean air is reported
_LEAST_SNR = 5.0  # of a true peak to be scored

Undo = Callable[..., Array]  # values, valid, t90 [s], rate_hz → air


@dataclass(frozen=True)
class Deconvolver:
    """A classical estimate of the air, given each channel's response; a channel without one is only denoised."""

    name: str
    undo: Undo
    responses: Mapping[str, Response]
    of: Denoiser | None = None  # whose estimate of the reading is deconvolved, instead of the reading
    latency_s: float = np.inf

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """Deconvolve each channel above its bound, in step with the air, and clip there."""
        first = None if self.of is None else self.of.prepare(flight, suite)
        lags = Lags(suite, self.responses, live=False)
        bound = np.array([[channel.lower_bound] for channel in suite.channels])

        def job(values: Floats, environment: Floats, valid: Mask) -> Estimate:
            given = values if first is None else first(values, environment, valid).unbounded
            seen = valid if first is None else np.isfinite(given)
            reading, seen, _ = lags.in_step(np.asarray(given, np.float64), seen)
            air = bound + self._air(reading - bound, seen, lags)
            return Estimate(np.maximum(air, bound), air)

        return job

    def _air(self, reading: Floats, seen: Mask, lags: Lags) -> Array:
        """The air of every channel; one formed by subtracting others is computed from the air of its parts."""

        def undone(row: int, signal: Floats, ok: Mask) -> Array:
            kernel = lags.kernels[row]
            return self.undo(signal, ok, 0.0 if kernel is None else kernel.t90_s, rate_hz=lags.rate_hz)

        air = np.stack([undone(row, signal, ok) for row, (signal, ok) in enumerate(zip(reading, seen, strict=True))])
        for row, known in enumerate(lags.known):
            parts = [(lags.suite.names.index(name), gain) for name, gain in known.cross] if known is not None else []
            if parts:
                whole = reading[row] + sum(gain * reading[part] for part, gain in parts)
                ok = np.logical_and.reduce(seen[[row, *(part for part, _ in parts)]])
                air[row] = undone(row, whole, ok) - sum(gain * air[part] for part, gain in parts)
        return air


def ambient_denoiser(contender: Contender, case: Case) -> Denoiser:
    """The denoiser of a contender of this part for a case."""
    method, head, known = contender.method, contender.output_head, case.responses or {}
    if method == READING:
        return clipped(Filter(READING, lambda *_: np.asarray(case.response, np.float64)))
    if method in FILTERS:
        return FILTERS[method]
    if method in SOLVERS:
        if head not in ORACLES:
            return Deconvolver(method, SOLVERS[method], known)
        tuned = tuple(Deconvolver(method, partial(tikhonov, price=price), known) for price in PRICES)
        return clipped(Oracle(method, tuned, np.asarray(case.truth, np.float64), ORACLES[head]))
    model = load_model(method)
    if not isinstance(model, AdaptiveDenoiser):
        raise ModelError(f"'{method}' does not estimate the air", hint="use an adaptive model")
    if head == "response":
        return model
    if head == "with slope":
        return Deconvolver(method, _sloped, known, of=model)
    return replace(model, responses=_misjudged(known, T90_ERRORS.get(head, 0.0)))


def _sloped(values: Array, valid: Mask, t90_s: float, *, rate_hz: float) -> Array:
    return with_slope(values, t90_s, rate_hz=rate_hz)


def _misjudged(responses: Mapping[str, Response], error: float) -> dict[str, Response]:
    """The responses with every t90 wrong by this share."""
    return {
        name: replace(known, kernel=replace(known.kernel, t90_s=known.kernel.t90_s * (1.0 + error)))
        for name, known in responses.items()
    }


@lru_cache(maxsize=2)
def ambient_cases(flight_id: str) -> tuple[Case, ...]:
    """A held-out flight, its responses found from the flight itself, and the reading without noise and lag as truth."""
    flown = simulated_cases(flight_id)[0]
    bound = np.array([[channel.lower_bound] for channel in flown.suite.channels])
    known = known_responses(flown.flight, flown.suite)[0]
    truth = np.maximum(np.asarray(flown.instant), bound)
    return (replace(flown, noise=AMBIENT, truth=truth, response=flown.truth, responses=known),)


def air_scores(estimate: Estimate, case: Case) -> list[tuple[str, str, str, float]]:
    """Peak ratio, noise left in clean air and coverage of each channel of a simulated flight.

    `peak_ratio`: median over encounters of the estimate's peak above background over the true one.
    `clean_noise`: standard deviation of the error 20 s or more from any plume over the raw noise, where t90 ≤ 10 s.
    """
    truth = np.asarray(case.truth, np.float64)
    sigma = noise_level(case.values, case.valid).sigma
    excess, rise = (x - background(x, sigma) for x in (truth, estimate.value))
    near = round(2.0 * LONGEST_S * case.suite.rate_hz)
    plume = binary_dilation(~clean_air(excess, sigma), np.ones((1, 2 * near + 1), bool))
    clean = ~plume & case.valid & np.isfinite(estimate.value)
    limit = threshold(truth, sigma)
    columns: dict[str, Floats] = {} if estimate.sigma is None else {
        name: values
        for name, values in interval_scores(
            estimate.value, estimate.unbounded, estimate.sigma, truth, sigma,
            np.array([channel.lower_bound for channel in case.suite.channels]),
        ).items()
        if name.startswith("coverage")
    }  # fmt: skip
    columns["peak_ratio"] = np.array([_peak_ratio(*row) for row in zip(excess, rise, limit, sigma, strict=True)])
    columns["clean_noise"] = np.array([
        float((value - true)[ok].std() / noise) if ok.any() and noise > 0 and _is_fast(case, name) else np.nan
        for name, value, true, ok, noise in zip(
            case.suite.names, estimate.value, truth, clean, sigma, strict=True
        )
    ])  # fmt: skip
    return [
        (name, case.suite.family_of(name), metric, float(value))
        for metric, values in columns.items()
        for name, value in zip(case.suite.names, values, strict=True)
    ]


def _peak_ratio(true: Array, rise: Array, limit: float, sigma: float) -> float:
    parts = [slice(e.start, e.stop) for e in find_encounters(true, limit) if e.peak >= _LEAST_SNR * sigma]
    ratios = [rise[part].max() / true[part].max() for part in parts if np.isfinite(rise[part]).all()]
    return float(np.median(ratios)) if ratios else np.nan


def _is_fast(case: Case, name: str) -> bool:
    known = (case.responses or {}).get(name)
    return known is not None and known.kernel.t90_s <= LONGEST_S
