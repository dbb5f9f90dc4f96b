"""The difference of two runs of a flight, computed from all samples and then thinned for drawing."""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array
from pc2dae.view.series import Column, Columns, bucket_times, buckets, cut, extremes
from pc2dae.web.compare_models import DifferenceOf, Numbers, RunDifference

_COVERAGE_90 = 1.645  # as `view.flight_view.COVERAGE_90`, which needs pandas


def difference(
    time: Column,
    run: Columns,
    other: Columns,
    names: list[str],
    *,
    start: float | None,
    stop: float | None,
    points: int,
) -> RunDifference:
    """Other minus run, of the channels that both have, within a stretch of time [ms]."""
    here = cut(time, start, stop)
    width = buckets(len(time[here]), points)
    channels = {name: _of(run, other, name, here, width) for name in names if name in run and name in other}
    return RunDifference(time=bucket_times(time[here], width).tolist(), channels=channels)


def _of(run: Columns, other: Columns, name: str, here: slice, width: int) -> DifferenceOf:
    apart = (other[name].astype(np.float64) - run[name])[here]
    known = apart[np.isfinite(apart)]
    kept = extremes(apart, width)
    errors = [e[here][kept] for e in (_random(run, name), _random(other, name)) if e is not None]
    return DifferenceOf(
        difference=_numbers(apart[kept]),
        sigma=_numbers(np.sqrt(sum(e**2 for e in errors))) if errors else None,
        bias=float(known.mean()) if len(known) else None,
        rms=float(np.sqrt(np.mean(known**2))) if len(known) else None,
        n=len(known),
        targets=["ambient" if f"{name} response" in columns else "response" for columns in (run, other)],
    )


def _random(columns: Columns, name: str) -> Array | None:
    """Standard uncertainty of random errors, the total where the parts are not stored, None where neither is known."""
    if f"{name} random" in columns:
        return columns[f"{name} random"].astype(np.float64)
    if f"{name} high" in columns:
        return (columns[f"{name} high"].astype(np.float64) - columns[name]) / _COVERAGE_90
    return None


def _numbers(values: Array) -> Numbers:
    return [float(f"{v:.6g}") if np.isfinite(v) else None for v in values]
