"""Figures as inline SVG that follows the page's theme."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, _GRID = "#010203", "#040506"  # replaced by the page's own colours
BOXES: dict[str, Any] = {part: {"color": INK} for part in ("whiskerprops", "capprops", "medianprops")}  # of boxplots
# Okabe and Ito's colours with a dash each: distinct for colour-blind readers, and in print.
LOOKS = (
    ("#0072b2", "-"),
    ("#d55e00", "--"),
    ("#009e73", ":"),
    ("#cc79a7", "-."),
    ("#e69f00", (0, (8, 3))),
    ("#56b4e9", "-"),
    ("#8a8f98", "--"),
)


@dataclass(frozen=True)
class Drawing:
    """A matplotlib figure and the id of its place on the page."""

    id: str
    figure: Figure

    @property
    def svg(self) -> str:
        """The figure as an SVG element; the same figure gives the same text."""
        import matplotlib

        buffer = io.StringIO()
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": self.id}):
            self.figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        text = buffer.getvalue()
        return text[text.index("<svg") :].replace(INK, "currentColor").replace(_GRID, "var(--line)")


def new_figure(width: float = 7.6, height: float = 4.2) -> Figure:
    """An empty figure [inch]."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def styled(axes: Axes, **labels: Any) -> Axes:
    """Axes in the page's colours; `labels` are passed to `Axes.set`."""
    axes.set(**labels)
    axes.tick_params(colors=INK, which="both", labelsize=9)
    axes.grid(color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_color(_GRID)
    for text in (axes.xaxis.label, axes.yaxis.label, axes.title):
        text.set_color(INK)
        text.set_fontsize(10)
    legend = axes.get_legend()
    if legend is not None:
        legend.set_frame_on(False)
        for text in legend.get_texts():
            text.set_color(INK)
    return axes
