"""Table 4: scores against the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pc2dae.benchmark.cases import FAMILIES
from pc2dae.benchmark.compare import FEWEST, Figures, MethodKey, difference, label, leaders, mean_of, order, per_flight
from pc2dae.benchmark.result_table import Cell, ResultTable
from pc2dae.metrics import ALL
from pc2dae.metrics.metric_info import METRICS

if TYPE_CHECKING:
    import pandas as pd

BLIND = ("smoothness", "hf_reduction", "negatives")
COMPARED = ("mae_improvement", "snr_improvement", "peak_bias", "edge_error", "excess_error", "background_bias")
BOLD = "Bold: leads every other fair method, flight by flight, with a 95 % bootstrap interval that excludes 0."
CONSTANT = "A constant scores 100 on smoothness and HF: more than the truth's own figure is damage."
ORACLE = "† width chosen per channel with the truth, then clipped: an upper line, not a method."


def rows_of(shown: Sequence[tuple[str, Figures]], *, with_leads: bool = False) -> list[list[Cell]]:
    """A row for each contender: its mean over flights in each metric, with leads in bold where asked for."""
    lead = [leaders(values, metric) if with_leads else set() for metric, values in shown]
    return [
        [Cell(label(key))]
        + [
            Cell(mean_of(values, key), is_bold=key in best, digits=METRICS[metric].digits)
            for (metric, values), best in zip(shown, lead, strict=True)
        ]
        for key in order(shown[0][1])
    ]


def truth_table(flown: pd.DataFrame) -> ResultTable:
    """Table 4: every metric against the truth."""
    left_out = (*BLIND, "encounters", "scaled_error")  # in table 1; a property of the truth; in table 4e
    shown = [metric for metric in METRICS if metric not in left_out and (flown["metric"] == metric).any()]
    rows = rows_of([(metric, per_flight(flown, metric)) for metric in shown], with_leads=True)
    note = (
        f"Against max(response, bound), mean of families over {flights_in(flown)} flights. {BOLD} {ORACLE} Missed and "
        "false plumes are counts per channel; a signed figure is best at 0, 10-s means at 1, coverage at 90."
    )
    return ResultTable("Table 4a. Against the truth", ["method", *(METRICS[m].heading for m in shown)], rows, note)


def truth_family_table(flown: pd.DataFrame) -> ResultTable:
    """Table 4, continued: the two errors family by family, so that no mean hides a family."""
    shown = [(metric, family) for metric in ("mae_improvement", "snr_improvement") for family in FAMILIES]
    rows = rows_of([(m, per_flight(flown, m, family=f)) for m, f in shown], with_leads=True)
    columns = ["method", *(f"{METRICS[m].heading} ({f})" for m, f in shown)]
    return ResultTable("Table 4b. Against the truth, per family", columns, rows, BOLD)


def difference_tables(flown: pd.DataFrame) -> list[ResultTable]:
    """Table 4, continued: paired differences to lean and to the classical reference."""
    figures = {metric: per_flight(flown, metric) for metric in COMPARED}
    against = [key for key in (("lean", "plain"), ("bayesshrink", "clip")) if key in figures["mae_improvement"]]
    return [_difference_table(figures, f"Table 4{'cd'[i]}. Better than {label(k)} by", k)
            for i, k in enumerate(against)]  # fmt: skip


def _difference_table(figures: dict[str, Figures], title: str, against: MethodKey) -> ResultTable:
    rows = [
        [Cell(label(key)), *(gap(values, metric, key, against) for metric, values in figures.items())]
        for key in order(figures["mae_improvement"])
        if key != against
    ]
    note = "Paired over flights, mean [95 % bootstrap interval]; bold: better (positive), and the interval excludes 0."
    return ResultTable(title, ["method", *(METRICS[m].heading for m in figures)], rows, f"{note} {ORACLE}")


def average_table(simulated: pd.DataFrame) -> ResultTable:
    """Table 4, continued: the same errors averaged in three ways, because a few loud channels decide the usual mean."""
    noises = [n for n in ("flight", "inject 0.05", "inject 0.10") if (simulated["noise"] == n).any()]
    columns, shown = ["method"], []
    for noise in noises:
        rows = simulated[simulated["noise"] == noise]
        where = "as flown" if noise == "flight" else f"σ\u00a0{noise.split()[1]}"
        columns += [f"{way} ({where}), %" for way in ("mean of families", "median channel", "pooled")]
        ways = (per_flight(rows, "mae_improvement"), _median_channel(rows), _pooled(rows))
        shown += [("mae_improvement", way) for way in ways]
    note = (
        "MAE reduction. Mean of families: of percentages, as everywhere else. Median channel: of the percentages of "
        "all channels. Pooled: of the summed errors of all channels, each in units of its P99.5 − bound."
    )
    return ResultTable("Table 4e. Three ways to average channels", columns, rows_of(shown), note)


def _median_channel(rows: pd.DataFrame) -> Figures:
    channels = rows[(rows["channel"] != ALL) & (rows["metric"] == "mae_improvement")]
    middle = channels.groupby(["method", "dress", "flight", "seed"], sort=False)["value"].median().reset_index()
    return per_flight(middle.assign(metric="mae_improvement", family=ALL, channel=ALL), "mae_improvement")


def _pooled(rows: pd.DataFrame) -> Figures:
    channels = rows[(rows["channel"] != ALL) & (rows["metric"] == "scaled_error")]
    total = channels.groupby(["method", "dress", "flight", "seed"], sort=False)["value"].sum().reset_index()
    sums = per_flight(total.assign(metric="scaled_error", family=ALL, channel=ALL), "scaled_error")
    return {key: 100.0 * (1.0 - own / sums[("raw", "plain")]) for key, own in sums.items()}


def gap(figures: Figures, metric: str, key: MethodKey, against: MethodKey) -> Cell:
    """The improvement of one contender over another, with its interval."""
    if key not in figures or against not in figures or not np.isfinite(figures[key] - figures[against]).any():
        return Cell()
    found = difference(figures, metric, key, against)
    is_lead = found.low > 0 and found.flights >= FEWEST
    return Cell(found.mean, found.low, found.high, is_bold=is_lead, digits=METRICS[metric].digits)


def flights_in(rows: pd.DataFrame) -> int:
    """Number of scored flights."""
    return int(rows["flight"].nunique())
