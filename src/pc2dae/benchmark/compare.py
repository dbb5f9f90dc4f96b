"""Comparison of contenders: one value per flight (mean over seeds), and paired differences over flights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from pc2dae.arrays import Array
from pc2dae.benchmark.plan import READING, YARDSTICKS
from pc2dae.metrics import ALL, Difference, paired_difference
from pc2dae.metrics.metric_info import METRICS
from pc2dae.registry import SHIPPED

if TYPE_CHECKING:
    import pandas as pd

NAMES = {
    "lean": "PC²DAE-Lean", "wide": "PC²DAE-Wide",
    "lean-paper": "PC²DAE-Lean, literal", "wide-paper": "PC²DAE-Wide, literal",
    "despawn": "DeSpaWN", "lstm-ae": "LSTM-AE", "cbdae": "CBDAE", "unet": "U-Net 1D", "transformer": "Transformer",
    "adaptive": "adaptive (ours)", "adaptive-short": "adaptive-short (ours)",
    "adaptive-causal": "adaptive-causal (ours)",
}  # fmt: skip
UNFAIR = ("truth", "constant", READING)  # methods that cannot lead, in addition to those tuned with the truth
# No lead is reported for these: a constant or an arbitrarily wide interval would win.
UNLED = ("smoothness", "hf_reduction", "negatives", "mean_10s_change", "width_90", "leakage",
         "coverage_90", "coverage_90_plume", "coverage_90_background")  # fmt: skip
FEWEST = 5  # least number of flights for which a lead is reported

MethodKey = tuple[str, str]  # method, output head
Figures = dict[MethodKey, Array]  # one value per flight


def per_flight(table: pd.DataFrame, metric: str, *, family: str = ALL, channel: str = ALL) -> Figures:
    """Each contender's value for every flight, in a common order of flights: the mean over training seeds."""
    rows = table[(table["metric"] == metric) & (table["family"] == family) & (table["channel"] == channel)]
    wide = rows.pivot_table(index=["method", "dress"], columns="flight", values="value", aggfunc="mean", sort=False)
    return {(str(m), str(d)): row for (m, d), row in zip(wide.index, wide.to_numpy(np.float64), strict=True)}


def common_seeds(rows: pd.DataFrame, across: str | list[str]) -> set[int]:
    """The training seeds that every value of `across` has."""
    return set.intersection(*(set(part["seed"]) for _, part in rows.groupby(across)))


def with_common_seeds(rows: pd.DataFrame, across: str) -> pd.DataFrame:
    """Rows of the seeds that a method has for all values of `across`, so that every point averages the same seeds."""
    import pandas as pd

    methods = (own for _, own in rows.groupby("method", sort=False))
    return pd.concat([own[own["seed"].isin(common_seeds(own, across))] for own in methods])


def mean_of(figures: Figures, key: MethodKey) -> float:
    """Mean over flights; NaN where there is none."""
    finite = figures[key][np.isfinite(figures[key])] if key in figures else np.empty(0)
    return float(finite.mean()) if len(finite) else np.nan


def goodness(values: Array, metric: str) -> Array:
    """The values with signs such that higher is better."""
    good = METRICS[metric].good
    if good == "high":
        return values
    return -values if good == "low" else -np.abs(values - float(good))


def leaders(figures: Figures, metric: str) -> set[MethodKey]:
    """The methods better than every other fair one, with an interval that excludes 0; tied methods lead together."""
    fair = {k: goodness(v, metric) for k, v in figures.items() if _is_fair(k) and np.isfinite(v).any()}
    if metric in UNLED or len(fair) < 2:
        return set()
    best = max(fair, key=lambda k: float(np.nanmean(fair[k])))
    tied = {k for k in fair if np.allclose(fair[k], fair[best], equal_nan=True)}
    gaps = [difference(figures, metric, best, k) for k in fair if k not in tied]
    return tied if gaps and all(gap.is_lead and gap.mean > 0 and gap.flights >= FEWEST for gap in gaps) else set()


def difference(figures: Figures, metric: str, first: MethodKey, second: MethodKey) -> Difference:
    """How much better `first` is than `second`, flight by flight; positive is better."""
    return paired_difference(goodness(figures[first], metric), goodness(figures[second], metric))


def order(keys: Iterable[MethodKey]) -> list[MethodKey]:
    """Reference estimates, the paper's networks and ours, baselines, filters, and last those tuned with the truth."""

    def rank(key: MethodKey) -> int:
        if key[0] in (*YARDSTICKS, READING):
            return 0
        if key[0] in SHIPPED:
            return 1
        if key[0] in NAMES:
            return 2
        return 4 if key[1].startswith("oracle") else 3

    return sorted(keys, key=rank)


def label(key: MethodKey) -> str:
    """The display name of a contender."""
    if key[1].startswith("oracle"):
        return f"{key[0]} †{key[1].removeprefix('oracle')}"
    head = {"plain": "", "clip": ", clipped", "skip": " + skip, noise units"}.get(key[1], f", {key[1]}")
    return f"{NAMES.get(key[0], key[0])}{head}"


def _is_fair(key: MethodKey) -> bool:
    return key[0] not in UNFAIR and not key[1].startswith("oracle")
