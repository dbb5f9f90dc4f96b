"""The paper's figures from a benchmark's table: radar, lean against wide, scarcity; and who gains what on truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pc2dae.arrays import Array
from pc2dae.benchmark.compare import per_flight, with_common_seeds
from pc2dae.benchmark.paper import NAMES
from pc2dae.metrics import paired_difference
from pc2dae.metrics.metric_info import METRICS
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
_TRUTH = "#d55e00"  # what the style sheet draws a truth in: no method gets it beside one
_INSET_S = 25.0  # to either side of the strongest plume
_AXES = ("", "2", "3")  # what plotly calls axes side by side
NEURAL = ("adaptive", "lean", "wide", "despawn", "lstm-ae", "cbdae", "unet", "transformer")
# Dress → colour, symbol, words, in the order they are drawn: one row of the forest is a method in all its dresses.
DRESSES = {
    "plain": ("#0072b2", "circle", "as it is"),
    "clip": ("#009e73", "diamond", "clipped at the bound"),
    "softplus": ("#e69f00", "square", "with softplus"),
    "softplus+tv": ("#d55e00", "triangle-up", "with softplus and total variation"),
    "oracle": ("#8a8f98", "star-open", "width chosen with the truth"),
}
RADAR = ("smoothness", "HF reduction", "compliance", "few parameters", "fast training", "fast inference")
_LAYOUT: dict[str, Any] = {
    "margin": {"l": 60, "r": 20, "t": 20, "b": 50},
    "height": 430,
    "legend": {"orientation": "h", "y": -0.18},
}


def forest(table: pd.DataFrame) -> Figure | None:
    """Signal to noise gained by every method in every dress, best above: mean over flights and bootstrap interval."""
    gained = per_flight(table, "snr_improvement")
    known = {key: paired_difference(row, np.zeros(len(row))) for key, row in gained.items() if np.isfinite(row).any()}
    best = {method: max(d.mean for k, d in known.items() if k[0] == method) for method, _ in known}
    rows = sorted(best, key=lambda method: best[method])
    data: list[Trace] = []
    for dress, (colour, symbol, words) in DRESSES.items():
        mine = [(method, known[(method, dress)]) for method in rows if (method, dress) in known]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [round(d.mean, 3) for _, d in mine],
                "y": [NAMES.get(method, method) for method, _ in mine],
                "error_x": {
                    "symmetric": False,
                    "array": [round(d.high - d.mean, 3) for _, d in mine],
                    "arrayminus": [round(d.mean - d.low, 3) for _, d in mine],
                    "thickness": 1.2,
                    "width": 3,
                },
                "name": words,
                "marker": {"color": colour, "symbol": symbol, "size": 9},
            }
        )
    layout = _LAYOUT | {
        "margin": {"l": 150, "r": 20, "t": 10, "b": 120},
        "height": 130 + 24 * len(rows),
        "legend": {"orientation": "h", "y": -50 / (24 * max(len(rows), 1)), "yanchor": "top"},  # 50 px below the axis
        "xaxis": {"title": {"text": f"{METRICS['snr_improvement'].full}"}, "zeroline": True},
        "yaxis": {"categoryarray": [NAMES.get(method, method) for method in rows], "type": "category"},
    }
    return Figure("forest", [trace for trace in data if trace["x"]], layout) if rows else None


def radar(table: pd.DataFrame) -> Figure | None:
    """The paper's radar: three blind scores as they are, three costs on a logarithmic scale, best at the rim."""
    plain = _overall(table)
    plain = plain[plain["method"].isin(NEURAL) & (plain["dress"] == "plain")]
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
                "name": NAMES.get(str(method), str(method)),
                "line": {"color": colour, "dash": dash, "width": 2},
            }
        )
    layout = _LAYOUT | {"polar": {"radialaxis": {"range": [0, 100], "tickvals": [25, 50, 75, 100]}}, "height": 520}
    return Figure("radar", data, layout)


def lean_against_wide(table: pd.DataFrame) -> Figure | None:
    """Lean and wide, metric by metric, flight by flight: boxes over the held-out flights."""
    metrics = [m for m in ("smoothness", "hf_reduction", "snr_improvement") if (table["metric"] == m).any()]
    data: list[Trace] = []
    for method, (colour, _) in zip(("lean", "wide"), LOOKS, strict=False):
        for axis, metric in zip(_AXES, metrics, strict=False):
            values = per_flight(table, metric).get((method, "plain"))
            if values is not None:
                data.append({"type": "box", "x": [METRICS[metric].full] * len(values), "y": values.round(3).tolist(),
                             "name": NAMES[method], "legendgroup": method, "showlegend": axis == "",
                             "marker": {"color": colour}, "boxpoints": "all", "jitter": 0.4, "offsetgroup": method,
                             "xaxis": f"x{axis}", "yaxis": f"y{axis}"})  # fmt: skip
    layout = _LAYOUT | {"boxmode": "group"}
    width = 1 / max(len(metrics), 1)
    for i, axis in enumerate(_AXES[: len(metrics)]):
        layout[f"xaxis{axis}"] = {"domain": [i * width + 0.05, (i + 1) * width], "anchor": f"y{axis}"}
        layout[f"yaxis{axis}"] = {"anchor": f"x{axis}"}
    return Figure("lean-wide", data, layout) if data else None


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
    others = iter([look for look in LOOKS if look[0] != _TRUTH] * 2)
    for method in methods:
        look: Trace = {"meta": {"role": method}} if method in ("raw", "truth") else {}
        if not look:
            colour, dash = next(others)
            look = {"line": {"color": colour, "dash": dash, "width": 1.6}}
        y = packed(wide[method].to_numpy(dtype=np.float64))
        common = {"type": "scatter", "mode": "lines", "x": packed(wide.index.to_numpy(dtype=np.float64)), "y": y} | look
        named = {"name": NAMES.get(method, method), "legendgroup": method}
        data.append(common | named)
        data.append(common | named | {"showlegend": False, "xaxis": "x2", "yaxis": "y2"})
    near = wide[(wide.index > middle - _INSET_S) & (wide.index < middle + _INSET_S)].to_numpy()
    layout = _LAYOUT | {
        "xaxis": {"title": {"text": "seconds from take-off"}},
        "yaxis": {"tickformat": "~s"},
        "xaxis2": {"domain": [0.6, 0.99], "anchor": "y2", "range": [middle - _INSET_S, middle + _INSET_S]},
        "yaxis2": {"domain": [0.5, 0.99], "anchor": "x2", "tickformat": "~s", "range": _padded(near)},
    }
    return Figure(f"signals-{channel}", data, layout)


def _padded(values: Array) -> list[float]:
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return [low - 0.05 * (high - low), high + 0.05 * (high - low)]


def scarcity(table: pd.DataFrame) -> Figure | None:
    """Signal to noise gained against the size of the training set, in campaigns, with the interval over flights."""
    table = table[table["noise"] == "flight"]  # networks of one campaign are scored with injected noise as well
    data: list[Trace] = []
    for method, (colour, dash) in zip(dict.fromkeys(table["method"]), LOOKS, strict=False):
        mine = with_common_seeds(table[table["method"] == method], "campaigns")
        amounts = sorted(float(a) for a in mine["campaigns"].unique())
        if len(amounts) < 2:
            continue
        flown = [per_flight(mine[mine["campaigns"] == a], "snr_improvement")[(str(method), "plain")] for a in amounts]
        found = [paired_difference(values, np.zeros(len(values))) for values in flown]
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": amounts,
                "y": [round(d.mean, 3) for d in found],
                "error_y": {
                    "symmetric": False,
                    "array": [round(d.high - d.mean, 3) for d in found],
                    "arrayminus": [round(d.mean - d.low, 3) for d in found],
                    "thickness": 1,
                },
                "name": NAMES.get(str(method), str(method)),
                "line": {"color": colour, "dash": dash, "width": 2},
            }
        )
    ticks = {"tickvals": [0.125, 0.25, 0.5, 1, 10], "ticktext": ["1/8", "1/4", "1/2", "1", "10"]}
    layout = _LAYOUT | {
        "xaxis": {"type": "log", "title": {"text": "campaigns trained on"}} | ticks,
        "yaxis": {"title": {"text": METRICS["snr_improvement"].full}},
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
