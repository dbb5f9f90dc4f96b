"""The figures of a flight for slides and paper: a PDF, one page per family, then the map and the spectra."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pc2dae.arrays import Array
from pc2dae.atomic import replacing
from pc2dae.flight.schema import check_flight, has_estimate
from pc2dae.plumes import Survey
from pc2dae.report.map_figure import draw_map, has_map
from pc2dae.suite import Channel, Suite
from pc2dae.view import summary
from pc2dae.view.flight_view import COVERAGE_90
from pc2dae.view.formatting import units
from pc2dae.view.plumes import clearest, plumes_of
from pc2dae.view.spectra import spectrum

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# As on the page, and distinct on grey paper.
_RAW, _RESPONSE, _ESTIMATE, _PLUME = "#929da9", "#7b4fb3", "#0072b2", "#e69f00"
_WIDE = (11.7, 8.3)  # A4 across [inch]
_SPECTRA_ACROSS = 5
_MOST_MAPS = 4


def write_slides(flight: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write the PDF; the same flight gives the same bytes."""
    from matplotlib.backends.backend_pdf import PdfPages

    suite = check_flight(flight)
    plumes = plumes_of(flight)
    pages = [_family_page(flight, suite, family.name, plumes) for family in suite.family]
    pages += [page for page in (_map_page(flight, suite, plumes), _spectra_page(flight, suite)) if page is not None]
    with (
        replacing(path) as temporary,
        PdfPages(temporary, metadata={"Creator": "pc2dae", "CreationDate": None}) as document,
    ):
        for page in pages:
            document.savefig(page)


def _page(flight: xr.Dataset, what: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=_WIDE)  # margins by hand: a layout solver takes most of the time of such pages
    figure.suptitle(f"{summary.title(flight)}: {what}", fontsize=13, x=0.02, ha="left")
    figure.subplots_adjust(left=0.08, right=0.97, top=0.92, bottom=0.07, hspace=0.25, wspace=0.3)
    return figure


def _family_page(flight: xr.Dataset, suite: Suite, family: str, plumes: Survey) -> Figure:
    channels = [channel for channel in suite.channels if suite.family_of(channel.name) == family]
    figure = _page(flight, family)
    axes = figure.subplots(len(channels), 1, sharex=True, squeeze=False).ravel()
    minutes = (flight["time"].values - flight["time"].values[0]) / np.timedelta64(60_000, "ms")
    for axis, channel in zip(axes, channels, strict=True):
        _channel(axis, flight, channel, minutes)
        for start, stop in plumes.intervals:
            axis.axvspan(minutes[start], minutes[stop - 1], color=_PLUME, alpha=0.13, lw=0)
    axes[-1].set_xlabel("minutes from take-off; plume encounters shaded")
    known = {text: line for axis in axes for line, text in zip(*axis.get_legend_handles_labels(), strict=True)}
    axes[0].legend(known.values(), known, loc="lower right", bbox_to_anchor=(1, 1), ncols=5, fontsize=8, frameon=False)
    return figure


def _channel(axis: Axes, flight: xr.Dataset, channel: Channel, minutes: Any) -> None:
    name = channel.name
    denoised = f"{name}_raw" in flight
    raw = flight[f"{name}_raw" if denoised else name].values
    value = flight[name].values
    axis.plot(minutes, raw, color=_RAW, lw=0.6, label="as logged")
    if denoised:
        if f"{name}_uncertainty" in flight:
            reach = COVERAGE_90 * flight[f"{name}_uncertainty"].values
            low = np.maximum(value - reach, channel.lower_bound)
            axis.fill_between(minutes, low, value + reach, color=_ESTIMATE, alpha=0.22, lw=0, label="90 % interval")
        if f"{name}_response" in flight:
            reading = flight[f"{name}_response"].values
            axis.plot(minutes, reading, color=_RESPONSE, lw=0.8, label="noise-free reading")
        axis.plot(minutes, value, color=_ESTIMATE, lw=1.2, label="estimate")
        axis.text(0.005, 0.97, flight[name].attrs.get("target", ""), transform=axis.transAxes, va="top", fontsize=7)
    axis.set_ylim(*_value_range(raw, value))
    axis.margins(x=0)
    axis.set_ylabel(f"{name}\n[{units(channel.units)}]", fontsize=8)
    axis.tick_params(labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)


def _map_page(flight: xr.Dataset, suite: Suite, plumes: Survey) -> Figure | None:
    """Map and height profile of every channel, or where these are many of the clearest of each family."""
    denoised = [name for name in suite.names if has_estimate(flight, name)]
    shown = denoised or [name for name in suite.names if np.isfinite(flight[name].values).any()]
    families = {family: [n for n in shown if suite.family_of(n) == family] for family in map(suite.family_of, shown)}
    chosen = shown if len(shown) <= _MOST_MAPS else [clearest(plumes, names) for names in families.values()]
    if not chosen or not has_map(flight, suite):
        return None
    figure = _page(flight, "map and height profile; median and 10–90 % in layers")
    across = 1 if len(chosen) == 1 else 2
    parts = figure.subfigures(-(-len(chosen) // across), across, squeeze=False).ravel()
    for part, name in zip(parts, chosen, strict=False):
        draw_map(part, flight, suite, name, plumes)
    return figure


def _spectra_page(flight: xr.Dataset, suite: Suite) -> Figure | None:
    names = [name for name in suite.names if has_estimate(flight, name)]
    if not names:
        return None
    figure = _page(flight, "spectra before and after [units² Hz⁻¹ over Hz]")
    rows = -(-len(names) // _SPECTRA_ACROSS)
    axes = figure.subplots(rows, min(len(names), _SPECTRA_ACROSS), squeeze=False).ravel()
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    for axis, name in zip(axes, names, strict=False):
        for variable, colour in ((f"{name}_raw", _RAW), (f"{name}_unbounded", _ESTIMATE)):
            found = spectrum(flight[variable].values.astype(np.float64), suite.rate_hz) if variable in flight else None
            if found is not None:
                axis.loglog(*found, color=colour, lw=1.0)
        axis.minorticks_off()
        axis.set_title(name, fontsize=8, loc="left", pad=2)
        axis.tick_params(labelsize=6)
    return figure


def _value_range(raw: Array, value: Array) -> tuple[float, float]:
    """Limits that show all of the estimate and nearly all of the raw record, so that one spike does not dominate."""
    if not np.isfinite(raw).any():
        return 0.0, 1.0
    low, high = np.nanquantile(raw, [0.002, 0.999])
    if np.isfinite(value).any():
        low, high = min(low, np.nanquantile(value, 0.001)), max(high, np.nanquantile(value, 0.9995))
    room = 0.06 * max(high - low, 1e-9)
    return float(low - room), float(high + 2 * room)
