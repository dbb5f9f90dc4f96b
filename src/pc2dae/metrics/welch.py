"""Power spectra after Welch (numpy alone: importing scipy.signal takes longer than a report's spectra)."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from pc2dae.arrays import Array

SEGMENT = 256  # samples


def welch(series: Array, *, rate_hz: float = 1.0) -> tuple[Array, Array]:
    """Frequency [Hz] and one-sided power density [units² Hz⁻¹] of series (…, time).

    Means over Hann windows of 256 samples, or of the whole series if that is shorter, which overlap by half and have
    their mean removed.

    >>> frequency, power = welch(np.sqrt(2.0) * np.sin(np.pi / 4 * np.arange(1024)))
    >>> float(frequency[power.argmax()]), round(float(power.sum() * frequency[1]), 3)
    (0.125, 1.0)
    """
    size = min(SEGMENT, series.shape[-1])
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    pieces = sliding_window_view(series, size, axis=-1)[..., :: size - size // 2, :]
    waves = np.fft.rfft((pieces - pieces.mean(axis=-1, keepdims=True)) * window, axis=-1)
    power = (np.abs(waves) ** 2).mean(axis=-2) / (rate_hz * (window**2).sum())
    power[..., 1 : (size + 1) // 2] *= 2  # those at negative frequencies
    return np.asarray(np.fft.rfftfreq(size, 1 / rate_hz), np.float64), np.asarray(power, np.float64)
