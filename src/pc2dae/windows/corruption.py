"""What is done to training windows: noise put on top, samples hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]

SIGMA_MAX = 0.1  # in units of the channel's scale: the paper's larger injection
BLIND_SHARE = 0.04  # share of samples asked for per window: few enough that their neighbours stay visible


def inject(values: Array, scale: Array, rng: np.random.Generator) -> NDArray[np.float32]:
    """Windows (window, channel, time) plus white noise of σ·scale, σ ~ U(0, 0.1) drawn once per window."""
    sigma = rng.uniform(0.0, SIGMA_MAX, size=(len(values), 1, 1)) * np.asarray(scale)[:, None]
    noise = rng.standard_normal(values.shape, dtype=np.float32)
    return (values + sigma.astype(np.float32) * noise).astype(np.float32)


def hide(valid: Mask, width: NDArray[np.integer[Any]], rng: np.random.Generator) -> tuple[Mask, Mask]:
    """Blind spots in windows (window, channel, time): what stays visible, and which samples are asked for.

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
