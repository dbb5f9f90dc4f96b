"""The truth of a simulated flight on the flight's own clock."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from pc2dae.flight.schema import suite_of


def truth_at(truth: xr.Dataset, flight: xr.Dataset) -> xr.Dataset:
    """The rows of `truth` nearest to the flight's times; NaN if none is within half a sample."""
    half: Any = np.timedelta64(int(5e8 / suite_of(flight).rate_hz), "ns")
    return truth.reindex(time=flight["time"].values, method="nearest", tolerance=half)
