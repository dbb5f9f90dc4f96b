"""The channels of a flight above their background, with what is known of their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pc2dae.arrays import Array, Mask, near
from pc2dae.calibration.budget import budget_of
from pc2dae.errors import FlightError, Pc2daeError
from pc2dae.flight.schema import observed
from pc2dae.noise import noise_level, sum_variance
from pc2dae.plumes.background import window_of
from pc2dae.plumes.baselines import (
    CLEAN_AIR,
    Background,
    BackgroundUsed,
    Period,
    chosen_level,
    clean_periods,
    parse_background,
    stated_samples,
)
from pc2dae.plumes.cleanest import height_over
from pc2dae.plumes.detection import (
    AMBIGUOUS,
    RUNNING,
    THRESHOLD,
    UNCLEAN,
    above,
    alone,
    among_smoke,
    find_air,
)
from pc2dae.plumes.excess import estimate_sum_variance
from pc2dae.plumes.outdoor import outdoor_range
from pc2dae.plumes.signals import Signal, margin_of
from pc2dae.plumes.species import smoke_sensors
from pc2dae.plumes.systematic import channel_sources
from pc2dae.suite import Channel, Suite

if TYPE_CHECKING:
    import xarray as xr

_NEAR_S = 10.0  # farther from any observation [s] a channel says nothing about smoke
_OUTLIER = 5.0  # noise levels from which a reading is an outlier
_SMOKY = 0.5  # share of stated clean air in encounters from which it is smoke …
_HIGH = 0.2  # … if it is so high in the range of the species, in the mean
_CONSTANT = 1e-9  # relative variation below which a channel is treated as constant (rounding)


def channel_signals(
    flight: xr.Dataset,
    suite: Suite,
    *,
    background: str = RUNNING,
    threshold: float = THRESHOLD,
    clean_air: Sequence[Period] = (),
) -> dict[str, Signal]:
    """Signal of each channel over its background; channels without observations are omitted.

    `background` as in `parse_background`, `threshold` in standard deviations of the air outside plumes, `clean_air`
    stated periods (UTC), which make the background "clean-air".
    """
    choice = _checked(background, threshold, clean_air)
    names = [n for n in suite.names if observed(flight, n).any() and np.isfinite(_best(flight, n)).any()]
    if not names:
        raise FlightError(
            "no channel of the flight has a usable observation", hint="check the flags with `pc2dae inspect`"
        )
    raw = np.stack([_raw(flight, name) for name in names])
    seen = np.stack([observed(flight, name) for name in names]) & np.isfinite(raw)
    noise = noise_level(raw, seen)
    sigma, lag1 = (np.nan_to_num(level).tolist() for level in (noise.sigma, noise.lag1))
    x = np.empty(seen.shape)
    unseen, errors, totals, variance = [], [], [], []
    for row, name, own, s, correlation in zip(x, names, seen, sigma, lag1, strict=True):
        series, stated = _best(flight, name), _stated(flight, name)
        known = np.isfinite(series) if f"{name}_raw" in flight else own
        steps = np.arange(len(series))
        row[:] = np.interp(steps, steps[known], series[known])
        unseen.append(np.zeros(len(steps)) if stated is None else np.where(own, 0.0, np.nan_to_num(stated.values)))
        errors.append(_known_or(stated, s, len(steps)))
        totals.append(_known_or(flight.variables.get(f"{name}_uncertainty", stated), s, len(steps)))
        variance.append(_sum_variance(flight, name, suite.rate_hz, s, correlation))
    t90s, widths, reaches = zip(*(_response(flight, suite, name) for name in names), strict=True)
    floor = np.array([_series_noise(flight, name, s) for name, s in zip(names, sigma, strict=True)])
    votes = smoke_sensors(suite, dict(zip(names, widths, strict=True)))
    rows = {s: [names.index(n) for n in group] for s, group in votes.items()}
    margins = [margin_of([width], suite.rate_hz) for width in widths]
    margin = round(_NEAR_S * suite.rate_hz)
    watched = near(seen, margin, margin)
    shown = np.where(watched, x, np.nan)
    air = find_air(shown, floor, rows, rate_hz=suite.rate_hz, margins=margins, threshold=threshold)
    spans = np.array([_span(suite[name]) for name in names])
    air = among_smoke(air, shown, floor, rows, spans, rate_hz=suite.rate_hz, margins=margins, threshold=threshold)
    smoky: tuple[Period, ...] = ()
    if choice.kind != RUNNING:
        periods: list[tuple[int, int]] = []
        if choice.kind == CLEAN_AIR:
            quiet = ~near(air.smoke, max(margins), max(margins))
            time = flight.variables["time"].values
            periods = clean_periods(time, quiet, clean_air, rate_hz=suite.rate_hz)
            rising = air.smoke if air.rising is None else air.rising
            inside_of = {p: slice(*stated_samples(time, p)) for p in clean_air}
            height = partial(height_over, shown, rows, window=window_of(suite.rate_hz))
            smoky = tuple(p for p, at in inside_of.items() if rising[at].mean() > _SMOKY and height(at) > _HIGH)
        levels = [chosen_level(choice, v, s, suite[n], periods=periods) for v, s, n in zip(x, seen, names, strict=True)]
        air = above(air, shown, np.stack(levels), rows, rate_hz=suite.rate_hz, margins=margins, threshold=threshold)
        air = replace(air, background=choice.kind)
    used = BackgroundUsed(air.background, float(air.clean.any(axis=0).mean()), smoky)
    inside = near(air.smoke, max(margins), max(margins))
    level = air.level
    lone = np.full((len(names), 1), alone(len(votes), threshold))
    if len(votes) > 1:  # of these, a rise outside smoke was rejected
        lone[[row for species in votes if species not in AMBIGUOUS for row in rows[species]]] = np.inf
    limit = np.where(air.scale > 0, np.where(inside, threshold, lone), 0.0) * air.scale
    limit = np.where(limit > _CONSTANT * np.abs(x).max(axis=-1, keepdims=True), limit, np.inf)
    excess = dict(zip(names, x - level, strict=True))
    budgets = [budget_of(flight, name) for name in names]
    drifts = [0.0 if budget is None else budget.drift for budget in budgets]
    sources = [channel_sources(suite, n, budget, excess) for n, budget in zip(names, budgets, strict=True)]
    if air.other_level is not None and choice.kind == RUNNING:
        for name, own, row, other in zip(names, sources, level, air.other_level, strict=True):
            own["background cleanest"] = (1.0, row - other)
            if air.background == UNCLEAN:
                own["background outdoor"] = (1.0, row - (outdoor_range(suite[name]) or (suite[name].lower_bound,))[0])
    return {
        name: Signal(
            excess[name], level[row], limit[row], sigma[row], variance[row], seen[row], unseen[row], errors[row],
            totals[row], t90s[row], widths[row], suite[name].units, suite.rate_hz, air.clean[row], air.smoke,
            drifts[row], sources[row], _residual(flight, name, seen[row], sigma[row]),
            _removed(flight, name, seen[row]), reaches[row], used,
        )
        for row, name in enumerate(names)
    }  # fmt: skip


def _checked(background: str, threshold: float, clean_air: Sequence[Period]) -> Background:
    if not (np.isfinite(threshold) and threshold > 0):
        raise Pc2daeError(f"invalid threshold {threshold:g}", hint="give a number of standard deviations above 0")
    choice = parse_background(background)
    if clean_air and choice.kind == RUNNING:
        return Background(CLEAN_AIR)
    if clean_air and choice.kind != CLEAN_AIR:
        raise Pc2daeError(
            f"clean air is stated, but the background is '{background}'", hint=f"choose the background {CLEAN_AIR}"
        )
    return choice


def _span(channel: Channel) -> float:
    """How much outdoor air varies in a channel, infinite where that is not known."""
    limits = outdoor_range(channel)
    return np.inf if limits is None else limits[1] - limits[0]


def _response(flight: xr.Dataset, suite: Suite, name: str) -> tuple[float, float, float]:
    """t90 and width of the response that is still in a channel, and how far an integral reaches beyond a plume [s]."""
    attrs, t90_s = flight.variables[name].attrs, suite[name].t90_s or 0.0
    if attrs.get("target") != "ambient":
        return t90_s, t90_s, t90_s
    width_s = float(np.nan_to_num(attrs["effective_resolution_s"]))  # NaN: a network without a table of widths
    return 0.0, width_s, min(width_s, float(attrs.get("t90_s", width_s)))


def _best(flight: xr.Dataset, name: str) -> Array:
    """The unbounded estimate if available, otherwise the channel itself."""
    return flight.variables[f"{name}_unbounded" if f"{name}_unbounded" in flight else name].values.astype(np.float64)


def _raw(flight: xr.Dataset, name: str) -> Array:
    """The channel before denoising."""
    return flight.variables[f"{name}_raw" if f"{name}_raw" in flight else name].values.astype(np.float64)


def _removed(flight: xr.Dataset, name: str, seen: Mask) -> Array | None:
    """What denoising took away; None for a raw channel and where the lag was corrected, which cannot be compared."""
    if f"{name}_raw" not in flight or flight.variables[name].attrs.get("target") == "ambient":
        return None
    return np.where(seen, np.nan_to_num(flight.variables[f"{name}_raw"].values - _best(flight, name)), 0.0)


def _residual(flight: xr.Dataset, name: str, seen: Mask, sigma: float) -> Array | None:
    """Reading minus its estimate, without outliers; None for a raw channel, or a lag corrected without the reading."""
    is_ambient = flight.variables[name].attrs.get("target") == "ambient"
    if f"{name}_raw" not in flight or (is_ambient and f"{name}_response" not in flight):
        return None
    estimate = flight.variables[f"{name}_response"].values if is_ambient else _best(flight, name)
    reading = flight.variables[f"{name}_raw"].values - estimate
    return np.where(seen, np.clip(np.nan_to_num(reading), -_OUTLIER * sigma, _OUTLIER * sigma), 0.0)


def _stated(flight: xr.Dataset, name: str) -> xr.Variable | None:
    """The stated random uncertainty of a channel, or the only one there is."""
    variables = flight.variables
    return next(
        (variables[n] for part in ("_random_uncertainty", "_uncertainty") if (n := name + part) in variables), None
    )


def _known_or(stated: xr.Variable | None, sigma: float, size: int) -> Array:
    """What is stated for each sample, and the noise where nothing is."""
    given = np.full(size, sigma) if stated is None else stated.values
    return np.where(np.isfinite(given), given, sigma)


def _sum_variance(flight: xr.Dataset, name: str, rate: float, sigma: float, lag1: float) -> float:
    """Sum variance from the raw noise, or from the stated uncertainty and its correlation time if that is more."""
    stated, own = _stated(flight, name), sum_variance(sigma, lag1)
    if stated is not None and "error_correlation_s" in stated.attrs:
        middle = float(np.nan_to_num(np.nanmedian(stated.values))) if np.isfinite(stated.values).any() else sigma
        return max(own, estimate_sum_variance(middle, float(stated.attrs["error_correlation_s"]), rate_hz=rate))
    return own


def _series_noise(flight: xr.Dataset, name: str, sigma: float) -> float:
    """Noise of the series that is searched: the stated random uncertainty in the middle, or that of the raw data."""
    stated = _stated(flight, name)
    known = stated is not None and np.isfinite(stated.values).any()
    return float(np.nanmedian(stated.values)) if stated is not None and known else sigma
