"""Delays between channels in a plume, due to the sensors' response; reported, never used to correct clocks."""

from __future__ import annotations

import numpy as np
import xarray as xr

from pc2dae.arrays import Array
from pc2dae.flight.schema import observed, suite_of

REACH_S = 60.0
LEAST_CORRELATION = 0.5
_MIN_SAMPLES = 120


def response_delays(flight: xr.Dataset) -> dict[str, float]:
    """Delay [s] of each channel behind the fastest of the suite, if they correlate (r ≥ 0.5) within a minute."""
    suite = suite_of(flight)
    reach = round(REACH_S * suite.rate_hz)
    signals = {name: signal for name in suite.names if (signal := _plumes(flight, name)) is not None}
    if len(signals) < 2 or flight.sizes["time"] <= 2 * reach:
        return {}
    quickest = min(signals, key=lambda name: (suite[name].t90_s if suite[name].t90_s is not None else 5.0, name))
    delays = {}
    for name, signal in signals.items():
        if name == quickest:
            continue
        correlation = _correlation(signals[quickest], signal, reach)
        top = int(np.argmax(correlation))
        if correlation[top] >= LEAST_CORRELATION and 0 < top < len(correlation) - 1:
            delays[name] = round((top - reach) / suite.rate_hz, 1)
    return {quickest: 0.0, **delays} if delays else {}


def _plumes(flight: xr.Dataset, name: str) -> Array | None:
    """The channel without its slow background, zero where not observed; None if there are too few samples."""
    good = observed(flight, name)
    if good.sum() < _MIN_SAMPLES:
        return None
    values = np.interp(np.arange(len(good)), np.flatnonzero(good), flight[name].values[good])
    low, high = np.percentile(values, [0.5, 99.5])
    values = np.clip(values, low, high)
    values = values - np.median(values)
    return np.asarray(values) if np.std(values) > 0 else None


def _correlation(x: Array, y: Array, reach: int) -> Array:
    """Correlation of y with x for y later by −reach … reach samples."""
    size = 1 << int(np.ceil(np.log2(len(x) + 2 * reach)))
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    product = np.fft.irfft(np.conj(np.fft.rfft(x, size)) * np.fft.rfft(y, size), size) / len(x)
    return np.concatenate([product[-reach:], product[: reach + 1]])
