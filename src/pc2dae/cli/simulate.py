"""`pc2dae simulate`: a campaign with known truth, as instrument files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pc2dae.cli.app import app

if TYPE_CHECKING:
    from pc2dae.paper.campaign_check import Check


@app.command()
def simulate(
    folder: Path = typer.Argument(..., metavar="DIR", help="Folder of the campaign (with --check: an existing one)."),
    flights: int | None = typer.Option(None, help="Number of flights. Default: the paper's 5."),
    minutes: float | None = typer.Option(None, help="Length of each flight. Default: 7,894 s over 5 flights."),
    seed: int = typer.Option(1, help="Random seed; the same seed gives identical files."),
    suite: str = typer.Option("black-kite", help="The payload; only black-kite has simulated instruments."),
    workers: int = typer.Option(1, min=1, help="Flights simulated in parallel."),
    perfect_sheets: bool = typer.Option(False, "--perfect-sheets", help="Write each cell's true calibration sheet."),
    zero_checks: bool = typer.Option(
        False, "--zero-checks", help="Park 3 min in clean air before and after each flight; DIR/flight_NNN.zero.csv."
    ),
    colocation: float | None = typer.Option(
        None, metavar="DAYS", help="Also DIR/colocation: the payload beside a reference, before the first flight."
    ),
    span_gas: bool = typer.Option(
        False, "--span-gas", help="Also DIR/span_gas: the payload in known gases, before the first flight."
    ),
    draw: bool = typer.Option(False, "--draw", help="Also draw every channel with its truth, DIR/flight_NNN.png."),
    force: bool = typer.Option(False, "--force", help="Overwrite an earlier campaign in DIR."),
    check: bool = typer.Option(False, "--check", help="Simulate nothing: compare DIR with the paper's statistics."),
    as_json: bool = typer.Option(False, "--json", help="With --check: the table as JSON."),
) -> None:
    """Simulate flights through smoke: instrument files, and the truth beside them.

    Example: pc2dae simulate campaign && pc2dae simulate --check campaign
    """
    if check:
        _check(folder, as_json=as_json)
        return
    from pc2dae.cli.console import progress_bar
    from pc2dae.errors import SuiteError, nearest, require
    from pc2dae.simulate import breathe_span_gas, colocate, plan_campaign, write_campaign, write_flight_files

    if draw:
        require("matplotlib", extra="figures")
    if suite != "black-kite":
        raise SuiteError(f"no instruments are simulated for suite '{suite}'", hint=nearest(suite, ["black-kite"]))
    plans = plan_campaign(
        seed, flights=flights, minutes=minutes, perfect_sheets=perfect_sheets, zero_checks=zero_checks
    )
    names = [plan.name for plan in plans] + ["colocation"] * (colocation is not None) + ["span_gas"] * span_gas
    for name in names:
        _check_place(folder / name, force=force)
    with progress_bar("flying", len(plans)) as update:
        if colocation is not None:
            write_flight_files(colocate(plans[0], colocation), folder)
        if span_gas:
            write_flight_files(breathe_span_gas(plans[0]), folder)
        for number, done in enumerate(write_campaign(plans, folder, workers=workers), 1):
            if draw:
                _draw(done)
            update(number)
    total = sum(plan.samples for plan in plans)
    typer.echo(f"{len(plans)} flights, {total:,} samples at 1 Hz, seed {seed}: {folder}")
    if colocation is not None:
        typer.echo(f"co-location, {colocation:g} d: {folder}/colocation, reference: {folder}/colocation.reference.csv")
    if span_gas:
        typer.echo(f"span gas: {folder}/span_gas, contents: {folder}/span_gas.intervals.csv")
    typer.echo(f"next: pc2dae ingest {folder}/flight_001 -o flight_001.nc")


def _check_place(flight: Path, *, force: bool) -> None:
    """Refuse to overwrite a flight: one without a truth file is a real measurement, any other needs `force`."""
    from pc2dae.errors import Pc2daeError

    truth = flight.with_name(f"{flight.name}.truth.nc")
    if flight.is_dir() and any(flight.iterdir()) and not truth.exists():
        raise Pc2daeError(f"{flight} holds files and no {truth.name} lies beside it: it was not simulated",
                          hint="name another folder")  # fmt: skip
    if truth.exists() and not force:
        raise Pc2daeError(f"{flight} is simulated already", hint="name another folder, or add --force")


def _draw(done: Path) -> None:
    from pc2dae.report.first_look import first_look
    from pc2dae.simulate import read_flight_files

    truth, flight = read_flight_files(done)
    first_look(flight, done.with_suffix(".png"), truth=truth)


def _check(folder: Path, *, as_json: bool) -> None:
    import json

    from pc2dae.errors import FlightError
    from pc2dae.paper.campaign_check import compare
    from pc2dae.simulate import read_flight_files

    done = sorted(path.with_name(path.name.removesuffix(".truth.nc")) for path in folder.glob("flight_*.truth.nc"))
    if not done:
        raise FlightError(f"no truth file in {folder}", hint=f"run `pc2dae simulate {folder}` first")
    truths, flights = zip(*(read_flight_files(path) for path in done), strict=True)
    lines = compare(flights, truths)
    if as_json:
        typer.echo(json.dumps([vars(line) | {"holds": line.holds} for line in lines], indent=1))
    else:
        _table(lines)
    if not all(line.holds for line in lines):
        raise typer.Exit(1)


def _table(lines: list[Check]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("", "published", "simulated", "tolerance", "unit", "")
    for line in lines:
        limits = f"{line.low:,g} … {line.high:,g}" if line.high < 1e6 else f"≥ {line.low:,g}"
        figure = f"{line.simulated:,.0f}" if abs(line.simulated) >= 1000 else f"{line.simulated:.2f}"
        table.add_row(
            line.what, line.published, figure, limits, line.unit, "ok" if line.holds else "[red]outside[/red]"
        )
    Console().print(table)
    typer.echo(f"{sum(line.holds for line in lines)} of {len(lines)} within tolerance")
