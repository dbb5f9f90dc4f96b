r"""How a sensor follows the air: the reading is the ambient concentration convolved with a kernel (numpy only).

First order, with the air constant within a sample (Δ the sampling interval):

.. math:: r_t = a\,r_{t-1} + (1 - a)\,u_t, \qquad a = e^{-\Delta/\tau}, \qquad t_{90} = \tau \ln 10

Two steps: a share s follows a second, slower first order (ECC ozone sensors, membranes). Gaussian: tubes and AirCores,
with standard deviation t90 / 1.28, symmetric around the delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pc2dae.arrays import Array

LN10 = float(np.log(10.0))
WORST = 0.3  # relative standard uncertainty of t90 up to which a channel is corrected
NORMAL90 = 1.2816  # standard deviations from the mean to the 90 % point of a normal distribution
_WIDEST = 4.0  # standard deviations after which a Gaussian is cut
Kind = Literal["first_order", "gaussian", "two_step"]


@dataclass(frozen=True)
class Kernel:
    """The response of one sensor to a step, without its delay."""

    t90_s: float  # time to 90 % of a step; for two steps that of the fast part
    kind: Kind = "first_order"
    slow_t90_s: float = 0.0
    slow_share: float = 0.0


@dataclass(frozen=True)
class Response:
    """What is known of a channel's response to the air."""

    kernel: Kernel
    t90_uncertainty_s: float  # standard uncertainty
    delay_s: float = 0.0  # transport and clock: the reading is later than the air by this
    delay_uncertainty_s: float = 0.5
    source: str = "suite"  # "suite", "flight", "suite and flight"
    cross: tuple[tuple[str, float], ...] = ()  # channels, and gains, subtracted from the sensor's signal
    note: str = ""  # what to tell the user about it


def memory(t90_s: float, rate_hz: float = 1.0) -> float:
    """a = exp(−ln 10 / (t90 · rate)): the part of a reading that is left after one sample; 0 without lag.

    >>> round(memory(1.0), 3), memory(0.0)
    (0.1, 0.0)
    """
    return float(np.exp(-LN10 / (t90_s * rate_hz))) if t90_s > 0 else 0.0


def respond(air: Array, kernel: Kernel, rate_hz: float = 1.0) -> Array:
    """The noise-free reading of a sensor with this kernel, in steady state at the first value.

    >>> respond(np.array([0.0, 1.0, 1.0]), Kernel(1.0)).round(2).tolist()
    [0.0, 0.9, 0.99]
    """
    air = np.asarray(air, np.float64)
    if kernel.kind == "gaussian":
        return _smoothed(air, gaussian(kernel.t90_s, rate_hz))
    fast = _first_order(air, memory(kernel.t90_s, rate_hz))
    if kernel.kind == "first_order":
        return fast
    slow = _first_order(air, memory(kernel.slow_t90_s, rate_hz))
    return (1 - kernel.slow_share) * fast + kernel.slow_share * slow


def match_response(values: Array, t90_s: float, target_t90_s: float, *, rate_hz: float = 1.0) -> Array:
    """Reading of a first-order channel if it had a longer response time.

    A channel x = a₁x₋₁ + (1 − a₁)u, a = 10^(−1/(t90·rate)), is deconvolved and low-pass filtered with a₂ in one step:
    y = a₂y₋₁ + (1 − a₂)/(1 − a₁)·(x − a₁x₋₁). For a₂ > a₁ the combined filter always smooths.

    Args:
        values: The channel (time,), in any units, without gaps.
        t90_s: Its response time [s].
        target_t90_s: The longer response time [s].
        rate_hz: Samples per second [Hz].

    >>> match_response(np.array([0.0, 1.0, 1.0]), 0.0, 1.0).round(2).tolist()
    [0.0, 0.9, 0.99]
    """
    x = np.asarray(values, np.float64)
    fast, slow = (memory(t90, rate_hz) for t90 in (t90_s, target_t90_s))
    if slow <= fast or len(x) == 0:
        return x
    air = np.append(x[0], (x[1:] - fast * x[:-1]) / (1 - fast))
    return respond(air, Kernel(target_t90_s), rate_hz)


def gaussian(t90_s: float, rate_hz: float = 1.0) -> Array:
    """Weights of a Gaussian kernel around its centre, with sum 1."""
    sigma = t90_s * rate_hz / NORMAL90
    half = int(np.ceil(_WIDEST * sigma))
    weights = np.exp(-0.5 * (np.arange(-half, half + 1) / max(sigma, 1e-9)) ** 2)
    return np.asarray(weights / weights.sum())


def _first_order(air: Array, left: float) -> Array:
    """r_t = a r_{t−1} + (1 − a) u_t by doubling: a sum over 2n samples is that over n plus aⁿ times the one before."""
    if len(air) == 0:
        return air.copy()
    change = (1 - left) * (air - air[0])
    width = 1
    while width < len(air) and left > 1e-17:
        change[width:] += left * change[:-width]  # numpy copies what overlaps
        width, left = 2 * width, left**2
    return np.asarray(air[0] + change)


def smoothed(series: Array, sigma: float) -> Array:
    """The series convolved with a Gaussian of standard deviation `sigma` [samples].

    >>> smoothed(np.array([0.0, 0.0, 1.0, 0.0, 0.0]), 0.5).round(2).tolist()
    [0.0, 0.11, 0.79, 0.11, 0.0]
    """
    return _smoothed(series, gaussian(sigma * NORMAL90))


def _smoothed(series: Array, weights: Array) -> Array:
    """Convolution with symmetric weights; beyond the ends the first and last value continue."""
    half = len(weights) // 2
    return np.convolve(np.pad(series, half, mode="edge"), weights, "valid") if len(series) else series
