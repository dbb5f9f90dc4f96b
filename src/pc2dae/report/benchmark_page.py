"""The report of a benchmark: the paper's figures redrawn from our results, every loss as plain as every win."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd

from pc2dae.errors import FlightError
from pc2dae.report import benchmark_figures as figures
from pc2dae.report.page import write_page
from pc2dae.report.scores import METRICS
from pc2dae.report.words import Row, Table, number

COLUMNS = (
    *("method", "dress", "family", "channel", "flight", "noise", "seed", "metric", "value"),
    *("parameters", "training_s", "inference_ms"),
)
SIGNALS = "signals.parquet"  # beside the results: one flight's channels by every method, to look at
YARDSTICKS = ("raw", "clip", "constant", "truth")
OURS = ("adaptive", "lean", "wide")


def write_benchmark_page(results: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Write the page of a benchmark's tidy table."""
    table = read_results(results)
    beside = Path(results).with_name(SIGNALS)
    signals = pd.read_parquet(beside) if beside.is_file() else None
    compared = [] if signals is None else [figures.signals(signals, c) for c in signals["channel"].unique()]
    scarce = table[table["part"] == "scarcity"] if "part" in table.columns else table
    table = _as_flown(table)
    drawn = [
        figure
        for figure in (figures.radar(table), figures.lean_against_wide(table), figures.scarcity(scarce))
        if figure
    ]
    drawn += [figure for figure in compared if figure]
    methods, flights, seeds = (table[c].nunique() for c in ("method", "flight", "seed"))
    context = {
        "title": "Benchmark",
        "lead": f"{methods} methods on {flights} held-out flights, {seeds} training seeds: "
        f"{len(table):,} scores. Means of families; a mean never hides a family, so each has its own table below.",
        "drawn": [figure.id for figure in drawn],
        "tables": [main_table(table), *family_tables(table)],
    }
    write_page("benchmark.html.j2", path, figures=drawn, extra={"plumes": [], "colours": []}, context=context)


def read_results(path: str | os.PathLike[str]) -> pd.DataFrame:
    """The tidy table of a benchmark, checked for its columns."""
    table = pd.read_parquet(path)
    absent = [column for column in COLUMNS if column not in table.columns]
    if absent:
        raise FlightError(
            f"{Path(path).name} lacks the column '{absent[0]}'", hint="was it written by `pc2dae benchmark`?"
        )
    dress = table["dress"].fillna("").astype(str)
    label: pd.Series[str] = table["method"].astype(str) + np.where(dress.isin(["", "plain", "none"]), "", " + " + dress)
    return table.assign(label=label)


def _as_flown(table: pd.DataFrame) -> pd.DataFrame:
    """Without injected noise, real data and the networks of other parts: a mean over those would mean nothing."""
    if "part" not in table.columns:
        return table
    return table[(table["part"] == "simulated") & (table["noise"] == "flight")]


def main_table(table: pd.DataFrame) -> Table:
    """All methods over all metrics: mean of families."""
    overall = table[(table["channel"] == "all") & (table["family"] == "all")]
    return _table(
        overall,
        "All methods, mean of families",
        lead="Yardsticks in italics: more smoothness than the truth's is damage.",
    )


def family_tables(table: pd.DataFrame) -> list[Table]:
    """One table per family."""
    names = [str(f) for f in table["family"].unique() if f not in ("all", "ratio")]
    return [_table(table[(table["family"] == f) & (table["channel"] == "all")], f"Family {f}") for f in names]


def _table(rows: pd.DataFrame, title: str, *, lead: str = "") -> Table:
    wide = rows.pivot_table(index="label", columns="metric", values="value", sort=False)
    metrics = [m for m in METRICS if m in wide.columns]
    costs = rows.groupby("label", sort=False)[["parameters", "training_s", "inference_ms"]].mean()
    head = [
        "method",
        *(METRICS[m].replace(" [", "\n[") for m in metrics),
        "parameters",
        "training\n[s]",
        "inference\n[ms]",
    ]
    ordered = sorted(wide.index, key=lambda label: (str(label) in YARDSTICKS, -_finite(wide, str(label))))
    lines = []
    for label in map(str, ordered):
        cells = [number(float(wide.loc[label, m])) for m in metrics]  # type: ignore[arg-type]
        cells += [number(float(v)) for v in costs.loc[label].to_numpy(dtype=np.float64)]
        lines.append(Row([label, *cells], kind="rule" if label in YARDSTICKS else "ours" if label in OURS else ""))
    return Table(head, lines, title=title, lead=lead)


def _finite(wide: pd.DataFrame, label: str) -> float:
    """What the table is ordered by: error removed where the truth is known, else smoothness."""
    key = "mae_improvement" if "mae_improvement" in wide.columns else wide.columns[0]
    value = float(wide.loc[label, key])  # type: ignore[arg-type]
    return value if np.isfinite(value) else -np.inf
