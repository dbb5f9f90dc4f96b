"""`pc2dae evaluate`: how good a clean flight is, with and without the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pc2dae.cli.app import again, app
from pc2dae.cli.console import table_of
from pc2dae.cli.options import SUITE

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from rich.console import Console


@app.command()
def evaluate(
    clean: Path = typer.Argument(..., help="A flight that `pc2dae denoise` wrote."),
    truth: Path | None = typer.Option(None, help="Its truth: the .truth.nc of a simulated flight."),
    model: str | None = typer.Option(None, help="The model that made it, to score duplicate sensors and leakage."),
    suite: str | None = SUITE,
    as_json: bool = typer.Option(False, "--json", help="Print every value of every channel as JSON."),
) -> None:
    """Score a clean flight per family and overall, beside raw, clipped and constant estimates.

    With a truth it also prints the error budget: noise, lag and calibration of the raw data, and what is left of noise
    and lag.

    Example: pc2dae evaluate clean.nc --truth campaign/flight_001.truth.nc
    """
    from rich.console import Console

    from pc2dae.flight.netcdf import read_netcdf
    from pc2dae.flight.store import read_flight
    from pc2dae.metrics.budget import BUDGET
    from pc2dae.metrics.flight import denoised_suite
    from pc2dae.pipeline import evaluate as scores_of
    from pc2dae.qc import without_observation
    from pc2dae.suite import load_suite

    known = None if truth is None else read_netcdf(truth)
    described = load_suite(suite) if suite is not None else None
    flight = read_flight(clean, described)
    scores = scores_of(flight, truth=known, model=model)
    if as_json:
        typer.echo(scores.to_json(orient="records", double_precision=6))
        return
    console = Console()
    rest = scores[~scores.metric.isin(BUDGET)]
    _families(console, rest)
    _methods(console, rest)
    _budget(console, scores, flight)
    for name, why in without_observation(flight, denoised_suite(flight).names).items():
        typer.echo(f"no score for {name}: no usable sample ({why})")
    if truth is None:
        typer.echo("without a truth, noise removal and signal loss cannot be distinguished: pass --truth if available")
    typer.echo(f"next: pc2dae plumes {clean}{again(suite=suite)}")


def _families(console: Console, scores: pd.DataFrame) -> None:
    """The flight's own scores, family by family."""
    own = scores["method"].iloc[0]
    means = scores[(scores.method == own) & (scores.channel == "all")]
    families = [f for f in means.family.unique() if f not in ("all", "ratio")]
    _show(console, means.pivot(index="metric", columns="family", values="value"), [*families, "all"], title=own)


def _methods(console: Console, scores: pd.DataFrame) -> None:
    """Overall means beside the reference estimates."""
    means = scores[(scores.channel == "all") & (scores.family == "all")]
    table = means.pivot(index="metric", columns="method", values="value")
    _show(console, table, list(scores.method.unique()), title="mean of families, beside the reference estimates")


def _budget(console: Console, scores: pd.DataFrame, flight: xr.Dataset) -> None:
    """Error budget by family [σ of the raw noise] and by channel in its units; nothing without a truth."""
    from pc2dae.metrics.budget import budget_table
    from pc2dae.metrics.flight import denoised_suite, raw_arrays
    from pc2dae.noise import noise_level
    from pc2dae.view.formatting import number

    table = budget_table(scores)
    if table.empty:
        return
    means = table[table.index.get_level_values("channel") == "all"].droplevel("channel")
    _show(
        console,
        means.T,
        [str(family) for family in means.index],
        title="error budget: mean absolute size of the parts of the raw error",
    )
    suite = denoised_suite(flight)
    parts = ["noise", "lag", "calib.", "left", "plumes:\nnoise", "lag", "calib.", "left"]
    shown = table_of(
        "", *parts, left=("",), wrapped=("", *parts), title="error budget by channel, mean absolute size in its units"
    )
    for channel, sigma in zip(suite.channels, noise_level(*raw_arrays(flight, suite)).sigma, strict=True):
        sizes = sigma * table.loc[(suite.family_of(channel.name), channel.name)]
        shown.add_row(f"{channel.name}, {channel.units}", *map(number, sizes))
    console.print(shown)


def _show(console: Console, table: pd.DataFrame, columns: list[str], *, title: str) -> None:
    from rich.markup import escape

    from pc2dae.metrics.metric_info import METRICS

    shown = table_of("", *columns, left=("",), wrapped=("", *columns), title=title)
    for metric, known in METRICS.items():
        if metric in table.index:
            row = table.loc[metric]
            cells = ("" if row.get(c) is None or row[c] != row[c] else f"{row[c]:.2f}" for c in columns)
            shown.add_row(escape(known.full), *cells)  # as markup, [s] would strike out what follows
    console.print(shown)
