"""The height profile of a flight: each channel's median and range in layers of height."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from pc2dae.arrays import Array

_MOST_LAYERS = 20
_LEAST_SAMPLES = 5  # of a channel in a layer
_QUANTILES = (0.1, 0.5, 0.9)


def layer_edges(height: Array) -> Array:
    """Edges of at most `_MOST_LAYERS` layers of round depth [m] that cover all heights.

    >>> layer_edges(np.array([503.0, 561.0, np.nan])).tolist()[:3]
    [500.0, 505.0, 510.0]
    """
    low, high = float(np.nanmin(height)), float(np.nanmax(height))
    least = max(high - low, 1.0) / (_MOST_LAYERS - 1)
    power = 10 ** np.floor(np.log10(least))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= least)
    return np.asarray(step * np.arange(np.floor(low / step), np.floor(high / step) + 2))


def profile(flight: xr.Dataset, names: Sequence[str], height: Array) -> dict[str, Any]:
    """Middle of each layer [m], its depth, and each channel's 10, 50 and 90 % quantiles there; NaN for few samples."""
    edges = layer_edges(height)
    layer = np.digitize(height, edges) - 1
    channels = {}
    for name in names:
        values = flight.variables[name].values.astype(np.float64)
        rows = []
        for k in range(len(edges) - 1):
            inside = values[(layer == k) & np.isfinite(values)]
            rows.append(np.quantile(inside, _QUANTILES) if len(inside) >= _LEAST_SAMPLES else np.full(3, np.nan))
        channels[name] = dict(zip(("low", "median", "high"), np.stack(rows, axis=1).tolist(), strict=True))
    middles = ((edges[1:] + edges[:-1]) / 2).tolist()
    return {"height": middles, "depth": float(edges[1] - edges[0]), "channels": channels}
