"""Random processes and first-order lags on the fine time grid of the simulation."""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter

from pc2dae.arrays import Array

RATE_HZ = 20  # resolves a 1 m edge at 8.6 m/s (0.12 s)
DT_S = 1.0 / RATE_HZ


def wander(rng: np.random.Generator, count: int, *, tau_s: float, sigma: float = 1.0, dt_s: float = DT_S) -> Array:
    """Stationary Ornstein–Uhlenbeck process: standard deviation `sigma`, correlation exp(−|Δt|/tau_s)."""
    a = float(np.exp(-dt_s / tau_s))
    kicks = rng.standard_normal(count) * (sigma * np.sqrt(1.0 - a * a))
    start = rng.standard_normal() * sigma
    return np.asarray(lfilter([1.0], [1.0, -a], kicks, zi=[a * start])[0], dtype=np.float64)


def swell(rng: np.random.Generator, count: int, *, tau_s: float, sigma: float = 1.0, dt_s: float = DT_S) -> Array:
    """Smooth stationary process: an Ornstein–Uhlenbeck process, low-pass filtered twice and rescaled to `sigma`."""
    warm = int(4 * tau_s / dt_s)
    rough = wander(rng, count + warm, tau_s=tau_s, dt_s=dt_s)
    a = float(np.exp(-dt_s / (0.5 * tau_s)))
    smooth = lfilter([1 - a], [1, -a], lfilter([1 - a], [1, -a], rough))[warm:]
    # Two lags of tau/2 leave a variance of ∫ 2/π / ((1 + w²)(1 + w²/4)²) dw = 5/9.
    return np.asarray(smooth * (sigma * np.sqrt(9 / 5)), dtype=np.float64)


def lagged(values: Array, *, t90_s: float, dt_s: float = DT_S) -> Array:
    """First-order response to `values`: 90 % of a step after `t90_s`; starts in steady state."""
    if t90_s <= 0:
        return values
    a = float(np.exp(-dt_s * np.log(10.0) / t90_s))
    return np.asarray(lfilter([1.0 - a], [1.0, -a], values, zi=[a * values[0]])[0], dtype=np.float64)


def second_means(fine: Array, *, dt_s: float = DT_S) -> Array:
    """One-second means of a series with steps of `dt_s`."""
    return np.asarray(fine.reshape(-1, round(1 / dt_s)).mean(axis=1), dtype=np.float64)


def at(times_s: Array, fine: Array, *, dt_s: float = DT_S) -> Array:
    """Interpolate a fine series at true times [s]."""
    return np.interp(times_s, np.arange(len(fine)) * dt_s, fine)
