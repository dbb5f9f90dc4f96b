"""Score tables: methods beside trivial references, this method by family and by channel; and its error budget."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pc2dae.metrics.budget import BUDGET, budget_table
from pc2dae.metrics.metric_info import METRICS
from pc2dae.view.formatting import Row, Table, broken

_NO_GAIN = "A constant line scores 100 % in smoothness and HF reduction: more than the truth scores is over-smoothing."


def score_tables(scores: pd.DataFrame) -> list[Table]:
    """The tables of `pipeline.evaluate`'s result but its error budget; the first method is the flight's own."""
    scores = scores[~scores["metric"].isin(BUDGET)]
    methods = [str(m) for m in scores["method"].unique()]
    means = scores[(scores["channel"] == "all") & (scores["family"] == "all")]
    tables = [
        _table(means, "method", methods, title="Methods and trivial references", lead=_lead(methods)),
        _by_family(scores[scores["method"] == methods[0]], methods[0]),
        _by_channel(scores[scores["method"] == methods[0]], methods[0]),
    ]
    return [table for table in tables if table.rows]


def budget_tables(scores: pd.DataFrame) -> list[Table]:
    """Error budget by family and by channel, in units of the raw noise; none without a truth."""
    table = budget_table(scores)
    is_mean = table.index.get_level_values("channel") == "all"
    rows = [Row([str(family), *(_cell(v) for v in row)]) for (family, _), row in _lines(table[is_mean])]
    single = [Row([str(channel), *(_cell(v) for v in row)]) for (_, channel), row in _lines(table[~is_mean])]
    heads = [broken(METRICS[m].full) for m in BUDGET]
    tables = [
        Table(["family", *heads], rows, title="By family"),
        Table(["channel", *heads], single, title="Error budget by channel", folded=True),
    ]
    return tables if rows else []


def _lines(table: pd.DataFrame) -> zip[tuple[tuple[str, str], np.ndarray]]:
    return zip(table.index, table.to_numpy(), strict=True)


def _lead(methods: list[str]) -> str:
    known = " The column truth is the score of a perfect estimate." if "truth" in methods else ""
    return f"Mean over families. {_NO_GAIN}{known}"


def _by_family(own: pd.DataFrame, method: str) -> Table:
    means = own[own["channel"] == "all"]
    families = [str(f) for f in means["family"].unique() if f not in ("all", "ratio")]
    return _table(means, "family", [*families, "all"], title=f"{method} by family")


def _by_channel(own: pd.DataFrame, method: str) -> Table:
    """Channels as rows: as columns they would be too wide."""
    single = own[(own["channel"] != "all") & (own["family"] != "ratio")]
    wide = single.pivot(index="channel", columns="metric", values="value")
    metrics = [m for m in METRICS if m in wide.columns]
    channels = [str(c) for c in single["channel"].unique()]
    rows = [Row([c, *(_cell(wide.at[c, m]) for m in metrics)]) for c in channels]
    head = ["channel", *(broken(METRICS[m].full) for m in metrics)]
    return Table(head, rows, title=f"{method} by channel", folded=True)


def _table(means: pd.DataFrame, across: str, columns: list[str], *, title: str, lead: str = "") -> Table:
    wide = means.pivot(index="metric", columns=across, values="value").reindex(columns=columns)
    rows = [Row([known.full, *(_cell(v) for v in wide.loc[m])]) for m, known in METRICS.items() if m in wide.index]
    return Table(["", *columns], rows, title=title, lead=lead)


def _cell(value: object) -> str:
    figure = float(str(value))
    return f"{figure:.2f}".replace("-", "−") if np.isfinite(figure) else "–"
