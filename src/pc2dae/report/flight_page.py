"""The report of one flight."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from pc2dae.flight.schema import check_flight
from pc2dae.flight.truth import truth_at
from pc2dae.inspection import inspect_flight
from pc2dae.pipeline import evaluate
from pc2dae.report import plume_tables, quality, summary
from pc2dae.report.figure import Figure, stamp
from pc2dae.report.page import write_page
from pc2dae.report.panels import KINDS, channel_figure, kinds
from pc2dae.report.scores import score_tables
from pc2dae.report.spectra import spectrum_figure
from pc2dae.report.track import track_colours, track_figure
from pc2dae.suite import Channel, Suite


@dataclass(frozen=True)
class FamilyPanels:
    """The channels of one family, in the suite's order."""

    name: str
    channels: list[summary.ChannelFacts]
    is_open: bool


def write_flight_page(
    flight: xr.Dataset,
    path: str | os.PathLike[str],
    *,
    truth: xr.Dataset | None = None,
    scores: pd.DataFrame | None = None,
) -> None:
    """Write the page of a flight, denoised or not; with `truth` its panels show that too.

    `scores` are those of `pipeline.evaluate`; where none are given they are made.
    """
    suite = check_flight(flight)
    flight = flight.drop_dims([d for d in flight.dims if d != "time"])
    if scores is None and flight.attrs.get("level") == "denoised":
        scores = evaluate(flight, truth=truth)
    inspection = inspect_flight(summary.as_measured(flight))
    facts = [summary.channel_facts(flight, channel) for channel in suite.channels]
    plumes = plume_tables.plumes_of(flight, suite)
    panels = [_panel(flight, channel, plumes, truth) for channel in suite.channels]
    spectra = {c.name: f for c in suite.channels if (f := spectrum_figure(flight, c, suite.rate_hz)) is not None}
    track = track_figure(flight)
    colours = track_colours(flight, suite) if track is not None else []
    time = flight["time"].values
    count = len(plumes.intervals)
    context = {
        "title": summary.title(flight),
        "lead": summary.lead(flight, suite, facts, count, list(dict.fromkeys(plumes.survey.begun["channel"]))),
        "tiles": summary.tiles(flight, suite, facts, count),
        "plume_count": count,
        "signals_note": "Drag across a panel to zoom all of them in time, double-click to see the whole flight again. "
        + ("The arrows above lead from plume to plume." if count else ""),
        "denoised": any(f.denoised for f in facts),
        "has_band": any(np.isfinite(f.uncertainty) for f in facts),
        "has_truth": truth is not None,
        "flag_kinds": _kinds_present(flight, suite),
        "has_track": track is not None,
        "colours": colours,
        "families": _families(suite, facts),
        "spectra": [f for f in facts if f.name in spectra],
        "plumes": plume_tables.plume_table(flight, plumes, suite),
        "ratios": plume_tables.ratio_table(plumes),
        "scores": score_tables(scores) if scores is not None else [],
        "verdicts": quality.verdict_table(inspection),
        "quality": quality.channel_table(facts, inspection),
        "figures_of_flight": quality.figures_table(inspection),
        "history": summary.history(flight),
        "provenance": summary.provenance(flight),
        "suite_table": summary.suite_table(suite),
    }
    extra = {
        "span": [stamp(time[0]), stamp(time[-1])],
        "step_ms": 1000.0 / suite.rate_hz,
        "plumes": plume_tables.plume_spans(flight, plumes),
        "colours": colours,
        "first": plume_tables.clearest(plumes, [f.name for f in facts if f.denoised] or list(suite.names)),
    }
    figures: list[Figure] = [*([track] if track is not None else []), *panels, *spectra.values()]
    write_page("flight.html.j2", path, figures=figures, extra=extra, context=context)


def _panel(flight: xr.Dataset, channel: Channel, plumes: plume_tables.Plumes, truth: xr.Dataset | None) -> Figure:
    known = None
    if truth is not None and f"{channel.name}_response" in truth:
        response = truth_at(truth[[f"{channel.name}_response"]], flight)[f"{channel.name}_response"]
        known = np.maximum(response.values.astype(np.float64), channel.lower_bound)
    mine = summary.encounters_of(plumes.survey.encounters, channel.name)
    return channel_figure(flight, channel, mine, truth=known)


def _families(suite: Suite, facts: list[summary.ChannelFacts]) -> list[FamilyPanels]:
    """Families in the suite's order; one that was left as logged beside others that were not is folded away."""
    by_name = {f.name: f for f in facts}
    any_denoised = any(f.denoised for f in facts)
    families = []
    for family in suite.family:
        mine = [by_name[c.name] for c in family.channel]
        families.append(FamilyPanels(family.name, mine, not any_denoised or any(f.denoised for f in mine)))
    return families


def _kinds_present(flight: xr.Dataset, suite: Suite) -> list[tuple[int, str]]:
    present = {int(k) for name in suite.names for k in np.unique(kinds(flight[f"qc_{name}"].values))}
    return [(number, text) for number, text in KINDS.items() if number in present]
