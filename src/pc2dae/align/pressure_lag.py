"""Separates clock offset from sensor lag for a pressure measured inside an instrument.

Both delay the record; only a lag also smooths its corners, and one flight separates the two to no better than 0.1 to
0.2 s. So no single lag is chosen: the clock offset is the mean over all lags, weighted by their likelihood.
"""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array
from pc2dae.golden_section import least
from pc2dae.response.kernels import LN10, Kernel, respond

INSIDE = ("internal_pressure", "cell_pressure")  # other sensors are open to the air and follow it without lag
LAGS_S = np.linspace(0.0, 1.0, 11)  # not on data sheets; more than a second would be noticeable. Uniform prior
FINE_S = 0.5  # a reference sampled more coarsely is itself too smooth
_EDGE_S = 10.0  # excluded at both ends, where the smoothing is one-sided


def clock_part(tx: Array, x: Array, ty: Array, y: Array, delay_s: float) -> tuple[float, float]:
    """The clock offset of y behind x and its standard error [s], marginalised over the lags in `LAGS_S`.

    Model: y(t) = a + b·(h_τ ∗ p)(t − s) + slow + noise, with h_τ a first-order lag and p the reference without its
    noise, which would favour long lags because they average it. y is used as sampled, without smoothing.
    """
    step, quiet = smoothed(tx, x)
    at_reference = tx[0] + step * np.arange(len(quiet))
    inside = (ty - delay_s > tx[0] + _EDGE_S) & (ty - delay_s < tx[-1] - _EDGE_S)
    at = ty[inside]
    slow = slow_basis(at)
    seen = y[inside] - slow @ (slow.T @ y[inside])

    def residual(shift_s: float, felt: Array) -> Array:
        model = np.interp(at - shift_s, at_reference, felt)
        model = model - slow @ (slow.T @ model)
        return np.asarray(seen - model * (float(model @ seen) / float(model @ model)))

    squares, shifts = np.empty(len(LAGS_S)), np.empty(len(LAGS_S))
    ties = 1.0
    for number, tau in enumerate(LAGS_S):
        felt = lagged(quiet, float(tau), step)

        def misfit(shift_s: float, felt: Array = felt) -> float:
            rest = residual(shift_s, felt)
            return float(rest @ rest)

        middle = delay_s - float(tau)
        shifts[number] = least(misfit, middle - 0.5, middle + 0.5, tolerance=0.01)
        squares[number] = misfit(float(shifts[number]))
        if squares[number] == squares[: number + 1].min():
            rest = residual(shifts[number], felt)
            rho = float(np.clip(rest[1:] @ rest[:-1] / max(float(rest @ rest), 1e-300), 0.0, 0.95))
            ties = (1 + rho) / (1 - rho)  # points per independent one
    variance = max(squares.min() * ties / max(len(at) - slow.shape[1] - 3, 1), 1e-300)
    weights = np.exp((squares.min() - squares) / (2 * variance))
    weights /= weights.sum()
    mean = float(weights @ shifts)
    return mean, float(np.sqrt(weights @ (shifts - mean) ** 2))


def smoothed(t: Array, x: Array) -> tuple[float, Array]:
    """Step [s] and the record at that step without its white noise: a cubic smoothing spline in frequency space.

    G(f) = 1/(1 + (f/f₀)⁴), f₀ by generalised cross-validation: least mean((1 − G)²|X|²)/mean(1 − G)².
    """
    step = float(np.median(np.diff(t)))
    even = np.interp(np.arange(t[0], t[-1], step), t, x)
    mirrored = np.concatenate([even, even[::-1]]) - even.mean()  # periodic without a jump
    waves, frequency = np.fft.rfft(mirrored), np.fft.rfftfreq(len(mirrored), step)
    power = np.abs(waves) ** 2

    def score(f0: float) -> float:
        left = 1 - 1 / (1 + (frequency / f0) ** 4)
        return float((left**2 @ power) / left.sum() ** 2)

    f0 = min((float(f) for f in np.geomspace(0.01, 0.5 / step, 60)), key=score)
    return step, np.fft.irfft(waves / (1 + (frequency / f0) ** 4))[: len(even)] + even.mean()


def lagged(x: Array, tau_s: float, step_s: float) -> Array:
    """First-order lag τ y′ + y = x, exact for straight lines between samples, so that its mean delay is τ."""
    if tau_s <= 0:
        return x
    a = float(np.exp(-step_s / tau_s))
    c = tau_s / step_s * (1 - a)
    held = ((1 - c) * x[1:] + (c - a) * x[:-1]) / (1 - a)  # the constant input with the same effect
    return respond(np.append(x[0], held), Kernel(tau_s * LN10), 1 / step_s)


def slow_basis(t: Array) -> Array:
    """Orthonormal slow functions of time (periods above 300 s), which are removed from the comparison."""
    span = max(float(t[-1] - t[0]), 1.0)
    order = min(max(int(2 * span / 300.0), 1), 60)
    basis = np.cos(np.pi * (t - t[0])[:, None] / span * np.arange(order + 1))
    return np.asarray(np.linalg.qr(basis)[0])
