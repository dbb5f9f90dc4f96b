"""One picture per real record: raw reading, noise-free response, ambient estimate, fast instrument."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ambient_records import Case
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from pc2dae.arrays import Array
from pc2dae.atomic import replacing

RAW, RESPONSE, AMBIENT, TRUTH = "#adb5bd", "#4263eb", "#0b7285", "#e8590c"  # as in docs/pictures.py
SERIES = {
    "reading": {"label": "raw reading", "color": RAW, "lw": 3.0},
    "response": {"label": "response, noise-free", "color": RESPONSE, "lw": 1.0},
    "truth": {"label": "fast instrument", "color": TRUTH, "lw": 1.1},
    "ambient": {"label": "ambient estimate, ± 2 σ", "color": AMBIENT, "lw": 1.3},
}


def draw(panels: Sequence[tuple[Case, dict[str, Array]]], path: Path) -> None:
    """Draw a panel per case, one below the other, over the scored part and what leads to it."""
    figure = Figure(figsize=(10, 0.6 + 2.7 * len(panels)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    for axis, (case, found) in zip(axes, panels, strict=True):
        _panel(axis, case, found)
    axes[0].legend(frameon=False, fontsize=8, ncols=4, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    axes[-1].set_xlabel("minutes", fontsize=9)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=90, format="png", metadata={"Software": None})


def _panel(axis: Any, case: Case, found: dict[str, Array]) -> None:
    known = np.flatnonzero(np.isfinite(case.truth))
    shown = slice(known[0], known[-1] + 1)
    minutes = (case.pair.time - case.pair.time[known[0]]) / 60
    for name, style in SERIES.items():
        values = case.truth if name == "truth" else found[name]
        axis.plot(minutes[shown], values[shown], **style)
    ambient, sigma = found["ambient"][shown], found["sigma"][shown]
    axis.fill_between(minutes[shown], ambient - 2 * sigma, ambient + 2 * sigma, color=AMBIENT, alpha=0.2, lw=0)
    first, last = np.flatnonzero(case.scored & np.isfinite(case.truth))[[0, -1]]
    for start, end in ((known[0], first), (last, known[-1])):
        axis.axvspan(minutes[start], minutes[end], color="black", alpha=0.05, lw=0)
    visible = np.concatenate([found["reading"][shown], found["ambient"][shown]])  # peaks of the truth may be cut
    low, high = np.nanmin(visible), np.nanmax(visible)
    axis.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))
    axis.set_title(f"{case.sensor} [{case.units}]", loc="left", fontsize=9)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)
    axis.margins(x=0)
