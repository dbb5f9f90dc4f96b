"""Penalised least squares: Whittaker smoother with cross-validation, and total variation denoising."""

from __future__ import annotations

import numpy as np
from scipy.fft import dct
from scipy.linalg import solveh_banded

from pc2dae.arrays import Array, Mask
from pc2dae.filters.gaps import at_native_rate
from pc2dae.noise import noise_level

_PRICES = np.logspace(-3, 10, 53)
_TV_PRICES = (0.5, 1.0, 2.0, 4.0, 8.0)  # λ in σ
_TV_ITERATIONS = 40


def whittaker(values: Array, valid: Mask, *, price: float | None = None) -> Array:
    """min Σ w(y − x)² + λΣ(Δ²x)², w = 1 where observed, λ by generalised cross-validation or `price`.

    Eilers 2003, doi:10.1021/ac034173t. The cosine transform diagonalises the gap-free problem, which makes GCV
    inexpensive (Garcia 2010, doi:10.1016/j.csda.2009.09.020); the final solution takes gaps into account.
    """

    def smooth(x: Array, ok: Mask) -> Array:
        if x.shape[-1] < 4:
            return x
        prices = _cross_validated(x) if price is None else np.full(len(x), price)
        return np.stack([_solve(row, seen, p) for row, seen, p in zip(x, ok, prices, strict=True)])

    return at_native_rate(values, valid, smooth)


def _cross_validated(x: Array) -> Array:
    """λ of each channel that minimises n·RSS/(n − trace)²."""
    size = x.shape[-1]
    roughness = (2.0 - 2.0 * np.cos(np.pi * np.arange(size) / size)) ** 2
    power = dct(x, axis=-1, norm="ortho") ** 2
    removed = _PRICES[:, None] * roughness / (1.0 + _PRICES[:, None] * roughness)
    score = (power @ (removed**2).T) / np.maximum(removed.sum(axis=-1), 1e-12) ** 2
    return np.asarray(_PRICES[np.argmin(score, axis=-1)])


def _solve(y: Array, ok: Mask, price: float) -> Array:
    """Solve (W + λDᵀD) x = W y for second differences D."""
    size = len(y)
    bands = np.zeros((3, size))
    bands[2] = np.convolve(np.ones(size - 2), [1.0, 4.0, 1.0]) * price + ok
    bands[1, 1:] = np.convolve(np.ones(size - 2), [-2.0, -2.0]) * price
    bands[0, 2:] = price
    ridge = 1e-9 + 1e-13 * price  # above rounding: solvable with only one or two observations
    bands[2] += ridge
    smoothed: Array = solveh_banded(bands, ok * y + ridge * y)
    return smoothed


def total_variation(values: Array, valid: Mask, *, price: float | None = None) -> Array:
    """min ½Σ(y − x)² + λΣ|Δx|, λ = `price`·σ, or the λ with the lowest estimated risk.

    Rudin, Osher & Fatemi 1992, doi:10.1016/0167-2789(92)90242-F. The risk is Stein's unbiased estimate, with the
    number of constant segments as degrees of freedom (Tibshirani & Taylor 2012, doi:10.1214/12-AOS1003).
    """

    def smooth(x: Array, ok: Mask) -> Array:
        if x.shape[-1] < 3:
            return x
        sigma = np.nan_to_num(noise_level(x, ok).sigma)[:, None]
        candidates = np.stack([_flattened(x, p * sigma) for p in (_TV_PRICES if price is None else (price,))])
        pieces = (np.abs(np.diff(candidates, axis=-1)) > 1e-3 * sigma).sum(axis=-1)
        risk = ((candidates - x) ** 2).sum(axis=-1) + 2.0 * sigma[:, 0] ** 2 * pieces
        return np.asarray(candidates[np.argmin(risk, axis=0), np.arange(len(x))])

    return at_native_rate(values, valid, smooth)


def _flattened(y: Array, price: Array) -> Array:
    """Majorisation–minimisation: x = y − Dᵀz with (diag|Dx|/λ + DDᵀ) z = Dy, all channels in one banded system."""
    rises = np.diff(y, axis=-1)
    some = np.maximum(price, 1e-12 * np.maximum(np.abs(y).max(axis=-1, keepdims=True), 1e-300))
    bands = np.full((2, rises.size), -1.0)
    bands[0].reshape(rises.shape)[:, 0] = 0.0  # decouple the channels
    x = y
    for _ in range(_TV_ITERATIONS):
        bands[1] = 2.0 + (np.abs(np.diff(x, axis=-1)) / some).ravel()
        forces = solveh_banded(bands, rises.ravel(), check_finite=False).reshape(rises.shape)
        x = y + np.diff(forces, axis=-1, prepend=0.0, append=0.0)
    return x
