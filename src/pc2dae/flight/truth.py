"""The truth of a simulated flight on the flight's own clock."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from pc2dae.flight.schema import suite_of


def truth_name(flight: xr.Dataset, name: str) -> str:
    """The variable of a truth file that channel `name` of a flight estimates.

    It is the air for a calibrated channel, else the reading without noise and, if lag was corrected, without lag.
    """
    attrs = flight[name].attrs if name in flight else {}
    if "gain_uncertainty" in attrs:
        return f"{name}_ambient"
    return f"{name}_instant" if attrs.get("target") == "ambient" else f"{name}_response"


def truth_at(truth: xr.Dataset, flight: xr.Dataset) -> xr.Dataset:
    """The rows of `truth` nearest to the flight's times; NaN if none is within half a sample."""
    half: Any = np.timedelta64(int(5e8 / suite_of(flight).rate_hz), "ns")
    return truth.reindex(time=flight["time"].values, method="nearest", tolerance=half)
