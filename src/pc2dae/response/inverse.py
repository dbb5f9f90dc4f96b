r"""Undo a sensor's lag: the inverse of its kernel, and what that does to noise (numpy only).

First order, at the sensor's own rate (g samples since the previous new one, :math:`m = a^g`):

.. math:: \hat u_t = \frac{x_t - m\,x_{t-g}}{1 - m}

is the mean of the air since that sample, so the first sample after a gap carries the mean over the gap. Noise grows by
:math:`\sqrt{1 + m^2 - 2 m \rho}/(1 - m)`, with ρ its autocorrelation, and becomes differenced. With two steps, both
parts are followed from sample to sample. A Gaussian is undone with a gain of at most `GAUSSIAN_GAIN` at any frequency.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array, Index, Mask
from pc2dae.response.kernels import LN10, Kernel, gaussian, memory

GAUSSIAN_GAIN = 4.0
FORGOTTEN = 1e-4  # memory after which the previous sample no longer counts …
LONGEST = 300  # … and samples after which it does not count either
_JUMP = 8.0  # noise levels that a jump exceeds …
_ALONE = 5.0  # … and how often the steps around it
_AROUND = 3  # samples
_STAYS = 0.3  # share of a jump by which the reading may move in the following time constant
_SLOW = 3.0  # samples: of a faster sensor a jump may be air
_REACH = 10.0  # t90 over which the inverse of a Gaussian extends: cut at half of it, plumes are 4 % too low


class Inverted(NamedTuple):
    """A series without lag, and its noise; values are meaningful at new samples only."""

    values: Array
    gain: Array  # noise relative to that of the reading; between new samples the usual one
    lag1: Array  # autocorrelation of its noise, at the sensor's own rate
    tau: float  # time constant [samples of the grid] by which a slope of the reading counts


def invert(
    reading: Array,
    new: Mask,
    kernel: Kernel,
    *,
    lag1: float | Array = 0.0,
    rate_hz: float = 1.0,
    restarts: Index | None = None,
) -> Inverted:
    """The air that a sensor of this kernel saw, from its new samples.

    Args:
        reading: The channel (time,), in its own units.
        new: Mask of its new samples: observed, not repeated.
        kernel: Its response.
        lag1: Autocorrelation of its noise between consecutive new samples, one number or (time,).
        rate_hz: Samples per second of the grid [Hz].
        restarts: Samples before which the reading says nothing about it.

    >>> reading = np.array([0.0, 0.9, 0.99])
    >>> found = invert(reading, np.ones(3, bool), Kernel(1.0))
    >>> found.values.round(3).tolist(), found.gain.round(2).tolist()
    ([0.0, 1.0, 1.0], [1.0, 1.12, 1.12])
    """
    reading = np.asarray(reading, np.float64)
    rho = np.broadcast_to(np.asarray(lag1, np.float64), reading.shape)
    at = np.flatnonzero(new)
    if kernel.t90_s <= 0:
        return Inverted(reading.copy(), np.ones(len(reading)), rho.copy(), 0.0)
    if kernel.kind == "gaussian":
        return _gaussian(reading, at, kernel.t90_s * rate_hz)
    apart = np.diff(at)
    left = memory(kernel.t90_s, rate_hz) ** apart
    left[(left < FORGOTTEN) | (apart > LONGEST)] = 0.0
    usual = int(np.median(apart)) if len(apart) else 1
    m = memory(kernel.t90_s, rate_hz) ** usual
    share = 1 - kernel.slow_share
    values, gain = reading.copy(), noise_growth(m, rho) / share
    x = reading[at]
    left[np.isin(at[1:], [] if restarts is None else restarts)] = 0.0
    if kernel.kind == "two_step":
        values[at] = _two_step(x, apart, left, kernel, rate_hz)
    else:
        values[at[1:]] = (x[1:] - left * x[:-1]) / (1 - left)
    gain[at[:1]] = 1.0
    gain[at[1:]] = noise_growth(left, rho[at[1:]]) / share
    after = (rho * (1 + m**2) - m) / (1 + m**2 - 2 * m * rho)
    return Inverted(values, gain, np.clip(after, -0.67, 0.95), usual * m / (1 - m))


def restarts_of(reading: Array, new: Mask, kernel: Kernel, *, sigma: float, rate_hz: float = 1.0) -> Index:
    """Samples to which a reading jumps as no sensor of this kernel can.

    A reading that follows the air rises in several steps, or falls again within its time constant. One that jumps and
    stays is a placeholder of the first rows, a restart or a glitch, of which the inverse would make a peak of tau times
    the jump.

    >>> reading = np.repeat([500.0, 420.0, 430.0], 20)
    >>> restarts_of(reading, np.ones(60, bool), Kernel(18.0), sigma=1.0).tolist()
    [20, 40]
    """
    at = np.flatnonzero(new)
    x, step = reading[at], np.diff(reading[at])
    tau = kernel.t90_s * rate_hz / LN10 / (np.median(np.diff(at)) if len(step) else 1.0)
    if kernel.kind == "gaussian" or tau < _SLOW or not sigma > 0 or len(step) < 2 * _AROUND:
        return np.empty(0, np.intp)
    size = np.pad(np.abs(step), _AROUND)
    beside = np.max([size[_AROUND + k : len(step) + _AROUND + k] for k in (-3, -2, -1, 1, 2, 3)], axis=0)
    alone = np.flatnonzero((np.abs(step) > _JUMP * sigma) & (np.abs(step) > _ALONE * beside))
    last = min(int(np.ceil(tau)), len(x) - 1)
    stays = [np.abs(x[k + 1 : k + 2 + last] - x[k + 1]).max() < _STAYS * abs(step[k]) for k in alone]
    return at[1 + alone[np.array(stays, bool) | (alone < _AROUND)]]


def noise_growth(left: float | Array, rho: float | Array) -> Array:
    """How much the inverse of a first-order response that leaves `left` amplifies noise of autocorrelation `rho`."""
    return np.asarray(np.sqrt(1 + left**2 - 2 * left * rho) / (1 - left))


def _two_step(x: Array, apart: NDArray[np.intp], left: Array, kernel: Kernel, rate_hz: float) -> Array:
    """The air from x = (1 − s) f + s g, with f and g the fast and slow first-order responses to it."""
    share = kernel.slow_share
    slow_left = memory(kernel.slow_t90_s, rate_hz) ** apart
    air = np.array(x)
    fast = slow = x[0] if len(x) else 0.0
    for k, (m, n) in enumerate(zip(left, slow_left, strict=True), start=1):
        known = (1 - share) * m * fast + share * n * slow
        air[k] = (x[k] - known) / ((1 - share) * (1 - m) + share * (1 - n))
        fast, slow = m * fast + (1 - m) * air[k], n * slow + (1 - n) * air[k]
    return air


def _gaussian(reading: Array, at: NDArray[np.intp], t90: float) -> Inverted:
    weights = _gaussian_inverse(t90)
    half = len(weights) // 2
    straight = np.interp(np.arange(len(reading)), at, reading[at]) if len(at) else reading
    values = np.convolve(np.pad(straight, half, mode="edge"), weights, "valid")
    power = float(weights @ weights)
    gain, lag1 = (np.full(len(reading), x) for x in (np.sqrt(power), weights[1:] @ weights[:-1] / power))
    return Inverted(values, gain, lag1, 0.0)


def gaussian_width(t90: float) -> float:
    """Width at half maximum of what is left of a narrow plume after a Gaussian was undone, in the unit of t90.

    >>> round(gaussian_width(10.0), 1)
    13.5
    """
    left = np.convolve(gaussian(20.0), _gaussian_inverse(20.0))
    return float(np.count_nonzero(left > left.max() / 2)) * t90 / 20.0


def _gaussian_inverse(t90: float) -> Array:
    """Weights of K / (K² + 1/(2·gain)²), K the transfer function of the kernel; their sum is 1."""
    kernel = gaussian(t90)
    half = int(np.ceil(_REACH * t90)) + 1
    size = 1 << int(np.ceil(np.log2(4 * half + len(kernel))))
    transfer = np.fft.rfft(np.roll(np.pad(kernel, (0, size - len(kernel))), -(len(kernel) // 2))).real
    answer = np.fft.irfft(transfer / (transfer**2 + (0.5 / GAUSSIAN_GAIN) ** 2), size)
    weights = np.roll(answer, half)[: 2 * half + 1]
    return np.asarray(weights / weights.sum())
