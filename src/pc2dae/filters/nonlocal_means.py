"""Non-local means: an average of samples whose surroundings look alike, however far apart they are."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter1d

from pc2dae.arrays import Array, Mask
from pc2dae.filters.gaps import at_native_rate
from pc2dae.noise import noise_level


def nonlocal_means(values: Array, valid: Mask, *, strength: float = 0.7, patch: int = 9, reach: int = 60) -> Array:
    """Σ w(t, s) x(s) / Σ w(t, s) over |s − t| ≤ `reach`, w = exp(−max(d² − 2σ², 0)/(2·strength²·σ²)).

    d² is the mean squared difference of the `patch` samples around t and s, which noise of level σ alone makes 2σ².
    Buades, Coll & Morel 2005, doi:10.1109/CVPR.2005.38.

    >>> pulses = np.tile(np.repeat([0.0, 9.0], [37, 3]), 9) + np.random.default_rng(0).normal(0, 0.2, 360)
    >>> nonlocal_means(pulses[None], np.ones((1, 360), bool))[0, 196:201].round().astype(int).tolist()
    [0, 9, 9, 9, 0]
    """

    def smooth(x: Array, ok: Mask) -> Array:
        sigma = np.nan_to_num(noise_level(x, ok).sigma)[:, None]
        width = np.maximum(2.0 * (strength * sigma) ** 2, 1e-300)
        seen = ok.astype(np.float64)
        total, weights = x * np.maximum(seen, 1e-9), np.maximum(seen, 1e-9)  # interpolated where nothing is alike
        for shift in range(1, min(reach, x.shape[-1] - 1) + 1):
            early, late = x[:, :-shift], x[:, shift:]
            distance = uniform_filter1d((late - early) ** 2, patch, axis=-1, mode="nearest")
            with np.errstate(over="ignore"):  # without noise nothing else is alike
                alike = np.exp(-np.maximum(distance - 2.0 * sigma**2, 0.0) / width)
            total[:, :-shift] += alike * seen[:, shift:] * late
            weights[:, :-shift] += alike * seen[:, shift:]
            total[:, shift:] += alike * seen[:, :-shift] * early
            weights[:, shift:] += alike * seen[:, :-shift]
        return np.asarray(total / weights)

    return at_native_rate(values, valid, smooth)
