"""Spectra before and after: what a denoiser took away, and at which frequencies."""

from __future__ import annotations

import warnings

import numpy as np
import xarray as xr

from pc2dae.arrays import Array
from pc2dae.report.figure import Figure, packed
from pc2dae.suite import Channel

SEGMENT = 256  # samples, Hann, detrended: as the metric hf_reduction has it


def spectrum(values: Array, rate_hz: float) -> tuple[Array, Array] | None:
    """Welch power density [units² Hz⁻¹] over frequency [Hz]; gaps are bridged by straight lines; None if too short."""
    from scipy.signal import detrend, welch

    steps, seen = np.arange(len(values)), np.isfinite(values)
    if np.count_nonzero(seen) < SEGMENT // 2:
        return None
    whole = np.interp(steps, steps[seen], values[seen])
    with warnings.catch_warnings():  # a record shorter than a segment: scipy says that it takes what there is
        warnings.simplefilter("ignore", UserWarning)
        frequency, power = welch(detrend(whole), fs=rate_hz, nperseg=SEGMENT, window="hann")
    return frequency[1:], power[1:]


def spectrum_figure(flight: xr.Dataset, channel: Channel, rate_hz: float) -> Figure | None:
    """Raw and estimate of one channel over frequency, both axes logarithmic."""
    name = channel.name
    if f"{name}_raw" not in flight:
        return None
    data = []
    # The unbounded estimate: what lies flat on the bound has no spectrum.
    after = f"{name}_unbounded" if f"{name}_unbounded" in flight else name
    for variable, role in ((f"{name}_raw", "raw"), (after, "estimate")):
        found = spectrum(flight[variable].values.astype(np.float64), rate_hz)
        if found is None:
            return None
        frequency, power = found
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": packed(frequency),
                "y": packed(np.maximum(power, 1e-12)),
                "meta": {"role": role},
                "name": role,
                "hovertemplate": "%{y:.3~g}",
            }
        )
    corner = rate_hz / 8
    layout = {
        "height": 170,
        "margin": {"l": 46, "r": 8, "t": 6, "b": 30},
        "showlegend": False,
        "hovermode": "x unified",
        "xaxis": {"type": "log", "ticksuffix": " Hz", "dtick": 1, "hoverformat": ".3f", "fixedrange": True},
        "yaxis": {"type": "log", "exponentformat": "power", "nticks": 4, "fixedrange": True},
        "shapes": [
            {
                "type": "line",
                "x0": corner,
                "x1": corner,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"dash": "dot", "width": 1, "color": "#8a94a0"},
            }
        ],
    }
    return Figure(f"spectrum-{name}", data, layout)
