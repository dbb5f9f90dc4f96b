"""Tables 1 to 3: the paper's tables with its published values beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pc2dae.benchmark.cases import FAMILIES
from pc2dae.benchmark.compare import Figures, MethodKey, label, leaders, mean_of, order, per_flight
from pc2dae.benchmark.result_table import Cell, ResultTable
from pc2dae.benchmark.study_tables import comparison_tables
from pc2dae.benchmark.tables import BLIND, BOLD, CONSTANT, ORACLE, flights_in
from pc2dae.denoiser import HOP, WINDOW
from pc2dae.metrics.metric_info import METRICS
from pc2dae.paper import published

if TYPE_CHECKING:
    import pandas as pd

INJECTED = ("mae_improvement", "snr_improvement", "negatives")


def all_tables(results: pd.DataFrame) -> list[ResultTable]:
    """The paper's tables of the parts that were run, then those that compare methods in general."""
    simulated = results[results["part"] == "simulated"]
    flown = simulated[simulated["noise"] == "flight"]
    tables = [main_table(flown), *family_tables(flown), *injection_tables(simulated)] if len(flown) else []
    return [*tables, *comparison_tables(results)]


def main_table(flown: pd.DataFrame) -> ResultTable:
    """Table 1: smoothness, fast power, negatives, size and speed."""
    figures = {metric: per_flight(flown, metric) for metric in BLIND}
    rows = []
    for key in order(figures["smoothness"]):
        theirs = published.of(published.MAIN, key[0]) if key[1] == "plain" else None
        row = [
            Cell(label(key)),
            Cell(_seeds(flown, key), digits=0),
            Cell(_cost(flown, key, "parameters"), digits=0),
        ]
        for i, metric in enumerate(BLIND):
            row += [Cell(mean_of(figures[metric], key)), Cell(theirs[i] if theirs else None)]
        spent = _cost(flown, key, "inference_ms")
        is_windowed = key[0] in published.MAIN or key[0].endswith("-paper")
        row += [Cell(_cost(flown, key, "training_s")), Cell(spent, digits=2)]
        row.append(Cell(spent * HOP / WINDOW if is_windowed else None, digits=2))
        rows.append(row)
    columns = ["method", "seeds", "parameters", "smooth, %", "paper", "HF, %", "paper", "negative, %", "paper",
               "training, s", "ms per 128 samples", "ms per window"]  # fmt: skip
    times = (
        "Times are processor time on one thread, shipped models in ONNX runtime, networks trained here in torch; "
        "the paper has 62.7 s and 2.2 ms for Lean, probably per window. A window of 128 is computed for every 16 "
        "samples given out."
    )
    note = f"Mean of families over {flights_in(flown)} flights. {CONSTANT} {ORACLE} {times}"
    return ResultTable("Table 1. The paper's main table, on held-out simulated flights", columns, rows, note)


def family_tables(flown: pd.DataFrame) -> list[ResultTable]:
    """Table 2: the same three metrics, family by family."""
    titles = ("2a. Smoothness", "2b. High-frequency power removed", "2c. Negative values")
    columns = ["method", *(name for family in ("BC", "gas", "CO₂") for name in (family, "paper"))]
    found = []
    for metric, title in zip(BLIND, titles, strict=True):
        figures = {family: per_flight(flown, metric, family=family) for family in FAMILIES}
        rows = []
        for key in order(figures["bc"]):
            theirs = published.of(published.BY_FAMILY[metric], key[0]) if key[1] == "plain" else None
            row = [Cell(label(key))]
            for i, family in enumerate(FAMILIES):
                row += [Cell(mean_of(figures[family], key)), Cell(theirs[i] if theirs else None)]
            rows.append(row)
        found.append(
            ResultTable(f"Table {title} per family, %", columns, rows, CONSTANT if metric != "negatives" else "")
        )
    return found


def injection_tables(simulated: pd.DataFrame) -> list[ResultTable]:
    """Table 3: noise added to a noise-free record and, for comparison, to a noisy one."""
    titles = {
        "inject": ("3a. Injection against the truth", f"Input: noise-free reading plus σ·scale·N(0, 1). {BOLD}"),
        "noisy": (
            "3b. Injection against a noisy record (not a measure of quality)",
            "Input: noisy reading plus noise; reference: the noisy reading. The true answer itself scores badly here.",
        ),
    }
    found = []
    for kind, (title, note) in titles.items():
        levels = [noise for noise in (f"{kind} 0.05", f"{kind} 0.10") if (simulated["noise"] == noise).any()]
        figures = {
            (noise, metric): per_flight(simulated[simulated["noise"] == noise], metric)
            for noise in levels
            for metric in INJECTED
        }
        if figures:
            found.append(_injection_table(title, f"{note} {ORACLE}", figures, is_true=kind == "inject"))
    return found


def _injection_table(title: str, note: str, figures: dict[tuple[str, str], Figures], *, is_true: bool) -> ResultTable:
    lead = {which: leaders(values, which[1]) if is_true else set() for which, values in figures.items()}
    columns = ["method"]
    for noise, metric in figures:
        columns.append(f"{METRICS[metric].heading} (σ\u00a0{noise.split()[1]})")
        columns += ["paper"] if _is_published(noise, metric) else []
    rows = []
    for key in order(next(iter(figures.values()))):
        row = [Cell(label(key))]
        for (noise, metric), values in figures.items():
            is_bold = key in lead[(noise, metric)]
            row.append(Cell(mean_of(values, key), is_bold=is_bold, digits=METRICS[metric].digits))
            row += [Cell(_published(key, noise, metric))] if _is_published(noise, metric) else []
        rows.append(row)
    return ResultTable(f"Table {title}", columns, rows, note)


def _is_published(noise: str, metric: str) -> bool:
    return noise.endswith("0.05") or metric == "mae_improvement"


def _published(key: MethodKey, noise: str, metric: str) -> float | None:
    """The paper's values for a contender's row of the injection table."""
    if key[1] != "plain":
        return None
    if noise.endswith("0.10"):
        return published.of(published.INJECTION_HIGH, key[0])
    found = published.of(published.INJECTION, key[0])
    return found[INJECTED.index(metric)] if found is not None else None


def _seeds(flown: pd.DataFrame, key: MethodKey) -> float:
    """Number of seeds with which a contender was trained here; NaN if it was not."""
    rows = flown[(flown["method"] == key[0]) & (flown["dress"] == key[1]) & (flown["campaigns"] > 0)]
    return float(rows["seed"].nunique()) if len(rows) else np.nan


def _cost(flown: pd.DataFrame, key: MethodKey, column: str) -> float:
    rows = flown.loc[(flown["method"] == key[0]) & (flown["dress"] == key[1]), column]
    return float(np.median(rows.to_numpy(np.float64)))
