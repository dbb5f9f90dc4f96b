"""A simulated flight at a glance: every channel with its truth, and the track, as one picture."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

import numpy as np
import xarray as xr

from pc2dae.atomic import replacing

LOGGED, RESPONSE, AMBIENT = "#9aa5b1", "#0b7285", "#e8590c"


def draw_truth(truth: xr.Dataset, flight: xr.Dataset | None, path: str | PathLike[str]) -> None:
    """Draw every channel of `truth` (air, noise-free reading), what `flight` logged where given, and the track."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = [str(name).removesuffix("_response") for name in truth.data_vars if str(name).endswith("_response")]
    columns = 3
    rows = -(-(len(names) + 4) // columns)
    figure = Figure(figsize=(6.2 * columns, 1.9 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns).ravel()
    minutes = np.arange(truth.sizes["time"]) / 60.0
    _track(axes[0], figure, truth)
    for axis, (name, label) in zip(
        axes[1:4],
        (("altitude", "altitude [m]"), ("ground_speed", "speed [m/s]"), ("air_temperature", "temperature [°C]")),
        strict=True,
    ):
        if flight is not None and name in flight:
            axis.plot(minutes, flight[name].values[: len(minutes)], color=LOGGED, lw=0.6)
        axis.plot(minutes, truth[name].values, color=AMBIENT, lw=0.9)
        axis.set_title(label, loc="left", fontsize=9)
    for axis, name in zip(axes[4:], names, strict=False):
        if flight is not None and name in flight:
            axis.plot(minutes, flight[name].values[: len(minutes)], color=LOGGED, lw=0.5, label="logged")
        axis.plot(minutes, truth[f"{name}_ambient"].values, color=AMBIENT, lw=0.9, label="air")
        axis.plot(minutes, truth[f"{name}_response"].values, color=RESPONSE, lw=0.9, label="noise-free reading")
        axis.set_title(f"{name} [{truth[f'{name}_ambient'].attrs.get('units', '')}]", loc="left", fontsize=9)
        if not name.startswith("co2"):
            axis.axhline(0.0, color="black", lw=0.4)
        if name == names[0]:
            axis.legend(fontsize=7, frameon=False, ncols=3)
        axis.set_ylim(*_range(truth, flight, name))
    for axis in axes[len(names) + 4 :]:
        axis.set_visible(False)
    for axis in axes[1:]:
        axis.tick_params(labelsize=7)
        axis.margins(x=0)
        axis.spines[["top", "right"]].set_visible(False)
    count = len(json.loads(truth.attrs.get("encounters", "[]")))
    figure.suptitle(
        f"{truth.attrs.get('id', 'flight')}: {len(minutes):,} s, {count} plume encounters; time in minutes", fontsize=11
    )
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110, metadata={"Software": "pc2dae"})


def _range(truth: xr.Dataset, flight: xr.Dataset | None, name: str) -> tuple[float, float]:
    """Limits that show all of the truth and nearly all of the log: a spike does not flatten the picture."""
    known = np.concatenate([truth[f"{name}_ambient"].values, truth[f"{name}_response"].values])
    low, high = float(known.min()), float(known.max())
    if flight is not None and name in flight:
        low = min(low, float(np.nanquantile(flight[name].values, 0.002)))
        high = max(high, float(np.nanquantile(flight[name].values, 0.998)))
    return low - 0.05 * (high - low), high + 0.05 * (high - low)


def _track(axis: Any, figure: Any, truth: xr.Dataset) -> None:
    """The track over ground in metres, coloured by black carbon in the air."""
    latitude, longitude = truth["latitude"].values, truth["longitude"].values
    east = (longitude - longitude[0]) * 111_195.0 * np.cos(np.radians(latitude[0]))
    north = (latitude - latitude[0]) * 111_195.0
    smoke = (
        np.log10(np.maximum(truth["bc_ir_1_ambient"].values, 1.0))
        if "bc_ir_1_ambient" in truth
        else np.zeros(len(east))
    )
    order = np.argsort(smoke)
    dots = axis.scatter(east[order], north[order], c=smoke[order], s=4, cmap="inferno_r")
    axis.set_aspect("equal", adjustable="box")
    axis.set_title("track [m], log10 BC [ng m-3]", loc="left", fontsize=9)
    axis.tick_params(labelsize=7)
    figure.colorbar(dots, ax=axis, pad=0.01).ax.tick_params(labelsize=7)
