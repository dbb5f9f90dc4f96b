"""The uncertainty budget of each estimate: noise, lag and what its calibration leaves, in clean air and in plumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from pc2dae.arrays import Array, Mask
from pc2dae.calibration.budget import budget_of
from pc2dae.flight.schema import has_estimate
from pc2dae.suite import Suite
from pc2dae.view.formatting import Row, Table, number, units

# Part → heading of its column.
_PARTS = {
    "noise": "noise",
    "lag": "lag",
    "zero": "zero",
    "drift": "drift",
    "gain": "gain",
    "cross": "cross-\nsensitivity",
    "duplicates": "duplicates\ndisagree",
    "total": "total",
}
_SMALL = 1e-3  # of the systematic part: what rounding leaves of a difference of squares
NOT_INCLUDED = "calibration not included"


def uncertainty_tables(flight: xr.Dataset, suite: Suite, intervals: Sequence[tuple[int, int]]) -> list[Table]:
    """One row per channel with a stated uncertainty; `intervals` are the samples in plumes."""
    smoke, found = in_smoke(flight, intervals), _found(flight, suite)
    shown = [part for part in _PARTS if part != "duplicates" or any(part in own for own in found.values())]
    rows = []
    for name, own in found.items():
        cells = [_medians(own[part], smoke) if part in own else "–" for part in shown]
        basis = (
            str(flight.variables[name].attrs["calibration"]) if budget_of(flight, name) is not None else NOT_INCLUDED
        )
        rows.append(Row([name, units(suite[name].units), *cells, basis]))
    head = ["channel", "unit", *(_PARTS[part] for part in shown), "calibration"]
    note = (
        "Standard uncertainties, medians in clean air / in plumes. Noise averages out over a plume; zero, drift, gain"
        " and cross-sensitivity, which are left by the calibration, do not. A constant zero cancels in an excess over"
        " background."
    )
    wide = len(head) - 1
    return [Table(head, rows, (0, 1, wide), (wide,), title="Uncertainty budget", note=note)] if rows else []


def budget_bars(flight: xr.Dataset, suite: Suite, intervals: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    """The same for drawing: the medians of each part in clean air and in plumes; a part of size 0 is left out."""
    smoke = in_smoke(flight, intervals)
    return [
        {"name": name, "units": units(suite[name].units)}
        | {where: {part: m for part, values in own.items() if (m := _median(values, mask)) > 0}
           for where, mask in (("clean", ~smoke), ("plume", smoke))}
        for name, own in _found(flight, suite).items()
    ]  # fmt: skip


def _found(flight: xr.Dataset, suite: Suite) -> dict[str, dict[str, Array]]:
    """The parts of every channel with a stated uncertainty."""
    known = [n for n in suite.names if has_estimate(flight, n) and f"{n}_uncertainty" in flight]
    return {name: parts(flight, name) for name in known}


def in_smoke(flight: xr.Dataset, intervals: Sequence[tuple[int, int]]) -> Mask:
    """Which samples lie in plumes."""
    smoke = np.zeros(flight.sizes["time"], bool)
    for start, stop in intervals:
        smoke[start:stop] = True
    return smoke


def parts(flight: xr.Dataset, name: str) -> dict[str, Array]:
    """The known parts of a channel's uncertainty along the flight.

    lag² = systematic² − calibration² − disagreement with duplicates².
    """
    total = flight.variables[f"{name}_uncertainty"].values.astype(np.float64)
    systematic, random, between = (
        flight.variables[key].values.astype(np.float64) if (key := f"{name}_{kind}_uncertainty") in flight else None
        for kind in ("systematic", "random", "disagreement")
    )
    found = {"noise": total if random is None else random, "total": total}
    left = np.zeros(len(total)) if between is None else between**2
    if between is not None:
        found["duplicates"] = between
    budget = budget_of(flight, name)
    if budget is not None:
        others = {n: flight.variables[n].values for n in budget.cross if n in flight}
        calibration = budget.parts(flight.variables[name].values, others)
        found |= calibration
        left = left + sum(part**2 for part in calibration.values())
    if systematic is not None:
        lag = np.sqrt(np.maximum(systematic**2 - left, 0))
        found["lag"] = np.where(lag > _SMALL * systematic, lag, 0)
    return found


def _medians(values: Array, smoke: Mask) -> str:
    """Medians in clean air and in plumes; one number where they are equal or there is no plume."""
    found = (_median(values, mask) for mask in (~smoke, smoke))
    return " / ".join(dict.fromkeys(number(m, 2) for m in found if np.isfinite(m))) or "–"


def _median(values: Array, mask: Mask) -> float:
    """The median of the known values of a part of the flight, NaN without any."""
    some = values[mask & np.isfinite(values)]
    return float(np.median(some)) if len(some) else np.nan
