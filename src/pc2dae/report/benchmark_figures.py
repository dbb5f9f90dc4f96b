"""The paper's figures from a benchmark's table: radar, lean against wide, scarcity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pc2dae.report.figure import Figure, Trace, packed

# Okabe and Ito's colours with a dash each: told apart by colour-blind eyes, and on paper.
LOOKS = (
    ("#0072b2", "solid"),
    ("#d55e00", "dash"),
    ("#009e73", "dot"),
    ("#cc79a7", "dashdot"),
    ("#e69f00", "longdash"),
    ("#56b4e9", "solid"),
    ("#8a8f98", "dash"),
)
_INSET_S = 25.0  # to either side of the strongest plume
NEURAL = ("adaptive", "lean", "wide", "despawn", "lstm-ae", "cbdae", "unet", "transformer")
RADAR = ("smoothness", "HF reduction", "compliance", "few parameters", "fast training", "fast inference")
_LAYOUT: dict[str, Any] = {
    "margin": {"l": 60, "r": 20, "t": 20, "b": 50},
    "height": 430,
    "legend": {"orientation": "h", "y": -0.18},
}


def radar(table: pd.DataFrame) -> Figure | None:
    """The paper's radar: three blind scores as they are, three costs on a logarithmic scale, best at the rim."""
    plain = _overall(table)
    plain = plain[plain["method"].isin(NEURAL) & (plain["label"] == plain["method"])]
    if plain.empty:
        return None
    wide = plain.pivot_table(index="method", columns="metric", values="value")
    costs = plain.groupby("method")[["parameters", "training_s", "inference_ms"]].mean()
    if not {"smoothness", "hf_reduction", "negatives"} <= set(wide.columns):
        return None
    axes = pd.DataFrame({
        RADAR[0]: wide["smoothness"].clip(0, 100),
        RADAR[1]: wide["hf_reduction"].clip(0, 100),
        RADAR[2]: 100 - wide["negatives"],
        **{name: _cheap(costs[column]) for name, column in zip(RADAR[3:], costs.columns, strict=True)},
    })  # fmt: skip
    data: list[Trace] = []
    for (method, row), (colour, dash) in zip(axes.iterrows(), LOOKS * 2, strict=False):
        values = [None if not np.isfinite(v) else round(float(v), 1) for v in row]
        data.append(
            {
                "type": "scatterpolar",
                "r": [*values, values[0]],
                "theta": [*RADAR, RADAR[0]],
                "name": str(method),
                "line": {"color": colour, "dash": dash, "width": 2},
            }
        )
    layout = _LAYOUT | {"polar": {"radialaxis": {"range": [0, 100], "tickvals": [25, 50, 75, 100]}}, "height": 520}
    return Figure("radar", data, layout)


def lean_against_wide(table: pd.DataFrame) -> Figure | None:
    """Lean and wide, metric by metric, flight by flight: boxes over the held-out flights."""
    rows = _overall(table)
    rows = rows[rows["label"].isin(["lean", "wide", "adaptive"])]
    metrics = [m for m in ("mae_improvement", "smoothness", "hf_reduction") if (rows["metric"] == m).any()]
    if rows.empty or not metrics:
        return None
    data: list[Trace] = []
    for (label, mine), (colour, _) in zip(rows.groupby("label", sort=False), LOOKS, strict=False):
        per_flight = mine[mine["metric"].isin(metrics)].groupby(["metric", "flight"])["value"].mean().reset_index()
        data.append({"type": "box", "x": per_flight["metric"].tolist(), "y": per_flight["value"].round(3).tolist(),
                     "name": str(label), "marker": {"color": colour}, "boxpoints": "all", "jitter": 0.4})  # fmt: skip
    layout = _LAYOUT | {"boxmode": "group", "xaxis": {"categoryarray": metrics}, "yaxis": {"title": {"text": "%"}}}
    return Figure("lean-wide", data, layout)


def signals(table: pd.DataFrame, channel: str) -> Figure | None:
    """One channel of one flight by every method, with the strongest plume drawn large in an inset.

    `table` has the columns method, channel, second, value; methods raw and truth among them.
    """
    mine = table[table["channel"] == channel]
    if mine.empty:
        return None
    wide = mine.pivot_table(index="second", columns="method", values="value")
    methods = sorted(map(str, wide.columns), key=lambda m: (m != "raw", m != "truth"))
    tracer = wide["truth" if "truth" in wide else methods[-1]].to_numpy(dtype=np.float64)
    middle = float(wide.index.to_numpy(dtype=np.float64)[np.nanargmax(tracer)])
    data: list[Trace] = []
    others = iter(LOOKS * 2)
    for method in methods:
        look: Trace = {"meta": {"role": method}} if method in ("raw", "truth") else {}
        if not look:
            colour, dash = next(others)
            look = {"line": {"color": colour, "dash": dash, "width": 1.6}}
        y = packed(wide[method].to_numpy(dtype=np.float64))
        common = {"type": "scatter", "mode": "lines", "x": packed(wide.index.to_numpy(dtype=np.float64)), "y": y} | look
        data.append(common | {"name": method, "legendgroup": method})
        data.append(common | {"name": method, "legendgroup": method, "showlegend": False, "xaxis": "x2", "yaxis": "y2"})
    near = wide[(wide.index > middle - _INSET_S) & (wide.index < middle + _INSET_S)].to_numpy()
    layout = _LAYOUT | {
        "xaxis": {"title": {"text": "seconds from take-off"}},
        "yaxis": {"tickformat": "~s"},
        "xaxis2": {"domain": [0.6, 0.99], "anchor": "y2", "range": [middle - _INSET_S, middle + _INSET_S]},
        "yaxis2": {"domain": [0.5, 0.99], "anchor": "x2", "tickformat": "~s", "range": _padded(near)},
    }
    return Figure(f"signals-{channel}", data, layout)


def _padded(values: NDArray[np.float64]) -> list[float]:
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return [low - 0.05 * (high - low), high + 0.05 * (high - low)]


def scarcity(table: pd.DataFrame) -> Figure | None:
    """Error removed against the size of the training set, in campaigns; needs rows with a column `campaigns`."""
    if "campaigns" not in table.columns or table["campaigns"].nunique() < 2:
        return None
    rows = _overall(table)
    rows = rows[(rows["metric"] == "mae_improvement") & rows["campaigns"].notna()]
    data: list[Trace] = []
    for (label, mine), (colour, dash) in zip(rows.groupby("label", sort=False), LOOKS * 2, strict=False):
        if mine["campaigns"].nunique() < 2:
            continue
        curve = mine.groupby("campaigns")["value"].agg(["mean", "std"]).fillna(0.0)
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": curve.index.tolist(),
                "y": curve["mean"].round(3).tolist(),
                "error_y": {"array": curve["std"].round(3).tolist()},
                "name": str(label),
                "line": {"color": colour, "dash": dash, "width": 2},
            }
        )
    layout = _LAYOUT | {
        "xaxis": {"type": "log", "title": {"text": "campaigns trained on"}, "tickvals": [0.125, 0.25, 0.5, 1, 10]},
        "yaxis": {"title": {"text": "mean absolute error less [%]"}},
    }
    return Figure("scarcity", data, layout) if data else None


def _overall(table: pd.DataFrame) -> pd.DataFrame:
    return table[(table["channel"] == "all") & (table["family"] == "all")]


def _cheap(cost: pd.Series[float]) -> pd.Series[float]:
    """100 for the cheapest, 0 for the dearest, logarithmic between; 100 for all where they cost the same."""
    logs = np.log10(cost.where(cost > 0).to_numpy(dtype=np.float64))
    if not np.isfinite(logs).any():
        return pd.Series(np.nan, index=cost.index)
    dearest, span = np.nanmax(logs), np.nanmax(logs) - np.nanmin(logs)
    return pd.Series(100.0 * (dearest - logs) / span if span > 0 else logs * 0 + 100.0, index=cost.index)
