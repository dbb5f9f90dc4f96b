"""The report of one flight: its view in one self-contained page."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pandas as pd
import xarray as xr

from pc2dae.pipeline import evaluate
from pc2dae.report.budget_figure import WHERE, error_budget
from pc2dae.report.page import TEMPLATES, read, script_safe, unescaped, write_page
from pc2dae.view import assets, summary
from pc2dae.view.flight_view import FlightView, json_text
from pc2dae.view.series import COARSE_POINTS

if TYPE_CHECKING:
    from markupsafe import Markup


def write_flight_page(
    flight: xr.Dataset,
    path: str | os.PathLike[str],
    *,
    truth: xr.Dataset | None = None,
    scores: pd.DataFrame | None = None,
) -> None:
    """Write the report of a flight, denoised or not; with `truth` its panels show that too.

    `scores` are those of `pipeline.evaluate`, computed here if not given.
    """
    flight = flight.drop_dims([d for d in flight.dims if d != "time"])
    if scores is None and flight.attrs.get("level") == "denoised":
        scores = evaluate(flight, truth=truth)
    view = FlightView(flight, truth, scores)
    coarse = view.series(COARSE_POINTS) if flight.sizes["time"] > COARSE_POINTS else "null"
    data = f'{{"view":{json_text(view.as_json())},"series":{view.series()},"coarse":{coarse},"track":{view.track()},'
    data += f'"sensors":{json_text(view.sensors)}}}'
    uplot = assets.uplot_folder()
    context = {
        "title": summary.title(flight),
        "lead": view.lead,
        "tiles": view.tiles,
        "tables": view.tables,
        "sensors": view.sensors,
        "budget": _budget(scores) if scores is not None and view.tables["budget"] else [],
        "has_spectra": bool(view.spectra),
        "history": summary.history(flight),
        "provenance": summary.provenance(flight),
        "suite_table": summary.suite_table(view.suite),
        "uplot_style": unescaped(read(uplot / assets.UPLOT_STYLE)),
        "uplot": unescaped(read(uplot / assets.UPLOT_SCRIPT)),
        "script": unescaped(assets.bundle(TEMPLATES / "report.js")),
        "data": unescaped(script_safe(data)),
    }
    write_page("flight.html.j2", path, context)


def _budget(scores: pd.DataFrame) -> list[tuple[str, Markup]]:
    """Title and figure of the error budget in the whole flight and in plumes."""
    return [(title, unescaped(error_budget(scores, where))) for where, title in WHERE.items()]
