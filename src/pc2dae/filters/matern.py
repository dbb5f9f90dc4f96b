"""Gaussian process with a Matérn-3/2 kernel, solved exactly in linear time in its state-space form.

f″ + 2λf′ + λ²f = white noise, λ = √3/ℓ: the state (f, f′/λ) is Markov with stationary covariance s²·I
(Hartikainen & Särkkä 2010, doi:10.1109/MLSP.2010.5589113). Loops over time are vectorised over channels and candidates.
"""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array, Mask
from pc2dae.filters.gaps import observed

_LENGTHS = np.array([2.0, 5.0, 12.0, 30.0, 80.0, 200.0])  # samples
_POWERS = np.array([0.03, 0.3, 3.0, 30.0, 300.0, 3e4])  # s²/r

_State = tuple[Array, Array, Array, Array, Array]  # mean of f and f′/λ; their variances and covariance (11, 12, 22)


def matern(values: Array, valid: Mask, *, length: float | None = None) -> tuple[Array, Array]:
    """Posterior mean and sigma of the signal, with ℓ (unless `length` is given), s² and r by maximum likelihood."""
    x, ok = observed(values, valid)
    count = np.maximum(ok.sum(axis=-1), 1)
    centre = x.sum(axis=-1) / count
    x = np.where(ok, x - centre[:, None], 0.0)
    lengths, powers, r = _most_likely(x, ok, _LENGTHS if length is None else np.array([length]))
    mean, variance = _smooth(x, ok, lengths, powers)
    some = ok.any(axis=-1, keepdims=True)
    return np.where(some, mean + centre[:, None], np.nan), np.where(some, np.sqrt(variance * r[:, None]), np.nan)


def _most_likely(x: Array, ok: Mask, lengths: Array) -> tuple[Array, Array, Array]:
    """Maximum-likelihood ℓ, s²/r and r of each channel: coarse grid search, refined around the best point."""
    rows = np.arange(len(x))
    grid_l, grid_p = (np.broadcast_to(g.ravel(), (len(x), g.size)) for g in np.meshgrid(lengths, _POWERS))
    best = np.argmax(_likelihood(x, ok, grid_l, grid_p)[0], axis=-1)
    around = np.linspace(-0.67, 0.67, 5)
    factor_l, factor_p = np.meshgrid([1.0] if len(lengths) == 1 else 2.5**around, 10.0**around)
    fine_l = grid_l[rows, best][:, None] * factor_l.ravel()
    fine_p = grid_p[rows, best][:, None] * factor_p.ravel()
    likelihood, r = _likelihood(x, ok, fine_l, fine_p)
    best = np.argmax(likelihood, axis=-1)
    return fine_l[rows, best], fine_p[rows, best], r[rows, best]


def _transition(lengths: Array) -> tuple[Array, Array, Array, Array]:
    """Entries 11, 12, 21, 22 of exp(F) over one sample: e^−λ·[[1 + λ, λ], [−λ, 1 − λ]]."""
    rate = np.sqrt(3.0) / lengths
    decay = np.exp(-rate)
    return decay * (1 + rate), decay * rate, -decay * rate, decay * (1 - rate)


def _predict(state: _State, a: tuple[Array, ...], power: Array) -> _State:
    """Predict one sample ahead: A m and A P Aᵀ + s²(I − A Aᵀ), in units of r."""
    a11, a12, a21, a22 = a
    m1, m2, p11, p12, p22 = state
    d11, d22 = p11 - power, p22 - power  # A P Aᵀ + Q = s² I + A (P − s² I) Aᵀ
    b11, b12 = a11 * d11 + a12 * p12, a11 * p12 + a12 * d22
    b21, b22 = a21 * d11 + a22 * p12, a21 * p12 + a22 * d22
    return (
        a11 * m1 + a12 * m2,
        a21 * m1 + a22 * m2,
        b11 * a11 + b12 * a12 + power,
        b11 * a21 + b12 * a22,
        b21 * a21 + b22 * a22 + power,
    )


def _update(state: _State, error: Array, weight: Array) -> _State:
    """Update the state with an observation; `weight` = 1/(P₁₁ + 1), or 0 without observation."""
    m1, m2, p11, p12, p22 = state
    k1, k2 = p11 * weight, p12 * weight
    return m1 + k1 * error, m2 + k2 * error, p11 - k1 * p11, p12 - k1 * p12, p22 - k2 * p12


def _likelihood(x: Array, ok: Mask, lengths: Array, powers: Array) -> tuple[Array, Array]:
    """Log-likelihood with r concentrated out, and the corresponding r, each (channel, candidate)."""
    a = _transition(lengths)
    zero = np.zeros(lengths.shape)
    state: _State = (zero, zero, powers, zero, powers)
    squares, logs = zero.copy(), zero.copy()
    for y, seen in zip(x.T[:, :, None], ok.T[:, :, None].astype(np.float64), strict=True):
        spread = state[2] + 1.0
        weight = seen / spread
        error = y - state[0]
        squares += error * error * weight
        logs += seen * np.log(spread)
        state = _predict(_update(state, error, weight), a, powers)
    count = np.maximum(ok.sum(axis=-1, keepdims=True), 1)
    r = np.maximum(squares / count, np.finfo(float).tiny)
    return -0.5 * (count * np.log(r) + logs), r


def _smooth(x: Array, ok: Mask, lengths: Array, powers: Array) -> tuple[Array, Array]:
    """Smoothed f and its variance in units of r, each (channel, time), by Rauch–Tung–Striebel over 2 × 2 blocks."""
    a = _transition(lengths)
    zero = np.zeros(len(x))
    ahead: _State = (zero, zero, powers, zero, powers)
    filtered, predicted = np.empty((x.shape[1], 5, len(x))), np.empty((x.shape[1], 5, len(x)))
    for t, (y, seen) in enumerate(zip(x.T, ok.T, strict=True)):
        here = _update(ahead, y - ahead[0], seen / (ahead[2] + 1.0))
        ahead = _predict(here, a, powers)
        filtered[t], predicted[t] = here, ahead
    mean, cov = filtered[:, :2].transpose(0, 2, 1), _matrices(filtered)
    mean_ahead, cov_ahead = predicted[:, :2].transpose(0, 2, 1), _matrices(predicted)
    step = np.moveaxis(np.array(a).reshape(2, 2, -1), -1, 0)
    gain = np.linalg.solve(cov_ahead, step @ cov).swapaxes(-1, -2)  # P Aᵀ (P ahead)⁻¹, both symmetric
    mean, cov = mean.copy(), cov.copy()
    for t in range(len(mean) - 2, -1, -1):
        mean[t] += (gain[t] @ (mean[t + 1] - mean_ahead[t])[..., None])[..., 0]
        cov[t] += gain[t] @ (cov[t + 1] - cov_ahead[t]) @ gain[t].swapaxes(-1, -2)
    return mean[:, :, 0].T, np.maximum(cov[:, :, 0, 0].T, 0.0)


def _matrices(states: Array) -> Array:
    """Covariances of (time, 5, channel) states as (time, channel, 2, 2)."""
    return states[:, [2, 3, 3, 4]].transpose(0, 2, 1).reshape(len(states), -1, 2, 2)
