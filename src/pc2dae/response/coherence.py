"""How far two channels saw the same air: squared coherence in the band in which a response shows (numpy only)."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from pc2dae.arrays import Array

COHERENT = 0.75  # in smoke CO and PM2.5 reach 0.85 to 1, an infrared CO2 sensor and PM2.5 0.2 to 0.67
_BAND = 0.7, 5.0  # periods in t90: around the corner of a first-order response, at 2.7
_LONGEST_PERIODS = 1.5  # of the longest period in a segment
_LEAST = 32  # samples of a segment
_SEGMENTS = 4
_SEEN = 0.5  # share of a channel's power that must be signal, at this share of the periods


def coherence(first: Array, second: Array, *, t90_s: float, sigma: tuple[float, float], rate_hz: float = 1.0) -> float:
    """Squared coherence of two channels around the corner of a response, 0 to about 1.

    Noise is taken off both spectra: it makes channels less coherent, but not their air. NaN where noise exceeds the
    signal at all periods; 0 of a record too short to show any.

    Args:
        first: A channel (time,), without gaps.
        second: Another.
        t90_s: Response time that the one is to have behind the other [s].
        sigma: Noise levels of both, in their own units.
        rate_hz: Samples per second [Hz].

    >>> rng = np.random.default_rng(0)
    >>> air, other = np.repeat(rng.random((2, 300)), 10, axis=1)
    >>> [round(coherence(air, x, t90_s=20.0, sigma=(0.0, 0.0)), 1) for x in (2 * air, other)]
    [1.0, 0.0]
    """
    shortest, longest = (periods * t90_s * rate_hz for periods in _BAND)
    length = max(int(_LONGEST_PERIODS * longest), _LEAST)
    if len(first) < (_SEGMENTS + 1) * length // 2:
        return 0.0
    window = np.hanning(length)
    spectra = []
    for series in (first, second):
        pieces = sliding_window_view(series, length)[:: length // 2]
        spectra.append(np.fft.rfft((pieces - pieces.mean(axis=1, keepdims=True)) * window, axis=1))
    period = length / np.maximum(np.arange(spectra[0].shape[1]), 1e-9)
    power = [np.mean(np.abs(s) ** 2, axis=0) for s in spectra]
    own = [p - level**2 * (window @ window) for p, level in zip(power, sigma, strict=True)]
    seen = np.logical_and.reduce([o > _SEEN * p for o, p in zip(own, power, strict=True)])
    band = (period >= max(shortest, 2.0)) & (period <= longest)
    if not (band.any() and np.mean(seen[band]) > _SEEN):
        return np.nan
    band &= seen
    cross = np.abs(np.mean(spectra[0] * spectra[1].conj(), axis=0))[band]
    joint = np.sqrt(own[0] * own[1], where=seen, out=np.zeros(len(seen)))[band]
    return float(np.sum(cross**2 / joint) / np.sum(joint))
