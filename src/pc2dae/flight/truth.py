"""The truth of a simulated flight on the flight's own clock."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xarray as xr

from pc2dae.flight.schema import suite_of

_UNNOTICED_S = 0.02  # a smaller difference of times is drift of a clock, and not worth an interpolation


def truth_name(flight: xr.Dataset, name: str) -> str:
    """The variable of a truth file that channel `name` of a flight estimates.

    It is the air for a calibrated channel, else the reading without noise and, if lag was corrected, without lag.
    """
    attrs = flight[name].attrs if name in flight else {}
    if "gain_uncertainty" in attrs:
        return f"{name}_ambient"
    return f"{name}_instant" if attrs.get("target") == "ambient" else f"{name}_response"


def truth_at(truth: xr.Dataset, flight: xr.Dataset, *, of_samples: bool = False) -> xr.Dataset:
    """The rows of `truth` nearest to the flight's times; NaN if none is within half a sample.

    Readings (`<name>_response`) are those at the centres of the cells or, with `of_samples`, at the times of the
    flight's samples, as far as the truth says when its own were taken.
    """
    suite = suite_of(flight)
    half: Any = np.timedelta64(int(5e8 / suite.rate_hz), "ns")
    there, here = (json.loads(dataset.attrs.get("sampling_offset_s", "{}")) for dataset in (truth, flight))
    moved = {}
    for name in (f"{channel}_response" for channel in suite.names):
        key = suite.instrument_of(name.removesuffix("_response"))
        by_s = (here.get(key, 0.0) if of_samples else 0.0) - there.get(key, 0.0)
        if name in truth and key in there and abs(by_s) > _UNNOTICED_S:
            seconds = (truth["time"].values - truth["time"].values[0]) / np.timedelta64(1, "s")
            moved[name] = ("time", np.interp(seconds + by_s, seconds, truth[name].values), truth[name].attrs)
    return truth.assign(moved).reindex(time=flight["time"].values, method="nearest", tolerance=half)
