"""What is done to training windows: noise added, records recorrupted, samples hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array, Array32, Floats, Mask

SIGMA_MAX = 0.1  # in units of the channel's scale: the paper's larger injection
ALPHA = 0.7  # recorruption: the input gets √(1 + 0.7²) = 1.22 times the noise, its target √(1 + 0.7⁻²) = 1.74 times
BLIND_SHARE = 0.04  # share of samples predicted per window: few enough that their neighbours remain visible


def inject(values: Floats, scale: Floats, rng: np.random.Generator) -> tuple[Array32, Array]:
    """Windows (window, channel, time) plus white noise of σ·scale, σ ~ U(0, 0.1) drawn once per window; and σ·scale."""
    sigma = rng.uniform(0.0, SIGMA_MAX, size=(len(values), 1)) * np.asarray(scale)
    noise = rng.standard_normal(values.shape, dtype=np.float32)
    return (values + sigma[..., None].astype(np.float32) * noise).astype(np.float32), sigma


def recorrupt(
    values: Floats, valid: Mask, sigma: Floats, lag1: Floats, rng: np.random.Generator
) -> tuple[Array, Array]:
    """A noisier input and an even noisier target made from one noisy record, their noises independent of each other.

        input = y + α n,   target = y − n / α,   n with the σ and the lag-1 correlation of the noise in y

    For Gaussian noise and any function f of the input, E (f − target)² = E (f − truth)² + constant: a network can be
    trained and judged by squared error without truth. Where n has less variance than the noise in y (a misjudged σ,
    noise that grows with the signal) the loss rewards following the noise, where it has more, smoothing.

    `values` and `valid` are (…, channel, time), `sigma` [units of the channel] and `lag1` (…, channel).
    Pang, Zheng, Quan, Ji: Recorrupted-to-Recorrupted, CVPR 2021.
    """
    noise = np.asarray(sigma)[..., None] * correlated_noise(valid, lag1, rng)
    return values + ALPHA * noise, values - noise / ALPHA


def correlated_noise(valid: Mask, lag1: Floats, rng: np.random.Generator) -> Array:
    """Normal noise of unit variance whose correlation between successive valid samples is `lag1`, (…, channel).

    A moving average of two samples up to |lag1| = 0.5, its limit; beyond, autoregressive. An invalid
    sample has the noise of the last valid one, so a stale repeat remains a repeat.
    """
    rho = np.clip(np.nan_to_num(np.asarray(lag1, dtype=np.float64)), -0.5, 0.99)[..., None]
    white = rng.standard_normal((*valid.shape[:-1], valid.shape[-1] + 1))
    moving = np.minimum(rho, 0.5)
    theta = 2 * moving / (1 + np.sqrt(1 - 4 * moving**2))  # solves θ / (1 + θ²) = ρ
    noise = (white[..., 1:] + theta * white[..., :-1]) / np.sqrt(1 + theta**2)
    if (rho > 0.5).any():
        series = white[..., 1:].copy()
        for t in range(1, series.shape[-1]):
            series[..., t] = rho[..., 0] * series[..., t - 1] + np.sqrt(1 - rho[..., 0] ** 2) * series[..., t]
        noise = np.where(rho > 0.5, series, noise)
    order = np.maximum(np.cumsum(valid, axis=-1) - 1, 0)
    return np.take_along_axis(noise, order, axis=-1)


def hide(valid: Mask, width: NDArray[np.integer[Any]], rng: np.random.Generator) -> tuple[Mask, Mask]:
    """Blind spots in windows (window, channel, time): what remains visible, and which samples are predicted.

    Around each asked sample `width[channel]` samples (odd) are hidden, as far as the noise is correlated: otherwise a
    neighbour gives the noise away. A stale sample repeats its predecessor; it is not valid, so the pair hides together.
    """
    asked = valid & (rng.random(valid.shape, dtype=np.float32) < BLIND_SHARE)
    hidden = asked.copy()
    for reach in range(1, int(np.max(width)) // 2 + 1):
        near = asked & (width // 2 >= reach)[:, None]
        hidden[..., reach:] |= near[..., :-reach]
        hidden[..., :-reach] |= near[..., reach:]
    return valid & ~hidden, asked


def blind_width(lag1: float, *, most: int = 9) -> int:
    """How many samples to hide around an asked one, from the noise's autocorrelation at one sample.

    Correlation taken as lag1ᵏ at lag k: hidden up to where it falls below 0.1, at least 3 samples, at most `most`.
    White noise and the differenced noise of an aethalometer (lag1 = −0.5, nothing beyond) give 3.
    """
    if not lag1 > 0.1:
        return 3
    return min(2 * max(1, int(np.log(0.1) / np.log(min(lag1, 0.99)))) + 1, most)
