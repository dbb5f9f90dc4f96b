"""Response time: t90 of each channel from the edges of plumes that a faster channel saw too.

Sensors are first-order low-passes L(τ) of the same air, t90 = τ·ln 10. If f is the fast channel and y the slow one,
L(τ_f) y = L(τ_y) f up to background and emission ratio: no filter has to be undone. Stretch by stretch of the flight
the best background, ratio and delay are fitted, and τ_y is what leaves least over all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.signal import lfilter

from pc2dae.flight.schema import check_flight, observed
from pc2dae.noise import noise_level
from pc2dae.suite import Channel, Suite

Array = NDArray[np.float64]

_LN10 = float(np.log(10.0))
_FAST_S = 3.0  # t90 up to which a channel may show others their edges
_GRID_S, _SLOW_GRID_S = np.arange(1.0, 20.0, 0.5), np.arange(12.0, 92.0, 2.0)
_DELAYS_S = np.arange(-3.0, 3.1, 0.5)  # clocks are aligned to about a second
_STRETCH_S, _SLOW_STRETCH_S = 90.0, 360.0  # a stretch must hold a whole response, and few emission ratios
_SLOW_S = 15.0
_RATIO_SPREAD = 0.1  # plumes differ in emission ratio: a tenth of a stretch's own swing is no misfit
_SEEN = 3.0  # σ that plumes must reach in a channel before its edges tell anything
_DRAWS = 200


@dataclass(frozen=True)
class ResponseTime:
    """t90 of a channel [s] with its standard uncertainty, and how it was found."""

    t90_s: float
    uncertainty_s: float
    reference: str  # the faster channel, or "its own edges"


def response_times(flight: xr.Dataset) -> dict[str, ResponseTime]:
    """t90 of every channel that shows plumes; what is made of two cells (OX less NO2, differences) has none."""
    suite = check_flight(flight)
    values = np.array([flight[name].values for name in suite.names], dtype=np.float64)
    valid = np.array([observed(flight, name) for name in suite.names])
    sigma = noise_level(values, valid).sigma
    strength = {n: _strength(v, ok, s) for n, v, ok, s in zip(suite.names, values, valid, sigma, strict=True)}
    found = {}
    for row, channel in enumerate(suite.channels):
        is_mixed = channel.difference_of is not None or suite.sources.get(channel.name, "").endswith(".o3")
        if is_mixed or not strength[channel.name] > _SEEN:
            continue
        reference = _reference(suite, channel, strength)
        if reference is None:
            found[channel.name] = own_edges(values[row], valid[row], sigma=float(sigma[row]), rate_hz=suite.rate_hz)
            continue
        other = suite.names.index(reference.name)
        fitted = against_faster(
            values[row],
            valid[row],
            np.interp(np.arange(len(values[other])), np.flatnonzero(valid[other]), values[other][valid[other]]),
            sigma=float(sigma[row]),
            fast_t90_s=float(reference.t90_s or 1.0),
            rate_hz=suite.rate_hz,
        )
        found[channel.name] = ResponseTime(*fitted, reference.name)
    return found


def against_faster(
    values: Array, valid: NDArray[np.bool_], fast: Array, *, sigma: float, fast_t90_s: float, rate_hz: float = 1.0
) -> tuple[float, float]:
    """t90 and its standard uncertainty [s] of a channel, from a faster one without gaps in the same air.

    sigma: noise of the channel; fast_t90_s: of the faster channel [s]. Valid for t90 from 1 to 90 s.
    """
    seen = np.flatnonzero(valid)
    whole = np.interp(np.arange(len(values)), seen, values[seen])
    target = low_pass(whole, t90_s=fast_t90_s, rate_hz=rate_hz)
    best, spread = _profile(_GRID_S, target, valid, fast, sigma, round(_STRETCH_S * rate_hz), rate_hz)
    if best > _SLOW_S:
        stretch = round(_SLOW_STRETCH_S * rate_hz)
        best, spread = _profile(_SLOW_GRID_S, target, valid, fast, sigma, stretch, rate_hz)
    return best, spread


def own_edges(values: Array, valid: NDArray[np.bool_], *, sigma: float, rate_hz: float = 1.0) -> ResponseTime:
    """t90 from a channel's own steepest falls: no first-order sensor falls faster than exp(−t/τ) towards clean air."""
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
    """A first-order sensor's reading of `values`: y(t) = a·y(t−1) + (1 − a)·x(t), a = exp(−ln10 / (t90 · rate))."""
    left = np.exp(-_LN10 / (t90_s * rate_hz))
    filtered: Array = lfilter([1 - left], [1, -left], values, zi=np.array([left * values[0]]))[0]
    return filtered


def _profile(
    grid_s: Array, target: Array, valid: NDArray[np.bool_], fast: Array, sigma: float, stretch: int, rate_hz: float
) -> tuple[float, float]:
    """The t90 of least misfit, and its spread when stretches are drawn again with replacement."""
    misfit = np.array([_misfit(target, valid, fast, float(t90), sigma, stretch, rate_hz) for t90 in grid_s])
    draws = np.random.default_rng(0).integers(0, misfit.shape[1], (_DRAWS, misfit.shape[1]))
    again = grid_s[np.argmin(misfit[:, draws].sum(axis=2), axis=0)]
    return float(grid_s[np.argmin(misfit.sum(axis=1))]), float(np.hypot(np.std(again), 0.25))


def _misfit(
    target: Array, valid: NDArray[np.bool_], fast: Array, t90_s: float, sigma: float, stretch: int, rate_hz: float
) -> Array:
    """Misfit of each stretch at its best background, ratio and delay, in units of what noise and mixing allow."""
    model = low_pass(fast, t90_s=t90_s, rate_hz=rate_hz)
    index = np.arange(len(target), dtype=np.float64)
    count = max(len(target) // stretch, 1)
    rows = len(target) // count
    y = target[: count * rows].reshape(count, rows)
    w = valid[: count * rows].reshape(count, rows).astype(np.float64)
    best = np.full(count, np.inf)
    n = np.maximum(w.sum(axis=1), 1.0)
    mean_y = (w * y).sum(axis=1) / n
    dy = w * (y - mean_y[:, None])
    total = (dy**2).sum(axis=1)
    for delay in _DELAYS_S * rate_hz:
        x = np.interp(index - delay, index, model)[: count * rows].reshape(count, rows)
        dx = w * (x - ((w * x).sum(axis=1) / n)[:, None])
        power = (dx**2).sum(axis=1)
        explained = (dx * dy).sum(axis=1) ** 2 / np.where(power > 0, power, np.inf)
        best = np.minimum(best, total - explained)
    misfit: Array = best / (sigma**2 + _RATIO_SPREAD**2 * total / n)
    return misfit


def _strength(values: Array, valid: NDArray[np.bool_], sigma: float) -> float:
    """How far the highest hundredth of 5-sample medians stands over the middle, in σ."""
    x = values[valid]
    if len(x) < 100 or not sigma > 0:
        return 0.0
    medians = np.median(np.lib.stride_tricks.sliding_window_view(x, 5), axis=1)
    return float((np.quantile(medians, 0.99) - np.median(medians)) / sigma)


def _reference(suite: Suite, channel: Channel, strength: dict[str, float]) -> Channel | None:
    """The fast channel of another instrument that shows the plumes best; a duplicate of the channel is preferred."""
    own = suite.sources.get(channel.name, channel.name).partition(".")[0]
    pairs = {*suite.duplicates()}
    fast = [
        c
        for c in suite.channels
        if c.t90_s is not None
        and c.t90_s <= _FAST_S
        and c.difference_of is None
        and strength[c.name] > 5.0
        and suite.sources.get(c.name, c.name).partition(".")[0] != own
    ]
    return max(fast, key=lambda c: ((min(c.name, channel.name), max(c.name, channel.name)) in pairs, strength[c.name]),
               default=None)  # fmt: skip
