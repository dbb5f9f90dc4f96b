"""Figure of a payload's response: how its falls spread, their limit, and what each flight says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pc2dae.atomic import replacing
from pc2dae.report.drawing import LOOKS, new_figure
from pc2dae.response.falls import pooled
from pc2dae.response.payload import PayloadResponse
from pc2dae.response.pooling import FlightEvidence

_BLUE, _ORANGE, _GREEN = (look[0] for look in LOOKS[:3])
_BINS = 60


def draw_response(evidence: Sequence[FlightEvidence], response: PayloadResponse, path: Path) -> None:
    """Draw each channel that has falls or steps: falls as a histogram, flights as dots with standard uncertainties."""
    names = [n for n, c in response.channels.items() if c.falls or c.t90_s] or list(response.channels)
    figure = new_figure(8.0, 2.6 * len(names))
    for name, axes in zip(names, np.atleast_1d(figure.subplots(len(names), 1)), strict=True):
        channel = response.channels[name]
        falls = pooled([e.seen[name].falls for e in evidence if name in e.seen])
        if len(falls.t90_s):
            edges = np.geomspace(0.9 * falls.t90_s.min(), 1.1 * falls.t90_s.max(), _BINS)
            axes.hist(falls.t90_s, bins=edges, color=_BLUE, alpha=0.5, label=f"{len(falls.t90_s)} falls")
        if channel.limit_s is not None:
            axes.axvline(channel.limit_s, color=_ORANGE, linestyle="--", label=f"limit {channel.limit_s:.1f} s")
        if channel.t90_s:
            low, high = channel.t90_s - channel.t90_uncertainty_s, channel.t90_s + channel.t90_uncertainty_s
            label = f"t90 {channel.t90_s:.1f} ± {channel.t90_uncertainty_s:.1f} s"
            axes.axvspan(low, high, color=_GREEN, alpha=0.35, label=label)
        top = axes.get_ylim()[1]
        own = [(e.seen[name].t90_s, e.seen[name].uncertainty_s) for e in evidence if name in e.seen]
        for place, (t90, doubt) in enumerate(own):
            height = top * (0.95 - 0.5 * place / max(len(own), 1))
            axes.errorbar(t90, height, xerr=doubt, fmt=".", color="black", label="one flight" if place == 0 else None)
        axes.set_xscale("log")
        axes.legend(fontsize=8)
        axes.grid(alpha=0.3)
        axes.set(xlabel=f"t90 of {name} [s]", ylabel="falls")
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png", metadata={"Software": "pc2dae"})
