"""`pc2dae simulate`: a campaign with known truth, as the files its instruments make."""

from __future__ import annotations

from pathlib import Path

import typer

from pc2dae.cli.app import app


@app.command()
def simulate(
    folder: Path = typer.Argument(..., metavar="DIR", help="Where the campaign goes (with --check: where it is)."),
    flights: int | None = typer.Option(None, help="Number of flights. Default: the paper's 5."),
    minutes: float | None = typer.Option(None, help="Length of each flight. Default: 7,894 s over 5 flights."),
    seed: int = typer.Option(1, help="Same seed, same bytes."),
    suite: str = typer.Option("black-kite", help="The payload; only black-kite has simulated instruments."),
    workers: int = typer.Option(1, min=1, help="Flights made at the same time."),
    perfect_sheets: bool = typer.Option(False, "--perfect-sheets", help="Hand out each cell's true calibration sheet."),
) -> None:
    """Simulate flights through smoke: instrument files, and the truth beside them.

    Example: pc2dae simulate campaign --flights 2 --minutes 10 --seed 3
    """
    from rich.console import Console
    from rich.progress import Progress

    from pc2dae.errors import SuiteError, nearest
    from pc2dae.simulate import plan_campaign, write_campaign

    if suite != "black-kite":
        raise SuiteError(f"no instruments are simulated for suite '{suite}'", hint=nearest(suite, ["black-kite"]))
    plans = plan_campaign(seed, flights=flights, minutes=minutes, perfect_sheets=perfect_sheets)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("flying", total=len(plans))
        for _ in write_campaign(plans, folder, workers=workers):
            progress.advance(task)
    total = sum(plan.samples for plan in plans)
    typer.echo(f"{len(plans)} flights, {total:,} samples at 1 Hz, seed {seed}: {folder}")
    typer.echo(f"next: pc2dae ingest {folder}/flight_001 -o flight_001.nc")
