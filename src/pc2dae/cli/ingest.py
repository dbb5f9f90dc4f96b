"""`pc2dae ingest`: instrument files in, one flight out, and a table of what happened to each file."""

from __future__ import annotations

from pathlib import Path

import typer

from pc2dae.cli.app import app


@app.command()
def ingest(
    logs: list[Path] = typer.Argument(
        ..., metavar="LOGS...", help="Log files or folders of them; zip and gzip are read."
    ),
    out: Path | None = typer.Option(None, "-o", "--out", help="The flight: .nc, .csv, .ict or .zarr."),
    suite: str | None = typer.Option(
        None, help="A suite's TOML file or a preset. Default: from the instruments found."
    ),
    zone: str | None = typer.Option(
        None, help='Time zone of stamps that carry none: "UTC", "-05:00", "America/Regina".'
    ),
    calibration: Path | None = typer.Option(None, help="Calibration sheet in place of the one beside a board's log."),
    as_json: bool = typer.Option(False, "--json", help="Print the table as JSON."),
) -> None:
    """Recognise instrument logs, align them to one clock and grid, flag, compensate.

    Example: pc2dae ingest flight_001/ -o flight_001.nc
    """
    import json

    from pc2dae import pipeline
    from pc2dae.flight.store import write_flight

    flight, intake = pipeline.ingest(logs, suite=suite, zone=zone, calibration=calibration)
    if out is not None:
        write_flight(flight, out)
    if as_json:
        typer.echo(json.dumps(intake.as_dict() | {"flight": str(out) if out is not None else None}, indent=2))
        return
    _show(intake, flight.sizes["time"], str(flight["time"].values[0])[:19], str(flight["time"].values[-1])[:19])
    if out is not None:
        typer.echo(f"written: {out}")
        typer.echo(f"next: pc2dae inspect {out}")
    else:
        typer.echo("nothing written; add -o flight.nc")


def _show(intake: object, samples: int, first: str, last: str) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from pc2dae.flight.intake import Intake

    assert isinstance(intake, Intake)
    console = Console()
    table = Table(title=f"suite {intake.suite}: {samples:,} samples, {first} to {last} UTC", title_justify="left")
    for name, justify in (
        ("file", "left"),
        ("instrument", "left"),
        ("rows", "right"),
        ("used", "right"),
        ("Hz", "right"),
        ("clock, s", "right"),
        ("gaps", "right"),
        ("repairs", "left"),
    ):
        table.add_column(name, justify="right" if justify == "right" else "left", overflow="fold")
    for s in intake.sources:
        offset = "not found" if s.clock_offset_s is None else f"{s.clock_offset_s:+.2f}"
        drift = f" {s.clock_drift_ppm:+.0f} ppm" if s.clock_drift_ppm else ""
        gaps = f"{s.gaps} (≤ {s.longest_gap_s:.0f} s)" if s.gaps else "0"
        clock = s.clock_by if s.clock_offset_s is None else f"by {s.clock_by}"
        table.add_row(
            escape(s.file),
            s.instrument,
            f"{s.rows:,}",
            f"{s.rows_used:,}",
            f"{s.rate_hz:g}",
            f"{offset}{drift}\n[dim]{escape(clock)}[/dim]",
            gaps,
            escape("\n".join(s.repairs)),
        )
    console.print(table)
    for file, reason in intake.ignored:
        console.print(f"ignored {escape(file)}: {escape(reason)}", highlight=False)
    for note in intake.notes:
        console.print(escape(note), highlight=False)
    if intake.response_delay_s:
        late = ", ".join(f"{name} {delay:+g}" for name, delay in intake.response_delay_s.items())
        console.print(f"response delay in s, reported and not applied: {escape(late)}", highlight=False)
