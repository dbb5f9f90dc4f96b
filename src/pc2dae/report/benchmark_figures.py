"""The paper's figures from a benchmark's table: radar, lean against wide, scarcity; and SNR gain of every method."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pc2dae.benchmark.compare import NAMES, label, per_flight, with_common_seeds
from pc2dae.metrics import paired_difference
from pc2dae.metrics.metric_info import METRICS
from pc2dae.report.drawing import BOXES, INK, LOOKS, Drawing, new_figure, styled

_TRUTH, _RAW = "#d55e00", "#929da9"
_INSET_S = 25.0  # on either side of the strongest plume
# The radar's methods: PC²DAE dark and light as in the paper, dashed in the literal reading; then the plain baselines.
NEURAL: dict[str, tuple[str, Any]] = {
    "lean": ("#0072b2", "-"),
    "wide": ("#56b4e9", "-"),
    "lean-paper": ("#0072b2", (0, (2, 1.5))),
    "wide-paper": ("#56b4e9", (0, (2, 1.5))),
    "despawn": ("#d55e00", "--"),
    "lstm-ae": ("#009e73", ":"),
    "cbdae": ("#cc79a7", "-."),
    "unet": ("#e69f00", (0, (8, 3))),
    "transformer": ("#8a8f98", "--"),
}
# Output head → colour, symbol, label, in the order of drawing: one row of the forest is a method with all its heads.
DRESSES = {
    "plain": ("#0072b2", "o", "unchanged"),
    "clip": ("#009e73", "D", "clipped at the bound"),
    "softplus": ("#e69f00", "s", "with softplus"),
    "softplus+tv": ("#d55e00", "^", "with softplus and total variation"),
    "skip": ("#cc79a7", "P", "with skip and noise units"),
    "oracle": ("#8a8f98", "*", "width chosen with the truth"),
}
# The radar's axes: the paper's six in its order, and one for the error.
RADAR = {
    "smoothness": "smoothness",
    "hf_reduction": "HF reduction",
    "negatives": "compliance",
    "parameters": "few\nparameters",
    "training_s": "fast\ntraining",
    "inference_ms": "fast\ninference",
    "mae_improvement": "MAE reduction\n(against the truth)",
}


def forest(table: pd.DataFrame) -> Drawing | None:
    """SNR gain of every method with every output head, best on top: mean over flights and bootstrap interval."""
    gained = per_flight(table, "snr_improvement")
    known = {key: paired_difference(row, np.zeros(len(row))) for key, row in gained.items() if np.isfinite(row).any()}
    best = {method: max(d.mean for k, d in known.items() if k[0] == method) for method, _ in known}
    rows = sorted(best, key=lambda method: best[method])
    if not rows:
        return None
    figure = new_figure(7.6, 1.6 + 0.26 * len(rows))
    axes = figure.subplots()
    for dress, (colour, symbol, words) in DRESSES.items():
        mine = [(y, known[(method, dress)]) for y, method in enumerate(rows) if (method, dress) in known]
        if mine:
            errors = [[d.mean - d.low for _, d in mine], [d.high - d.mean for _, d in mine]]
            axes.errorbar([d.mean for _, d in mine], [y for y, _ in mine], xerr=errors, fmt=symbol, color=colour,
                          markersize=5, linewidth=1.2, capsize=2, label=words)  # fmt: skip
    axes.axvline(0.0, color=_RAW, linewidth=1.0)
    axes.set_yticks(range(len(rows)), [NAMES.get(method, method) for method in rows])
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=8,
                  labelcolor="linecolor")  # fmt: skip
    styled(axes, xlabel=METRICS["snr_improvement"].full)
    return Drawing("forest", figure)


def radar(table: pd.DataFrame) -> Drawing | None:
    """The paper's radar with MAE reduction added: scores in per cent, costs on a logarithmic scale, best at the rim."""
    plain = _overall(table)
    plain = plain[plain["method"].isin(NEURAL) & (plain["dress"] == "plain") & plain["metric"].isin(RADAR)]
    if plain.empty:
        return None
    ranks = plain.pivot_table(index="method", columns="metric", values="value").reindex(columns=list(RADAR))
    ranks["negatives"] = 100 - ranks["negatives"]
    costs = plain.groupby("method")[["parameters", "training_s", "inference_ms"]].mean()
    ranks = ranks.clip(0, 100).fillna(costs.apply(_cheap)).dropna(axis=1, how="all")
    figure = new_figure(7.6, 4.6)  # placed by hand: the layout engine makes no room for labels around a circle
    figure.set_layout_engine("none")
    axes = figure.add_axes((0.16, 0.1, 0.5, 0.8), projection="polar", theta_offset=np.pi / 2, theta_direction=-1)
    angles = np.linspace(0, 2 * np.pi, ranks.shape[1] + 1)
    for method, (colour, dash) in NEURAL.items():
        if method in ranks.index:
            values = ranks.loc[method].to_numpy(dtype=np.float64)
            width = 2.2 if method in ("lean", "wide") else 1.3
            axes.plot(angles, [*values, values[0]], color=colour, linestyle=dash, linewidth=width, marker="o",
                      markersize=3, label=NAMES.get(method, method))  # fmt: skip
    axes.set_xticks(angles[:-1], [""] * ranks.shape[1])
    for name, angle in zip(ranks.columns, angles[:-1], strict=True):
        across = ("right", "center", "left")[1 + round(np.sin(angle))]
        along = ("top", "center", "bottom")[1 + round(np.cos(angle))]
        axes.text(angle, 107, RADAR[name], ha=across, va=along, fontsize=9, color=INK)
    figure.legend(loc="center right", fontsize=9, frameon=False, handlelength=3.5, labelcolor=INK)
    styled(axes, ylim=(0, 100), yticks=[25, 50, 75, 100], rlabel_position=np.degrees(angles[1] / 2))
    return Drawing("radar", figure)


def lean_against_wide(table: pd.DataFrame) -> Drawing | None:
    """Lean and wide, metric by metric, flight by flight: boxes over the held-out flights."""
    drawn = []
    for metric in ("smoothness", "hf_reduction", "snr_improvement"):
        found = per_flight(table, metric) if (table["metric"] == metric).any() else {}
        values = {method: found[(method, "plain")] for method in ("lean", "wide") if (method, "plain") in found}
        if values:
            drawn.append((metric, values))
    if not drawn:
        return None
    figure = new_figure()
    for axes, (metric, values) in zip(figure.subplots(1, len(drawn), squeeze=False)[0], drawn, strict=True):
        names = [NAMES[method] for method in values]
        axes.boxplot(list(values.values()), tick_labels=names, showfliers=False, boxprops={"color": INK}, **BOXES)
        for x, (row, (colour, _)) in enumerate(zip(values.values(), LOOKS, strict=False), 1):
            axes.plot(np.linspace(x - 0.15, x + 0.15, len(row)), row, "o", color=colour, markersize=3)
        styled(axes, title=METRICS[metric].full)
    return Drawing("lean-wide", figure)


def signals(table: pd.DataFrame, channel: str) -> Drawing | None:
    """One channel of one flight by every method, with the strongest plume enlarged in an inset.

    `table` has the columns method, channel, second, value; methods raw and truth among them.
    """
    mine = table[table["channel"] == channel]
    if mine.empty:
        return None
    wide = mine.pivot_table(index="second", columns="method", values="value")
    methods = sorted(map(str, wide.columns), key=lambda m: (m != "raw", m != "truth"))
    tracer = wide["truth" if "truth" in wide else methods[-1]].to_numpy(dtype=np.float64)
    seconds = wide.index.to_numpy(dtype=np.float64)
    middle = float(seconds[np.nanargmax(tracer)])
    near = np.abs(seconds - middle) < _INSET_S
    looks: dict[str, tuple[str, Any]] = {"raw": (_RAW, "-"), "truth": (_TRUTH, "-")}
    looks |= dict(zip([m for m in methods if m not in looks], [x for x in LOOKS if x[0] != _TRUTH] * 2, strict=False))
    figure = new_figure(12.0, 4.4)
    axes = figure.subplots()
    inset = axes.inset_axes((0.6, 0.5, 0.39, 0.49))
    for method in methods:
        colour, dash = looks[method]
        for place, part in ((axes, slice(None)), (inset, near)):
            place.plot(seconds[part], wide[method].to_numpy()[part], color=colour, linestyle=dash,
                       linewidth=0.8 if method == "raw" else 1.5, label=NAMES.get(method, method))  # fmt: skip
    styled(inset, xlim=(middle - _INSET_S, middle + _INSET_S))
    axes.legend(fontsize=8, ncols=6, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    styled(axes, xlabel="seconds from take-off")
    return Drawing(f"signals-{channel}", figure)


def scarcity(table: pd.DataFrame) -> Drawing | None:
    """SNR gain against the size of the training set, in campaigns, with the interval over flights."""
    table = table[table["noise"] == "flight"]  # networks of one campaign are scored with injected noise as well
    figure = new_figure()
    axes = figure.subplots()
    keys = dict.fromkeys(zip(table["method"], table["dress"], strict=True))
    for key, (colour, dash) in zip(keys, LOOKS * 2, strict=False):
        own = with_common_seeds(table[(table["method"] == key[0]) & (table["dress"] == key[1])], "campaigns")
        amounts = sorted(float(a) for a in own["campaigns"].unique())
        if len(amounts) < 2:
            continue
        flown = [per_flight(own[own["campaigns"] == a], "snr_improvement")[key] for a in amounts]
        found = [paired_difference(values, np.zeros(len(values))) for values in flown]
        errors = [[d.mean - d.low for d in found], [d.high - d.mean for d in found]]
        axes.errorbar(amounts, [d.mean for d in found], yerr=errors, color=colour, linestyle=dash, marker="o",
                      markersize=4, capsize=2, label=label(key))  # fmt: skip
    if not axes.has_data():
        return None
    axes.set_xscale("log")
    ticks = sorted(float(a) for a in table["campaigns"].unique() if a > 0)
    axes.set_xticks(ticks, [str(Fraction(tick)) for tick in ticks])
    axes.minorticks_off()
    axes.legend(fontsize=8)
    styled(axes, xlabel="campaigns trained on", ylabel=METRICS["snr_improvement"].full)
    return Drawing("scarcity", figure)


def _overall(table: pd.DataFrame) -> pd.DataFrame:
    return table[(table["channel"] == "all") & (table["family"] == "all")]


def _cheap(cost: pd.Series[float]) -> pd.Series[float]:
    """100 for the cheapest, 0 for the most expensive, logarithmic between; 100 for all if all cost the same."""
    logs = np.log10(cost.where(cost > 0).to_numpy(dtype=np.float64))
    if not np.isfinite(logs).any():
        return pd.Series(np.nan, index=cost.index)
    highest, span = np.nanmax(logs), np.nanmax(logs) - np.nanmin(logs)
    return pd.Series(100.0 * (highest - logs) / span if span > 0 else logs * 0 + 100.0, index=cost.index)
