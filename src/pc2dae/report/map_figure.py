"""A flight's map and height profile for paper: the track coloured by a channel, and that channel against height."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from pc2dae.arrays import Array
from pc2dae.plumes import Survey
from pc2dae.suite import Suite
from pc2dae.view.formatting import units
from pc2dae.view.profile import profile
from pc2dae.view.track import heights, mean_wind, metres

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure, SubFigure

_MOST_NUMBERS = 30
_PATH, _INK, _LINE = "#c9d0d8", "#17202a", "#0072b2"


def has_map(flight: xr.Dataset, suite: Suite) -> bool:
    """Whether a flight has a position or a height to be drawn."""
    return metres(flight) is not None or heights(flight, suite.rate_hz) is not None


def draw_map(figure: Figure | SubFigure, flight: xr.Dataset, suite: Suite, name: str, plumes: Survey) -> None:
    """Fill a figure with the map and the height profile of a channel, as far as the flight has them."""
    position, height = metres(flight), heights(flight, suite.rate_hz)
    values = flight[name].values.astype(np.float64)
    ratios = ([3.0] if position is not None else []) + ([2.0] if height is not None else [])
    figure.subplots_adjust(left=0.06 if position is not None else 0.14, right=0.97, top=0.86, bottom=0.15)
    axes = figure.subplots(1, len(ratios), width_ratios=ratios, squeeze=False, gridspec_kw={"wspace": 0.28})[0]
    title = f"{name} [{units(suite[name].units)}]"
    if position is not None:
        dots = _map(axes[0], position, values)
        figure.colorbar(dots, ax=axes[0], shrink=0.8, pad=0.02).ax.tick_params(labelsize=7)
        axes[0].apply_aspect()  # limits are final from here
        _numbers(axes[0], position, values, plumes)
        _furniture(axes[0], mean_wind(flight))
        axes[0].set_title(title, fontsize=9, loc="left")
    if height is not None:
        _profile(axes[-1], flight, name, height, title)


def _map(axis: Axes, position: tuple[Array, Array], values: Array) -> ScalarMappable:
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    east, north = position
    order = np.argsort(np.nan_to_num(values, nan=-np.inf))  # smoke over clean air
    low, high = np.nanquantile(values, [0.05, 0.995])
    smoke = ListedColormap(colormaps["magma_r"](np.linspace(0.1, 0.8, 256)))  # as on the page
    axis.plot(east, north, color=_PATH, lw=0.6, zorder=0)
    dots = axis.scatter(east[order], north[order], c=values[order], s=5, cmap=smoke, vmin=low, vmax=high)
    start = int(np.argmax(np.isfinite(east)))
    axis.plot(east[start], north[start], "^", mfc="white", mec=_INK, ms=6, zorder=3)
    axis.annotate("start", (east[start], north[start]), (0, -12), textcoords="offset points", ha="center", fontsize=7)
    axis.set_aspect("equal", adjustable="datalim")
    axis.margins(0.08)
    axis.set_axis_off()
    return dots


def _numbers(axis: Axes, position: tuple[Array, Array], values: Array, plumes: Survey) -> None:
    """The numbers of the plumes with the highest peaks, each where it is farthest from track and other numbers."""
    points = np.stack(position, axis=1)
    smoke = np.where(np.isfinite(points).all(axis=1), np.nan_to_num(values, nan=-np.inf), -np.inf)
    peaks = [(first + int(np.argmax(smoke[first:stop])), i) for i, (first, stop) in enumerate(plumes.intervals, 1)]
    shown = sorted((p for p in peaks if np.isfinite(smoke[p[0]])), key=lambda p: -smoke[p[0]])[:_MOST_NUMBERS]
    known = points[np.isfinite(points).all(axis=1)]
    taken = _in_points(axis, known[:: -(-len(known) // 500)])
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for peak, number in shown:
        places = _in_points(axis, points[[peak]]) + np.concatenate([13 * circle, 20 * circle])
        room = np.minimum(np.linalg.norm(places[:, None] - taken[None], axis=2).min(axis=1), 11.0)
        best = places[np.argmax(room)]
        taken = np.concatenate([taken, best[None]])
        axis.annotate(
            str(number),
            tuple(points[peak]),
            tuple(best - _in_points(axis, points[[peak]])[0]),
            textcoords="offset points",
            fontsize=6,
            ha="center",
            va="center",
            bbox={"boxstyle": "circle,pad=0.15", "fc": "white", "ec": _INK, "lw": 0.7},
            arrowprops={"arrowstyle": "-", "lw": 0.5},
        )


def _in_points(axis: Axes, places: Array) -> Array:
    """Places [m] on the page [pt]."""
    return np.asarray(axis.transData.transform(places) * 72 / axis.figure.dpi)


def _furniture(axis: Axes, wind: tuple[float, float] | None) -> None:
    """Scale bar of a round length, north arrow, and the mean wind where known."""
    west, east = axis.get_xlim()
    most = 0.3 * (east - west)
    power = 10 ** np.floor(np.log10(most))
    length = next(m * power for m in (5, 2, 1) if m * power <= most)
    share = length / (east - west)
    axis.plot([0, 0, share, share], [-0.05, -0.07, -0.07, -0.05], lw=1.2, color=_INK, clip_on=False,
              transform=axis.transAxes)  # fmt: skip
    _label(axis, share + 0.02, f"{length / 1000:g} km" if length >= 1000 else f"{length:g} m")
    _arrow(axis, 0.98, (0.0, 1.0))
    _label(axis, 0.93, "N")
    if wind is not None and (speed := float(np.hypot(*wind))) > 0:
        _arrow(axis, 0.62, (wind[0] / speed, wind[1] / speed))
        _label(axis, 0.67, f"wind {speed:.1f} m/s")


def _label(axis: Axes, x: float, words: str) -> None:
    axis.text(x, -0.07, words, transform=axis.transAxes, fontsize=7, va="center", color=_INK)


def _arrow(axis: Axes, x: float, towards: tuple[float, float]) -> None:
    """An arrow of 0.22 inch below the map; `towards` is east and north."""
    axis.quiver(x, -0.07, *towards, transform=axis.transAxes, angles="uv", pivot="mid", scale=1 / 0.22,
                scale_units="inches", units="inches", width=0.018, color=_INK, clip_on=False)  # fmt: skip


def _profile(axis: Axes, flight: xr.Dataset, name: str, height: tuple[Array, str], title: str) -> None:
    found = profile(flight, [name], height[0])
    mine, middle, depth = found["channels"][name], np.array(found["height"]), found["depth"]
    values = flight[name].values
    low, high = np.nanquantile(values, [0.001, 0.999])
    axis.scatter(values, height[0], s=2, color=_PATH, zorder=0)
    reach = np.subtract(mine["high"], mine["low"])
    axis.barh(middle, reach, depth, mine["low"], color=_LINE, alpha=0.22, lw=0)
    axis.plot(mine["median"], middle, color=_LINE, lw=1.4)
    room = 0.05 * max(high - low, 1e-9)
    axis.set_xlim(low - room, high + room)
    axis.set_ylabel(f"{height[1]} [m]", fontsize=7)
    axis.set_xlabel(title, fontsize=7)
    axis.tick_params(labelsize=7)
    axis.spines[["top", "right"]].set_visible(False)
