"""The panel of a channel: raw against estimate with its band, flags as shading, plume encounters marked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from pc2dae.arrays import Array
from pc2dae.flags import BAD, FLAGS, INTERPOLATED, MISSING, STALE, STARTUP, TAPE_ADVANCE
from pc2dae.report.figure import Figure, Trace, line, packed, stamp, stride
from pc2dae.report.formatting import number, units
from pc2dae.suite import Channel

COVERAGE_90 = 1.645  # one-sigma uncertainties to either side of the estimate
_NOT_THERE = MISSING | STARTUP | TAPE_ADVANCE | INTERPOLATED
# What a flag means to somebody looking at a panel: four kinds, so that four colours do.
KINDS = {
    1: "no measurement (missing, start-up, tape advance, filled)",
    2: "not believed (range, spike, flat line, saturated)",
    3: "repeat of an older sample",
    4: "with care (below detection or bound, thermal transient)",
}


def kinds(bits: NDArray[np.int32]) -> NDArray[np.int8]:
    """Which of `KINDS` each sample's flags amount to, the gravest first; 0 = good."""
    chosen = np.select(
        [(bits & _NOT_THERE) != 0, (bits & BAD & ~STALE) != 0, (bits & STALE) != 0, bits != 0], [1, 2, 3, 4], 0
    )
    return np.asarray(chosen, dtype=np.int8)


def flag_counts(bits: NDArray[np.int32]) -> dict[str, int]:
    """How many samples carry each flag, those that none does left out."""
    counts = {name.replace("_", " "): int(np.count_nonzero(bits & bit)) for name, bit in FLAGS.items()}
    return {name: count for name, count in counts.items() if count}


def channel_figure(
    flight: xr.Dataset, channel: Channel, encounters: pd.DataFrame, *, truth: Array | None = None
) -> Figure:
    """Everything a flight knows about one channel, over time."""
    name, time = channel.name, flight["time"].values
    denoised = f"{name}_raw" in flight
    raw = flight[f"{name}_raw" if denoised else name].values.astype(np.float64)
    value = flight[name].values.astype(np.float64)
    data = [*_flag_traces(time, flight[f"qc_{name}"].values), _encounter_trace(encounters, units(channel.units))]
    data.append(line(time, raw, "raw", yaxis="y2", hovertemplate="%{y:,.4~r}"))
    if denoised and f"{name}_uncertainty" in flight:
        reach = COVERAGE_90 * flight[f"{name}_uncertainty"].values.astype(np.float64)
        low = np.maximum(value - reach, channel.lower_bound)
        data.append(line(time, low, "edge", yaxis="y2", name="5 %", hovertemplate="%{y:,.4~r}"))
        data.append(
            line(time, value + reach, "band", yaxis="y2", name="95 %", fill="tonexty", hovertemplate="%{y:,.4~r}")
        )
    if truth is not None:
        data.append(line(time, truth, "truth", yaxis="y2", hovertemplate="%{y:,.4~r}"))
    if denoised:
        free = flight[f"{name}_unbounded"].values.astype(np.float64) if f"{name}_unbounded" in flight else value
        under = np.where(free < channel.lower_bound, free, np.nan)
        if np.isfinite(under).any():
            data.append(line(time, under, "unbounded", yaxis="y2", name="before the bound", hovertemplate="%{y:,.4~r}"))
        data.append(line(time, value, "estimate", yaxis="y2", hovertemplate="<b>%{y:,.4~r}</b>"))
    layout = {
        "height": 200,
        "margin": {"l": 58, "r": 12, "t": 8, "b": 26},
        "hovermode": "x unified",
        "showlegend": False,
        "xaxis": {
            "type": "date",
            "range": [stamp(time[0]), stamp(time[-1])],
            "hoverformat": "%H:%M:%S",
            "tickangle": 0,
            "tickformatstops": [
                {"dtickrange": [None, 59_000], "value": "%H:%M:%S"},
                {"dtickrange": [59_000, None], "value": "%H:%M"},
            ],
        },
        "yaxis": {"range": [0, 1], "fixedrange": True, "visible": False},
        "yaxis2": {
            "overlaying": "y",
            "side": "left",
            "range": value_range(raw, value),
            "tickmode": "auto",
            "tickformat": "~s" if np.nanmax(np.abs([raw, value]), initial=0) >= 1000 else "",  # 0.5, never 500m
            "nticks": 6,
        },
    }
    return Figure(f"panel-{name}", data, layout, linked=True)


def value_range(raw: Array, value: Array) -> list[float]:
    """Limits that show all of the estimate and nearly all of the log: one spike does not flatten the picture."""
    if not np.isfinite(raw).any():
        return [0.0, 1.0]
    low, high = np.nanquantile(raw, [0.002, 0.999])
    if np.isfinite(value).any():
        low, high = min(low, np.nanquantile(value, 0.001)), max(high, np.nanquantile(value, 0.9995))
    room = 0.06 * max(high - low, 1e-9)
    return [float(low - room), float(high + 2 * room)]


def _flag_traces(time: NDArray[Any], bits: NDArray[np.int32]) -> list[Trace]:
    """Shading where there is nothing to believe, and along the foot of the panel a strip of all flags."""
    kind = kinds(bits)
    width = stride(len(kind))
    if width > 1:
        padded = np.pad(kind, (0, -len(kind) % width)).reshape(-1, width)
        gravest = np.where(padded == 0, np.int8(9), padded).min(axis=1)
        kind = np.where(gravest == 9, np.int8(0), gravest)
    shaded = np.where((kind == 1) | (kind == 2), kind, np.int8(0))
    step = float((time[1] - time[0]) / np.timedelta64(1, "ms")) if len(time) > 1 else 1000.0
    common = {"type": "heatmap", "x0": stamp(time[0]), "dx": step * width, "zmin": 0, "zmax": 4, "showscale": False}
    common |= {"hoverinfo": "skip", "meta": {"role": "flags"}}
    strip = common | {"z": packed(kind[None]), "y0": 0.02, "dy": 0.04}
    shade = common | {"z": packed(shaded[None]), "y0": 0.52, "dy": 0.96, "opacity": 0.35}
    return [trace for trace, drawn in ((shade, shaded), (strip, kind)) if drawn.any()]


def _encounter_trace(encounters: pd.DataFrame, unit: str) -> Trace:
    """A bar along the top of the panel for each plume encounter of the channel."""
    x: list[str | None] = []
    text: list[str | None] = []
    for onset, end, number_of, length, peak in zip(
        *(encounters[c].to_numpy() for c in ("onset", "end", "number", "duration_s", "peak")), strict=True
    ):
        words = f"{number_of}: {length:.0f} s, peak +{number(peak)} {unit}"
        x += [stamp(onset), stamp(end), None]
        text += [words, words, None]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": [0.985] * len(x),
        "text": text,
        "hovertemplate": "%{text}",
        "name": "plume",
        "line": {"width": 5},
        "meta": {"role": "plume"},
    }
