"""A first look at a flight as one picture: flags and gaps at a glance, every channel with its truth, the track."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.arrays import Array, Mask
from pc2dae.atomic import replacing
from pc2dae.flight.schema import check_flight, observed
from pc2dae.suite import Channel, Suite
from pc2dae.view.flags import KINDS, kinds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

# Good, then the kinds of `flags.KINDS`: readable for colour-blind readers and in print.
_COLOURS = ("#e8eef2", "#5b6770", "#c1352b", "#e0a93b", "#8fb4d9")
_FAMILY_COLOURS = ("#1f3b57", "#8a4f1d", "#3d6b3a", "#6b3a6b", "#5c5c16", "#1d6b6b")
_TRUTH = (("ambient", "air", "#e8590c"), ("response", "noise-free reading", "#0b7285"))
_COLUMNS = 3
_M_PER_DEGREE = 111_195.0
_METADATA = {  # no dates: the same flight gives the same bytes
    "png": {"Software": "pc2dae"},
    "svg": {"Creator": "pc2dae", "Date": None},
}


def first_look(flight: xr.Dataset, path: str | os.PathLike[str], *, truth: xr.Dataset | None = None) -> None:
    """Draw `flight` into a picture (.png or .svg by the path's suffix), with its `truth` if it was simulated."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _figure(flight, truth)
    FigureCanvasAgg(figure)
    suffix = os.fspath(path).rsplit(".", 1)[-1].lower()
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110, format=suffix, metadata=_METADATA.get(suffix))


def _figure(flight: xr.Dataset, truth: xr.Dataset | None) -> Figure:
    from matplotlib.figure import Figure

    suite = check_flight(flight)
    names = [name for name in suite.names if np.isfinite(flight[name].values).any()] or list(suite.names)
    has_track = "latitude" in flight and np.isfinite(flight["latitude"].values).any()
    rows = -(-len(names) // _COLUMNS)
    glance = max(0.17 * len(suite.names), 2.2 if has_track else 0.9)
    figure = Figure(figsize=(15.0, 1.2 + glance + 1.25 * rows), layout="constrained")
    outer = figure.add_gridspec(2, 1, height_ratios=[glance + 0.5, 1.25 * rows])
    minutes = (flight["time"].values - flight["time"].values[0]) / np.timedelta64(60, "s")
    end = float(minutes[-1]) or 1.0
    top = outer[0].subgridspec(1, 2, width_ratios=[3, 1]) if has_track else outer[0].subgridspec(1, 1)
    _flags(figure, top[0], flight, suite, end)
    if has_track:
        _track(figure, top[1], flight, suite)
    panels = outer[1].subgridspec(rows, _COLUMNS)
    families = [family.name for family in suite.family]
    first: Axes | None = None
    for number, name in enumerate(names):
        axes = figure.add_subplot(panels[number // _COLUMNS, number % _COLUMNS], sharex=first)
        first = first if first is not None else axes
        colour = _FAMILY_COLOURS[families.index(suite.family_of(name)) % len(_FAMILY_COLOURS)]
        _channel(axes, flight, suite[name], minutes, colour)
        if truth is not None:
            _truth(axes, flight, truth, name, minutes)
        if number >= len(names) - _COLUMNS:
            axes.set_xlabel("minutes", fontsize=8)
    start = np.datetime_as_string(flight["time"].values[0], unit="m").replace("T", " ")
    level = flight.attrs.get("level", "raw")
    figure.suptitle(
        f"{flight.attrs.get('id', 'flight')}   {start} UTC   suite {suite.name}, level {level}", fontsize=11
    )
    return figure


def _flags(figure: Figure, place: SubplotSpec, flight: xr.Dataset, suite: Suite, end: float) -> None:
    """One row per channel, one cell per second: good, missing, rejected, repeated."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    axes = figure.add_subplot(place)
    table = np.array([kinds(flight[f"qc_{name}"].values) for name in suite.names])
    edge = len(suite.names) - 0.5
    axes.imshow(table, aspect="auto", interpolation="nearest", cmap=ListedColormap(_COLOURS), vmin=0, vmax=4,
                extent=(0.0, end, edge, -0.5))  # fmt: skip
    axes.set_yticks(range(len(suite.names)), suite.names, fontsize=7)
    axes.set_yticks(np.arange(0.5, edge), minor=True)
    axes.grid(which="minor", axis="y", color="white", linewidth=1.0)
    axes.tick_params(which="minor", length=0)
    axes.tick_params(labelsize=7)
    axes.set_xlabel("minutes", fontsize=8)
    words = ("good", *KINDS.values())
    used = [kind for kind in range(5) if (table == kind).any()]
    handles = [Patch(facecolor=_COLOURS[kind], edgecolor="#888888", label=words[kind]) for kind in used]
    axes.legend(handles=handles, fontsize=7, ncols=3, loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False)


def _track(figure: Figure, place: SubplotSpec, flight: xr.Dataset, suite: Suite) -> None:
    """The track over ground in metres, coloured by the channel that shows plumes best."""
    axes = figure.add_subplot(place)
    latitude, longitude = flight["latitude"].values, flight["longitude"].values
    north = (latitude - np.nanmean(latitude)) * _M_PER_DEGREE
    east = (longitude - np.nanmean(longitude)) * _M_PER_DEGREE * np.cos(np.deg2rad(np.nanmean(latitude)))
    best = max(suite.names, key=lambda name: _contrast(flight, name))
    values = np.where(observed(flight, best), flight[best].values, np.nan)
    axes.plot(east, north, color="#d5dbe0", linewidth=0.6, zorder=1)
    if np.isfinite(values).any():
        order = np.argsort(np.nan_to_num(values, nan=-np.inf))  # smoke on top
        low, high = np.nanquantile(values, [0.05, 0.995])
        dots = axes.scatter(
            east[order], north[order], c=values[order], s=5, cmap="magma_r", vmin=low, vmax=high, zorder=2
        )
        bar = figure.colorbar(dots, ax=axes, shrink=0.8)
        bar.set_label(f"{best} [{suite[best].units}]", fontsize=7)
        bar.ax.tick_params(labelsize=6)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("east, m", fontsize=8)
    axes.set_ylabel("north, m", fontsize=8)
    axes.tick_params(labelsize=7)


def _channel(axes: Axes, flight: xr.Dataset, channel: Channel, minutes: NDArray[Any], colour: str) -> None:
    """One channel over time: valid samples as a line, rejected ones as dots, the bound as a thin rule."""
    name = channel.name
    values, valid = np.asarray(flight[name].values, dtype=np.float64), observed(flight, name)
    kind = kinds(flight[f"qc_{name}"].values)
    if (kind == 3).any():  # a line would break at every repeat: join the new samples
        axes.plot(minutes[valid], values[valid], color=colour, linewidth=0.6)
    else:
        axes.plot(minutes, np.where(valid, values, np.nan), color=colour, linewidth=0.6)
    low, high = _limits(values, valid)
    rejected = (kind == 2) & np.isfinite(values)
    axes.plot(minutes[rejected], np.clip(values[rejected], low, high), ".", color=_COLOURS[2], markersize=4)
    if low < channel.lower_bound < high:
        axes.axhline(channel.lower_bound, color="#999999", linewidth=0.5)
    axes.set_ylim(low, high)
    axes.set_xlim(0.0, float(minutes[-1]) or 1.0)
    axes.set_title(f"{name} [{channel.units}]", fontsize=8, loc="left", pad=2, color=colour)
    axes.tick_params(labelsize=6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _truth(axes: Axes, flight: xr.Dataset, truth: xr.Dataset, name: str, minutes: NDArray[Any]) -> None:
    """The air and the noise-free reading behind one channel."""
    at = truth.reindex(time=flight["time"])
    for kind, words, colour in _TRUTH:
        if f"{name}_{kind}" in at:
            shown = at[f"{name}_{kind}"].values
            axes.plot(minutes, shown, color=colour, linewidth=0.9, label=words)
            low, high = axes.get_ylim()
            axes.set_ylim(min(low, np.nanmin(shown)), max(high, 1.05 * np.nanmax(shown)))
            axes.legend(fontsize=6, frameon=False, ncols=2, loc="upper right")


def _limits(values: Array, valid: Mask) -> tuple[float, float]:
    """Limits that show all valid samples, with a margin."""
    shown = values[valid] if valid.any() else values[np.isfinite(values)]
    if not len(shown):
        return 0.0, 1.0
    low, high = float(shown.min()), float(shown.max())
    room = 0.06 * (high - low) or max(abs(high) * 0.1, 1.0)
    return low - room, high + room


def _contrast(flight: xr.Dataset, name: str) -> float:
    """Height of a channel's peaks above its median, in units of its spread below it."""
    values = flight[name].values[observed(flight, name)]
    if len(values) < 20:
        return -1.0
    middle, usual, peak = np.quantile(values, [0.5, 0.25, 0.995])
    return float((peak - middle) / (middle - usual)) if middle > usual else 0.0
