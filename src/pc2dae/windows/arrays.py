"""Conversion of a flight's channels to arrays for a denoiser, and of its estimate back to the flight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from pc2dae.arrays import Floats, Mask
from pc2dae.calibration.budget import Budget, budget_of
from pc2dae.denoiser import Estimate
from pc2dae.flags import BELOW_BOUND, RAISED
from pc2dae.flight.schema import REFERENCE, channel_arrays, environment_array, observed
from pc2dae.noise import Noise, sum_variance
from pc2dae.suite import Channel, Suite


def arrays_of(flight: xr.Dataset, suite: Suite) -> tuple[Floats, Floats, Mask]:
    """Values (channel, time), environment (3, time) and validity (channel, time) of a flight."""
    values, valid = channel_arrays(flight, suite)
    return values, environment_array(flight), valid


def blend(estimate: Estimate, values: Floats, valid: Mask, *, noise: Floats, strength: float) -> Estimate:
    """strength · estimate + (1 − strength) · raw where observed; noise [of raw] is (channel, 1)."""
    if strength == 1.0:
        return estimate
    share = np.where(valid, strength, 1.0)
    raw = np.where(valid, values, 0.0)
    value, unbounded = (share * x + (1 - share) * raw for x in (estimate.value, estimate.unbounded))
    blended = None if estimate.sigma is None else share * estimate.sigma + (1 - share) * np.nan_to_num(noise)
    return Estimate(value, unbounded, blended)


def at_centres(estimate: Estimate, offset_s: Floats, is_centred: Mask, rate_hz: float) -> Estimate:
    """The estimate at the centres of the grid's cells, interpolated linearly from the times of its samples.

    `offset_s` is how long after the centre each channel was sampled. Rows of `is_centred` estimate the air, at the
    centre already: only their reading is moved.
    """
    by = np.clip(offset_s * rate_hz, -1, 1)[:, None]

    def moved(rows: Floats) -> Floats:
        padded = np.pad(rows, ((0, 0), (1, 1)), mode="edge")
        step = np.abs(by) * (np.where(by > 0, padded[:, :-2], padded[:, 2:]) - rows)
        return np.asarray(rows + np.where(np.isfinite(step), step, 0.0), dtype=rows.dtype)

    def of_reading(rows: Floats) -> Floats:
        return np.where(is_centred[:, None], rows, moved(rows))

    return Estimate(
        of_reading(estimate.value),
        of_reading(estimate.unbounded),
        None if estimate.sigma is None else of_reading(estimate.sigma),
        None if estimate.systematic is None else of_reading(estimate.systematic),
        None if estimate.response is None else moved(estimate.response),
    )


@dataclass(frozen=True)
class _Result:
    """What is known of one channel after denoising."""

    value: Floats
    unbounded: Floats
    sigma: Floats | None = None
    systematic: Floats | None = None
    response: Floats | None = None
    correlation_s: float | None = None  # of random errors
    budget: Budget | None = None  # of a calibrated channel
    is_late: bool = False  # a lag is left, and part of the uncertainty


def with_estimate(
    flight: xr.Dataset,
    suite: Suite,
    estimate: Estimate,
    noise: Noise,
    *,
    lags: Mapping[str, Mapping[str, Any]],
    left: Mapping[str, Mapping[str, Any]] | None = None,
    unusable: Iterable[Channel] = (),
) -> xr.Dataset:
    """The flight with the estimate in its channels; a channel without any observation becomes NaN.

    `lags` are the attributes of the channels that were corrected for their lag, `left` those of the channels that were
    not, although they were to be. `unusable` are other channels, to be treated like those without any observation.
    Estimates raised to the bound by more than twice their uncertainty (of methods that give none, the noise) are
    flagged below_bound.
    """
    new: dict[str, Any] = {}  # assigned together: xarray copies its list of variables at every assignment
    nothing = np.full(flight.sizes["time"], np.nan)
    empty = _Result(nothing, nothing, None if estimate.sigma is None else nothing)
    for row, channel in enumerate(suite.channels):
        seen, lag = observed(flight, channel.name), lags.get(channel.name)
        if not seen.any():
            new |= _variables(flight, channel, empty)
            continue
        value = np.maximum(estimate.value[row], channel.lower_bound)
        sigma, systematic, response = (
            None if x is None else x[row] for x in (estimate.sigma, estimate.systematic, estimate.response)
        )
        correlation, is_late = None, lag is None and systematic is not None and bool(np.nanmax(systematic) > 0)
        if sigma is not None:
            spacing = float(np.median(np.diff(np.flatnonzero(seen)))) if seen.sum() > 1 else 1.0
            held = sum_variance(noise.sigma[row], noise.lag1[row]) * spacing
            random = sigma if systematic is None else np.sqrt(np.maximum(sigma**2 - systematic**2, 0))
            correlation = _correlation_s(held, random, suite.rate_hz)
        budget = budget_of(flight, channel.name)
        if budget is not None and sigma is not None:
            others = {n: estimate.value[suite.names.index(n)] for n in budget.cross if n in suite.names}
            known = np.sqrt(sum(part**2 for part in budget.parts(value, others).values()))
            systematic = known if systematic is None else np.hypot(systematic, known)
            sigma = np.hypot(sigma, known)
        result = _Result(value, estimate.unbounded[row], sigma, systematic, response, correlation, budget, is_late)
        new |= _variables(flight, channel, result, lag, (left or {}).get(channel.name))
        qc = flight.variables[f"qc_{channel.name}"]
        doubt = noise.sigma[row] if sigma is None else sigma
        clipped = np.where(value - estimate.unbounded[row] > RAISED * doubt, BELOW_BOUND, 0).astype(np.int32)
        new[f"qc_{channel.name}"] = ("time", qc.values | clipped, dict(qc.attrs))
    for channel in unusable:
        new |= _variables(flight, channel, empty)
    return flight.assign(new)


def _variables(
    flight: xr.Dataset,
    channel: Channel,
    result: _Result,
    lag: Mapping[str, Any] | None = None,
    left: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The variables of a denoised channel, with attributes `lag` if its lag was corrected, `left` if it was not."""
    name = channel.name
    attrs = dict(flight.variables[name].attrs)
    before = {"long_name": f"{attrs.get('long_name', name)}, before denoising"}
    named = {"units": channel.units, "family": attrs.get("family", "")}
    named |= {key: attrs[key] for key in REFERENCE if key in attrs}
    free = named | {"long_name": f"{name} before its lower bound, for integrals and ratios"}
    new = {
        f"{name}_raw": ("time", flight.variables[name].values, attrs | before),
        f"{name}_unbounded": ("time", result.unbounded, free),
    }
    ancillary = [f"qc_{name}"]

    def add(ending: str, values: Floats, what: str, **more: Any) -> None:
        standard = {"standard_name": f"{attrs['standard_name']} standard_error"} if "standard_name" in attrs else {}
        about = named | standard | {"long_name": f"one-sigma {what} of {name}"}
        new[f"{name}_{ending}"] = ("time", values, about | more)
        ancillary.append(f"{name}_{ending}")

    if result.sigma is not None:
        correlated = {} if result.correlation_s is None else {"error_correlation_s": result.correlation_s}
        about_lag = "t90 and delay" if lag is not None else "the lag that is left (one-sided)" if result.is_late else ""
        sources = [about for about in (about_lag, "calibration" if result.budget else "") if about]
        covers = ", ".join(["noise", *sources]) if sources else "noise only"
        missing = "; calibration is not included" if sources and not result.budget else ""
        add("uncertainty", result.sigma, "standard uncertainty", comment=covers + missing, **correlated)
        if sources and result.systematic is not None:
            random = np.sqrt(np.maximum(result.sigma**2 - result.systematic**2, 0))
            add("random_uncertainty", random, "random standard uncertainty", **correlated)
            add("systematic_uncertainty", result.systematic, f"standard uncertainty due to {' and '.join(sources)}")
    if lag is not None and result.response is not None:
        reading = named | {"long_name": f"{name}: noise-free reading, with the sensor's lag"}
        new[f"{name}_response"] = ("time", result.response, reading)
    about = {"target": "response" if lag is None else "ambient", "processing_level": "denoised"}
    about |= dict(lag or left or {}) | {"ancillary_variables": " ".join(ancillary)}
    new[name] = ("time", result.value, attrs | about)
    return new


def _correlation_s(held: float, sigma: Floats, rate_hz: float) -> float:
    """Correlation time of errors [s]: τ = v / σ̂², with v a raw sample's contribution to the variance of a long sum.

    A smoother that preserves means preserves the errors of long sums: an average of N samples of white noise has 1/N
    of their variance, and its errors are correlated over N samples.
    """
    ratio = np.nanmedian(held / np.maximum(sigma, 1e-12) ** 2) if np.isfinite(held) and held > 0 else 1.0
    return float(round(max(ratio, 1.0) / rate_hz, 1))
