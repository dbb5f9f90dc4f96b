"""The report of a campaign: coverage, scores, emission ratios, flights to check first."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd

from pc2dae.archive.index_row import FACTORS
from pc2dae.arrays import Array
from pc2dae.errors import FlightError
from pc2dae.metrics.metric_info import METRICS
from pc2dae.plumes.emission import NAMES
from pc2dae.report import campaign_figures as figures
from pc2dae.report.page import unescaped, write_page
from pc2dae.view.formatting import Row, Table, Tile, broken, duration, number, percent

WORST = 10  # flights in the table of those to check first
DRAWN = {"smoothness": "%", "hf_reduction": "%", "mean_10s_change": "σ of the mean"}
_HEADS = [broken(METRICS[metric].full) for metric in DRAWN]
_UNITS = {"bc_co": "ng m⁻³ per ppb", "nox_co": "1", "co_co2": "1", "mce": "1"}


def write_campaign_page(index: pd.DataFrame, path: str | os.PathLike[str], *, name: str) -> None:
    """Write the page of an archive's index."""
    flights, failed = index[index["status"] == "done"], index[index["status"] != "done"]
    if flights.empty:
        raise FlightError(f"no flight of '{name}' is denoised", hint="run `pc2dae archive denoise` first")
    drawn = [figures.calendar(flights)]
    drawn += [f for metric, unit in DRAWN.items() if (f := figures.distribution(flights, metric, unit))]
    drawn += [f for ratio in figures.RATIOS if (f := figures.ratio_over_time(flights, ratio))]
    context = {
        "title": f"Campaign {name}",
        "lead": lead(flights, failed),
        "tiles": tiles(flights, failed),
        "figures": {figure.id: unescaped(figure.svg) for figure in drawn},
        "metrics": [(f.id, METRICS[f.id].full) for f in drawn if f.id in DRAWN],
        "ratios": [(f.id, figures.RATIOS[f.id[6:]]) for f in drawn if f.id.startswith("ratio-")],
        "ratio_table": ratio_table(flights),
        "factor_table": factor_table(flights),
        "family_table": family_table(flights),
        "worst_table": worst_table(flights),
        "failed_table": failed_table(failed) if len(failed) else None,
    }
    write_page("campaign.html.j2", path, context)


def lead(flights: pd.DataFrame, failed: pd.DataFrame) -> str:
    """The campaign in a few sentences."""
    days = flights["start"].dt.date
    models = ", ".join(sorted(set(flights["model"].dropna())))
    text = f"{len(flights):,} flights on {days.nunique()} days from {days.min()} to {days.max()},"
    text += f" {duration(float(flights['span_s'].sum()))} recorded, denoised with {models}."
    smoky = int((flights["plumes"] > 0).sum())
    text += f" {smoky:,} of them have plume encounters, {int(flights['plumes'].sum()):,} in all."
    return text + (f" {len(failed):,} failed: see below." if len(failed) else "")


def tiles(flights: pd.DataFrame, failed: pd.DataFrame) -> list[Tile]:
    """Key figures in large type."""
    shown = [
        Tile(f"{len(flights):,}", "flights"),
        Tile(duration(float(flights["span_s"].sum())), "recorded"),
        Tile(f"{int(flights['rows'].sum()):,}", "samples"),
        Tile(f"{int(flights['plumes'].sum()):,}", "plume encounters"),
    ]
    if flights["mce"].notna().any():
        shown.append(Tile(number(float(flights["mce"].median())), "median combustion efficiency"))
    shown.append(Tile(percent(len(failed) / (len(flights) + len(failed))), "of flights failed"))
    return shown


def ratio_table(flights: pd.DataFrame) -> Table:
    """Emission ratios over flights: count, quartiles and the mean weighted by 1/σ²."""
    rows = []
    for ratio, words in figures.RATIOS.items():
        known = flights[flights[ratio].notna() & (flights[f"{ratio}_sigma"] > 0)]
        if known.empty:
            continue
        values, sigma = known[ratio].to_numpy(np.float64), known[f"{ratio}_sigma"].to_numpy(np.float64)
        rows.append(Row([words, *_spread(values, float(np.average(values, weights=sigma**-2))), _UNITS[ratio]]))
    head = ["ratio", "flights", "lower quartile", "median", "upper quartile", "weighted mean", "units"]
    note = "From each flight's integrated excess of the unbounded estimate; flights without an encounter have no ratio."
    return Table(head, rows, (0, 6), note=note)


def factor_table(flights: pd.DataFrame) -> Table | None:
    """Emission factors over flights: count, quartiles, plain mean and the mean weighted by excess carbon."""
    rows = []
    for name in (name for name in FACTORS if f"ef_{name}" in flights):  # not in an index of version 0.1
        known = flights[flights[f"ef_{name}"].notna()]
        if len(known):
            values, carbon = (known[column].to_numpy(np.float64) for column in (f"ef_{name}", "excess_carbon"))
            means = float(values.mean()), float(np.average(values, weights=carbon))
            rows.append(Row([NAMES[name], *_spread(values, *means)]))
    head = ["species", "flights", "lower quartile", "median", "upper quartile", "mean of flights", "carbon-weighted"]
    title = "Emission factors [g per kg of dry fuel]"
    note = "By carbon mass balance, 0.50 g of carbon per g of dry fuel."
    return Table(head, rows, title=title, note=note) if rows else None


def _spread(values: Array, *means: float) -> list[str]:
    """Count, quartiles and means of the flights."""
    return [f"{len(values):,}", *(number(v, 4) for v in (*np.quantile(values, [0.25, 0.5, 0.75]).tolist(), *means))]


def family_table(flights: pd.DataFrame) -> Table:
    """Per family: share of flights in which it was denoised, and median scores."""
    names = sorted({name for text in flights["families"].dropna() for name in text.split(",")})
    denoised = [flights["families"].str.split(",").apply(lambda kept, n=name: n in kept) for name in names]
    rows = []
    for name, kept in zip(names, denoised, strict=True):
        medians = [flights.get(f"{metric}_{name}", pd.Series(dtype=float)).astype(float).median() for metric in DRAWN]
        rows.append(Row([name, percent(float(kept.mean())), *(number(float(m)) for m in medians)]))
    return Table(["family", "denoised in", *_HEADS], rows)


def worst_table(flights: pd.DataFrame) -> Table:
    """The flights whose 10-s means changed most, where damage would show first."""
    rows = []
    for _, flight in flights.sort_values(["mean_10s_change", "flight"], ascending=[False, True]).head(WORST).iterrows():
        scores = [number(float(flight[m])) if pd.notna(flight[m]) else "–" for m in DRAWN]
        left = "" if flight["left_raw"] == "none" else str(flight["left_raw"])
        known = [str(flight["flight"]), str(flight["start"])[:16], duration(float(flight["span_s"]))]
        rows.append(Row([*known, *scores, str(flight["plumes"]), left]))
    head = ["flight", "start, UTC", "length", *_HEADS, "plumes", "not denoised"]
    return Table(head, rows, (0, 1, 7), (7,))


def failed_table(failed: pd.DataFrame) -> Table:
    """Every flight that failed, with the reason."""
    columns = failed[["flight", "status", "error"]].fillna("").astype(str).to_numpy()
    lines = [tuple(map(str, cells)) for cells in columns]
    return Table(["flight", "status", "reason"], [Row(cells) for cells in lines], (0, 1, 2), (2,))
