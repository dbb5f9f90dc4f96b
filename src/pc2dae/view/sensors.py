"""Two sensors of one species against each other: the points of a scatter plot and the line through them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.arrays import Array, Mask
from pc2dae.plumes import Survey
from pc2dae.plumes.duplicates import groups
from pc2dae.plumes.emission import NAMES
from pc2dae.plumes.ratio_rows import Pair
from pc2dae.plumes.ratios import Samples, correlation, slope_ratio
from pc2dae.plumes.signals import Signal, scaled
from pc2dae.plumes.york import york_line
from pc2dae.suite import Suite, conversion
from pc2dae.suite.species import species_of
from pc2dae.view.plumes import milliseconds
from pc2dae.view.uncertainty import in_smoke

_FITTED = 1000  # samples of a fit at most, evenly spaced
_DRAWN = 500  # points at most, of clean air and of plumes each
_LEAST = 10  # samples that both sensors have
_TITLES = NAMES | {"o3": "O₃", "nox": "NOₓ"}


def sensor_pairs(flight: xr.Dataset, suite: Suite, plumes: Survey) -> list[dict[str, Any]]:
    """Every pair of sensors of a species that both measured: its points, bias, and line by York regression.

    Both are compared as unbounded estimates at the coarser resolution of the two, so that a slow sensor makes no loops.
    """
    time, smoke = milliseconds(flight.variables["time"].values), in_smoke(flight, plumes.intervals)
    signals = plumes.signals
    found = [_compared(suite, signals, names, time, smoke) for names in _pairs(suite) if set(names) <= signals.keys()]
    shown = [pair for pair in found if pair is not None]
    return [pair | {"remark": str(flight.variables[pair["x"]].attrs.get("disagreement", ""))} for pair in shown]


def _pairs(suite: Suite) -> list[tuple[str, str]]:
    """Channels of one species, and of one wavelength, or of one group of duplicates; the first is the abscissa."""
    kinds = {c.name: (species_of(c), c.wavelength_nm) for c in suite.channels if c.difference_of is None}
    alike = {frozenset(pair) for group in groups(suite) for pair in combinations(group, 2)}
    return [
        (x, y)
        for x, y in combinations(kinds, 2)
        if (frozenset((x, y)) in alike or (kinds[x] == kinds[y] and kinds[x][0] is not None))
        and conversion(suite[y].units, suite[x].units) is not None
    ]


def _compared(
    suite: Suite, signals: Mapping[str, Signal], names: tuple[str, str], time: NDArray[np.int64], smoke: Mask
) -> dict[str, Any] | None:
    below, above = (signals[name] for name in names)
    factor, _ = conversion(above.units, below.units) or (1.0, 0.0)
    pair = Pair(" / ".join(names), scaled(above, np.full(len(time), factor), below.units), below)
    x, y = (signal.excess + signal.level for signal in (pair.x, pair.y))
    both = below.seen & above.seen & np.isfinite(x) & np.isfinite(y)
    if np.count_nonzero(both) < _LEAST:
        return None
    difference = (y - x)[both]
    at = _spread(np.flatnonzero(both), _FITTED)
    line = york_line(x[at], y[at], pair.x.error[at], pair.y.error[at])
    block = max(10, int(np.ceil(3 * pair.width_s * below.rate_hz * len(at) / np.count_nonzero(both))))
    slope = slope_ratio(_samples(pair.x, x, at), _samples(pair.y, y, at), block=block)
    species = species_of(suite[names[0]])
    chosen = np.sort(np.concatenate([_spread(np.flatnonzero(both & part), _DRAWN) for part in (smoke, ~smoke)]))
    return {
        "species": species or names[0],
        "title": _TITLES.get(species or "", names[0]),
        "x": names[0],
        "y": names[1],
        "units": below.units,
        "n": len(difference),
        "bias": difference.mean(),
        "bias_clean": difference[~smoke[both]].mean() if (~smoke[both]).any() else np.nan,
        "rms": np.sqrt(np.mean(difference**2)),
        "correlation": correlation(x[both], y[both]),
        "slope": line.slope,
        "slope_sigma": slope.random,
        "intercept": line.intercept,
        "resolution_s": pair.width_s,
        "points": {
            "time": time[chosen].tolist(),
            "x": [float(f"{v:.6g}") for v in x[chosen]],
            "y": [float(f"{v:.6g}") for v in y[chosen]],
            "smoke": smoke[chosen].astype(int).tolist(),
        },
    }


def _spread(index: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """At most `most` of some samples, evenly spaced."""
    return index[:: -(-len(index) // most)] if len(index) else index


def _samples(signal: Signal, values: Array, at: NDArray[np.intp]) -> Samples:
    return Samples(values[at], signal.error[at], signal.sum_variance)
