"""A whole campaign in pictures: when was flown, how the flights scored, what the smoke was made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pc2dae.report.benchmark_figures import LOOKS
from pc2dae.report.figure import Figure, Trace

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
RATIOS = {"bc_co": "ΔBC/ΔCO", "nox_co": "ΔNOₓ/ΔCO", "co_co2": "ΔCO/ΔCO₂", "mce": "MCE"}
_LAYOUT: dict[str, Any] = {"margin": {"l": 60, "r": 20, "t": 20, "b": 40}, "height": 320, "showlegend": False}


def calendar(flights: pd.DataFrame) -> Figure:
    """Minutes flown on each day: a column for every week, a row for every weekday."""
    minutes = flights.groupby(flights["start"].dt.tz_localize(None).dt.normalize())["span_s"].sum() / 60
    first = minutes.index.min() - pd.Timedelta(days=int(minutes.index.min().weekday()))
    weeks = int((minutes.index.max() - first).days) // 7 + 1
    grid: list[list[float | None]] = [[None] * weeks for _ in DAYS]
    text = [[""] * weeks for _ in DAYS]
    for day, flown in minutes.items():
        at = (pd.Timestamp(str(day)) - first).days
        grid[at % 7][at // 7] = round(float(flown), 1)
        text[at % 7][at // 7] = f"{str(day)[:10]}: {flown:.0f} min"
    mondays = [str((first + pd.Timedelta(weeks=week)).date()) for week in range(weeks)]
    trace: Trace = {"type": "heatmap", "x": mondays, "y": list(DAYS), "z": grid, "text": text, "hoverinfo": "text",
                    "xgap": 2, "ygap": 2, "zmin": 0, "zmax": float(minutes.max()),
                    "colorscale": "Viridis", "reversescale": True,
                    "colorbar": {"title": {"text": "minutes"}, "thickness": 10, "outlinewidth": 0}}  # fmt: skip
    axes = {"xaxis": {"type": "category", "title": {"text": "week from Monday"}}, "yaxis": {"autorange": "reversed"}}
    return Figure("calendar", [trace], _LAYOUT | axes | {"height": 260})


def distribution(flights: pd.DataFrame, metric: str, unit: str) -> Figure | None:
    """A blind metric over all flights, a box for every family."""
    families = [c.removeprefix(f"{metric}_") for c in flights.columns if c.startswith(f"{metric}_")]
    data: list[Trace] = []
    for family, (colour, _) in zip(families, LOOKS * 3, strict=False):
        values = flights[f"{metric}_{family}"].dropna().astype(float)
        if len(values):
            data.append({"type": "box", "y": values.round(3).tolist(), "name": family, "marker": {"color": colour},
                         "boxpoints": "outliers"})  # fmt: skip
    return Figure(metric, data, _LAYOUT | {"yaxis": {"title": {"text": unit}}}) if data else None


def ratio_over_time(flights: pd.DataFrame, ratio: str) -> Figure | None:
    """An emission ratio of every flight that has one, with one sigma, at the time it began."""
    rows = flights[flights[ratio].notna()]
    if rows.empty:
        return None
    sigma = rows[f"{ratio}_sigma"].astype(float).fillna(0.0)
    values = rows[ratio].astype(float)
    low, high = np.quantile(values, [0.02, 0.98])
    room = max(high - low, 0.1 * abs(high), 1e-6)
    trace: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": _stamps(rows["start"]),
        "y": values.round(6).tolist(),
        "error_y": {"array": sigma.round(6).tolist(), "thickness": 1},
        "text": rows["flight"].tolist(),
        "marker": {"color": LOOKS[0][0], "size": 6},
        "hovertemplate": "%{text}<br>%{y:.4g}<extra></extra>",
    }
    axes = {"xaxis": {"type": "date"}, "yaxis": {"range": [low - 0.3 * room, high + 0.3 * room]}}
    return Figure(f"ratio-{ratio}", [trace], _LAYOUT | axes)


def _stamps(times: pd.Series[Any]) -> list[str]:
    return [str(text)[:19] for text in times.dt.strftime("%Y-%m-%d %H:%M:%S")]
