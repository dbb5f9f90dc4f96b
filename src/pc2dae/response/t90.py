"""Estimation of the response time t90 of each channel from plumes also observed by a faster channel.

Sensors are modelled as first-order low-pass filters L(τ) of the same air, t90 = τ·ln 10. With the fast channel f and
the slow channel y, L(τ_f) y = ratio · L(τ_y) f above the background, which requires no deconvolution. τ_y, delay and
ratio are fitted by least squares over the whole flight. Emission ratios vary between plumes, so the uncertainty is
estimated with a block bootstrap.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import xarray as xr
from scipy.signal import lfilter

from pc2dae.arrays import Array, Mask
from pc2dae.calibration.electrochemical import sensitivity
from pc2dae.flight.schema import check_flight, observed
from pc2dae.noise import noise_level
from pc2dae.suite import Channel, Suite

_LN10 = float(np.log(10.0))
_FAST_S = 3.0  # maximum t90 of a reference channel
_COARSE_S = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
_GRID_S, _SLOW_GRID_S = np.arange(1.0, 24.0, 0.5), np.arange(12.0, 92.0, 2.0)
_BACKGROUND_S, _SLOW_BACKGROUND_S = 181.0, 601.0  # window of the running median that is subtracted
_SLOW_S = 20.0  # above this the short background window would remove part of the response
_DELAYS_S = np.arange(-8.0, 8.1, 1.0)  # clocks that could not be aligned are off by a few seconds
_FINE_S = np.arange(-1.5, 1.6, 0.5)
_BLOCK_S = 90.0  # block length of the bootstrap
_SEEN = 0.15  # minimum correlation with the reference
_DRAWS = 200


@dataclass(frozen=True)
class ResponseTime:
    """t90 of a channel [s], its standard uncertainty and the reference used."""

    t90_s: float
    uncertainty_s: float
    reference: str  # the faster channel, or "its own edges"
    delay_s: float = np.nan  # relative to the reference, clock error and tubing combined [s]


def response_times(flight: xr.Dataset) -> dict[str, ResponseTime]:
    """t90 of each channel with plumes, except differences of two channels.

    For ozone it is the t90 of the OX cell, estimated from its total response to O3 and NO2.
    """
    suite = check_flight(flight)
    values = np.array([_felt(flight, suite, name) for name in suite.names], dtype=np.float64)
    valid = np.array([observed(flight, name) for name in suite.names]) & np.isfinite(values)
    sigma = noise_level(values, valid).sigma
    strength = {n: _strength(v, ok, s) for n, v, ok, s in zip(suite.names, values, valid, sigma, strict=True)}
    found: dict[str, ResponseTime] = {}
    delays: dict[str, float] = {}  # per instrument (one clock each), from its strongest channel
    for row in sorted(range(len(suite.names)), key=lambda r: -strength[suite.names[r]]):
        channel = suite.channels[row]
        if channel.difference_of is not None or valid[row].sum() < 100 or not sigma[row] > 0:
            continue
        reference = _reference(suite, channel, strength)
        if reference is not None:
            other = suite.names.index(reference.name)
            answer = against_faster(
                values[row],
                valid[row],
                _filled(values[other], valid[other]),
                fast_t90_s=float(reference.t90_s or 1.0),
                delay_s=delays.get(suite.instrument_of(channel.name)),
                rate_hz=suite.rate_hz,
            )
            answer = replace(answer, reference=reference.name)
            if np.isfinite(answer.delay_s):
                delays.setdefault(suite.instrument_of(channel.name), answer.delay_s)
        else:
            answer = own_edges(values[row], valid[row], sigma=float(sigma[row]), rate_hz=suite.rate_hz)
        if np.isfinite(answer.t90_s):
            found[channel.name] = answer
    return {name: found[name] for name in suite.names if name in found}


def against_faster(
    values: Array,
    valid: Mask,
    fast: Array,
    *,
    fast_t90_s: float,
    delay_s: float | None = None,
    rate_hz: float = 1.0,
) -> ResponseTime:
    """t90 of a channel from a faster channel in the same air; NaN if the two are not correlated.

    Args:
        values: The channel, in its own units.
        valid: Mask of observed samples.
        fast: A faster channel in the same air, without gaps, in its own units.
        fast_t90_s: Response time of the faster channel [s].
        delay_s: Delay behind the faster channel, if known [s].
        rate_hz: Samples per second [Hz].

    >>> air = np.random.default_rng(0).lognormal(size=40).repeat(30)
    >>> fast, slow = (low_pass(air, t90_s=t90) for t90 in (1.0, 12.0))
    >>> against_faster(slow, np.ones(1200, dtype=bool), fast, fast_t90_s=1.0).t90_s
    12.0
    """
    target = low_pass(_filled(values, valid), t90_s=fast_t90_s, rate_hz=rate_hz)
    pair = _Pair(target, valid, fast, rate_hz)
    delays = _DELAYS_S if delay_s is None else np.array([delay_s])
    rough = pair.misfit(_COARSE_S, delays, _BACKGROUND_S).sum(axis=2)
    t90, delay = np.unravel_index(np.argmin(rough), rough.shape)
    is_slow = _COARSE_S[t90] > _SLOW_S
    grid, background = (_SLOW_GRID_S, _SLOW_BACKGROUND_S) if is_slow else (_GRID_S, _BACKGROUND_S)
    fine = delays[delay] + (_FINE_S if delay_s is None else np.zeros(1))
    misfit = pair.misfit(grid, fine, background)
    profile = misfit.sum(axis=2).min(axis=1)
    if 1.0 - profile.min() / pair.without(background) < _SEEN**2:
        return ResponseTime(np.nan, np.nan, "none")
    draws = np.random.default_rng(0).integers(0, misfit.shape[2], (_DRAWS, misfit.shape[2]))
    again = grid[np.argmin(misfit[:, :, draws].sum(axis=3).min(axis=1), axis=0)]
    spread = float(np.hypot(np.std(again), 0.5 * (grid[1] - grid[0])))
    best, late = np.unravel_index(np.argmin(misfit.sum(axis=2)), misfit.shape[:2])
    return ResponseTime(float(grid[best]), spread, "faster channel", float(fine[late]))


def own_edges(values: Array, valid: Mask, *, sigma: float, rate_hz: float = 1.0) -> ResponseTime:
    """t90 from the steepest decays of a channel: a first-order sensor cannot decay faster than exp(−t/τ).

    Args:
        values: The channel, in its own units.
        valid: Mask of observed samples.
        sigma: Noise level, in the channel's units.
        rate_hz: Samples per second [Hz].

    >>> fall = 1000.0 * 10.0 ** (-np.arange(40) / 8.0)  # a tenth every 8 s
    >>> record = np.concatenate([np.zeros(40), fall])
    >>> round(own_edges(record, np.ones(80, dtype=bool), sigma=0.1).t90_s, 2)
    8.0
    """
    x = np.where(valid, values, np.nan)
    above = x - np.nanquantile(x, 0.1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = -np.log(above[1:] / above[:-1]) * rate_hz
    sure = np.flatnonzero((above[:-1] > 20 * sigma) & (above[1:] > 3 * sigma) & (rate > 0))
    if len(sure) < 5:
        return ResponseTime(np.nan, np.nan, "its own edges")
    steepest = np.sort(rate[sure])[-max(len(sure) // 20, 3) :]
    t90 = _LN10 / steepest
    return ResponseTime(float(np.median(t90)), float(np.std(t90) + 0.3 * np.median(t90)), "its own edges")


def low_pass(values: Array, *, t90_s: float, rate_hz: float = 1.0) -> Array:
    """First-order response to `values`: y(t) = a·y(t−1) + (1 − a)·x(t), a = exp(−ln10 / (t90 · rate)).

    Args:
        values: Input of the sensor, in any units; starts in steady state at the first value.
        t90_s: Time to 90 % of a step [s].
        rate_hz: Samples per second [Hz].

    >>> low_pass(np.array([0.0, 1.0, 1.0]), t90_s=1.0).round(2).tolist()
    [0.0, 0.9, 0.99]
    """
    left = np.exp(-_LN10 / (t90_s * rate_hz))
    filtered: Array = lfilter([1 - left], [1, -left], values, zi=np.array([left * values[0]]))[0]
    return filtered


@dataclass(frozen=True)
class _Pair:
    """A channel, already filtered with the response of its reference, and the reference."""

    target: Array
    valid: Mask
    fast: Array
    rate_hz: float

    def misfit(self, t90s_s: Array, delays_s: Array, background_s: float) -> Array:
        """Residual sum of squares (t90, delay, block) at the best-fit ratio of the flight."""
        y = self._above(self.target, background_s)
        index = np.arange(len(y), dtype=np.float64)
        blocks = (index // (_BLOCK_S * self.rate_hz)).astype(np.intp)
        weight = self.valid.astype(np.float64)
        out = np.empty((len(t90s_s), len(delays_s), blocks[-1] + 1))
        for i, t90 in enumerate(t90s_s):
            model = self._above(low_pass(self.fast, t90_s=float(t90), rate_hz=self.rate_hz), background_s)
            for j, delay in enumerate(delays_s * self.rate_hz):
                x = np.interp(index - delay, index, model)
                power = float((weight * x * x).sum())
                ratio = float((weight * x * y).sum()) / power if power > 0 else 0.0
                out[i, j] = np.bincount(blocks, weight * (y - ratio * x) ** 2)
        return out

    def without(self, background_s: float) -> float:
        """Sum of squares without a model."""
        return float((self._above(self.target, background_s)[self.valid] ** 2).sum())

    def _above(self, values: Array, background_s: float) -> Array:
        series = pd.Series(values)
        window = max(round(background_s * self.rate_hz), 3)
        above: Array = (series - series.rolling(window, center=True, min_periods=1).median()).to_numpy()
        return above


def _filled(values: Array, valid: Mask) -> Array:
    seen = np.flatnonzero(valid)
    straight: Array = np.interp(np.arange(len(values)), seen, values[seen])
    return straight


def _felt(flight: xr.Dataset, suite: Suite, name: str) -> Array:
    """Total response of the sensor behind a channel: for an OX cell, including NO2."""
    values: Array = flight[name].values.astype(np.float64)
    source = suite.sources.get(name)
    if source is None or (source.instrument, source.column) != ("afe", "o3"):
        return values
    partner = next((n for n in suite.names if suite.sources.get(n) == replace(source, column="no2")), None)
    if partner is None:
        return values
    sensors = json.loads(flight.attrs.get("calibration", "{}")).get(source.key, {}).get("sensors", [])
    sheet = next((s for s in sensors if str(s.get("sensor_type", "")).startswith("OX")), None)
    if sheet is None:
        return values
    ratio = sensitivity(sheet, "we_cross_sensitivity_no2") / sensitivity(sheet, "we_sensitivity")
    felt: Array = values + ratio * flight[partner].values
    return felt


def _strength(values: Array, valid: Mask, sigma: float) -> float:
    """99th percentile minus median of the 5-sample medians, in σ."""
    x = values[valid]
    if len(x) < 100 or not sigma > 0:
        return 0.0
    medians = np.median(np.lib.stride_tricks.sliding_window_view(x, 5), axis=1)
    return float((np.quantile(medians, 0.99) - np.median(medians)) / sigma)


def _reference(suite: Suite, channel: Channel, strength: dict[str, float]) -> Channel | None:
    """Fast channel of another instrument with the strongest plumes; a duplicate of the channel is preferred."""
    own = suite.instrument_of(channel.name)
    fast = [
        c
        for c in suite.channels
        if c.t90_s is not None
        and c.t90_s <= _FAST_S
        and c.difference_of is None
        and strength[c.name] > 5.0
        and suite.instrument_of(c.name) != own
    ]
    pairs = suite.duplicates()
    return max(fast, key=lambda c: (tuple(sorted((c.name, channel.name))) in pairs, strength[c.name]), default=None)
