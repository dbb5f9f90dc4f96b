"""The error budget of a flight as bars: noise, lag and calibration of every channel before, and what is left after."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pc2dae.metrics.budget import budget_table
from pc2dae.report.drawing import INK, Drawing, new_figure, styled

WHERE = {"": "Whole flight", "_plume": "In plumes"}  # ending of the metrics → title
# Part → colour and label; the same calibration error ends both bars of a channel.
_LOOKS = {
    "noise": ("#56b4e9", "noise"),
    "lag": ("#d55e00", "lag"),
    "left": ("#0072b2", "left of noise and lag"),
    "calibration": ("#b8bec6", "calibration"),
}
_BARS = ((-0.2, ("noise", "lag", "calibration")), (0.2, ("left", "calibration")))  # before above after


def error_budget(scores: pd.DataFrame, where: str) -> Drawing:
    """Two bars per channel, before and after, in per cent of the parts before; `where` is a key of `WHERE`."""
    table = budget_table(scores)
    table = table[table.index.get_level_values("channel") != "all"]
    sizes = {part: table[f"budget_{part}{where}"].to_numpy(np.float64) for part in _LOOKS}
    whole = sizes["noise"] + sizes["lag"] + sizes["calibration"]
    rows = np.arange(len(table))
    figure = new_figure(6.4, 1.0 + 0.3 * len(table))
    axes = figure.subplots()
    for offset, parts in _BARS:
        start = np.zeros(len(table))
        for part in parts:
            colour, words = _LOOKS[part]
            share = 100 * sizes[part] / whole
            axes.barh(rows + offset, share, left=start, height=0.36, color=colour, label=words)
            start = start + share
    for row in rows[~np.isfinite(whole)]:
        axes.text(1, row, "no encounter" if where else "no truth", va="center", fontsize=8, color=INK, alpha=0.6)
    axes.set_yticks(rows, list(table.index.get_level_values("channel")))
    axes.invert_yaxis()
    axes.margins(y=0.01)
    labelled = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))  # calibration once
    figure.legend(
        labelled.values(), labelled, loc="outside lower center", ncols=4, frameon=False, fontsize=9, labelcolor=INK
    )
    styled(axes, xlabel="% of noise + lag + calibration before").grid(visible=False, axis="y")
    return Drawing(f"budget{where}", figure)
