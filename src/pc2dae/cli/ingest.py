"""`pc2dae ingest`: reads instrument files, writes one flight, and prints a summary of each file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from pc2dae.cli.app import again, app
from pc2dae.cli.options import LOADING, META, OFFSET, SALVAGE, ZONE, parse_metadata, parse_offsets
from pc2dae.cli.output import FORCE, check_output

if TYPE_CHECKING:
    from pc2dae.align.ingest_report import IngestReport


@app.command()
def ingest(
    logs: list[Path] = typer.Argument(
        ..., metavar="LOGS...", help="Log files or folders of them; zip and gzip are read."
    ),
    out: Path | None = typer.Option(
        None, "-o", "--out", help="The flight: .nc, .csv, .ict, .zarr; for other tools .geojson, .kml."
    ),
    suite: str | None = typer.Option(
        None, help="A suite's TOML file or a preset. Default: from the instruments found."
    ),
    zone: str | None = ZONE,
    calibration: list[Path] = typer.Option(
        [], help="File of `pc2dae calibrate`, or a factory sheet in place of the one beside a board's log; repeatable."
    ),
    compensation: Literal["aan-803", "equation-1"] | None = typer.Option(
        None, help="Of electrochemical cells; equation-1, the paper's, needs its coefficients on the calibration sheet."
    ),
    correct_loading: bool = LOADING,
    offset: list[str] = OFFSET,
    meta: list[str] = META,
    salvage: bool = SALVAGE,
    force: bool = FORCE,
    as_json: bool = typer.Option(False, "--json", help="Print the table as JSON."),
) -> None:
    """Recognise instrument logs, align them to one clock and grid, flag, compensate.

    Example: pc2dae ingest flight_001/ -o flight_001.nc
    """
    import json

    from pc2dae import ingestion
    from pc2dae.flight.store import WRITE_ONLY, check_target, write_flight

    if out is not None:
        check_target(out)
        check_output(out, inputs=[*logs, *calibration], force=force)
    offsets, metadata = parse_offsets(offset), parse_metadata(meta)
    flight, intake = ingestion.ingest(
        logs,
        suite=suite,
        zone=zone,
        calibration=calibration,
        compensation=compensation,
        correct_loading=correct_loading,
        offsets=offsets,
        metadata=metadata,
        salvage=salvage,
    )
    if out is not None:
        write_flight(flight, out)
    if as_json:
        typer.echo(json.dumps(intake.as_dict() | {"flight": str(out) if out is not None else None}, indent=2))
        return
    _show(intake, flight.sizes["time"], str(flight["time"].values[0])[:19], str(flight["time"].values[-1])[:19])
    if out is not None:
        typer.echo(f"written: {out}")
        described = again(suite=suite) if out.suffix.lower() == ".csv" else ""
        if out.suffix.lower() not in WRITE_ONLY:
            typer.echo(f"next: pc2dae inspect {out}{described}")
    else:
        typer.echo("nothing written; add -o flight.nc")


def _show(intake: IngestReport, samples: int, first: str, last: str) -> None:
    """Print the table in eighty columns, then repairs and ignored files."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    title = f"suite {intake.suite}: {samples:,} samples, {first} to {last} UTC"
    table = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    table.add_column("file", no_wrap=True, max_width=20)
    table.add_column("instrument", no_wrap=True)
    for name in ("rows", "used", "Hz", "clock, s", "gaps, s"):
        table.add_column(name, justify="right", no_wrap=True)
    for s in intake.sources:
        drift = f" {s.clock_drift_ppm:+.0f} ppm" if s.clock_drift_ppm else ""
        offset = "not found" if s.clock_offset_s is None else f"{s.clock_offset_s:+.2f}{drift}"
        gaps = f"{s.gaps} ≤ {s.longest_gap_s:.0f}" if s.gaps else "0"
        rate = "" if s.rate_hz is None else f"{s.rate_hz:g}"
        table.add_row(s.file, s.instrument, f"{s.rows:,}", f"{s.rows_used:,}", rate, offset, gaps)
    console.print(table)
    for s in intake.sources:
        missing = f"clock: {s.clock_by} (if known, --offset {s.instrument}=SECONDS)"
        clock = f"clock by {s.clock_by}" if s.clock_offset_s is not None else missing
        console.print(f"{s.instrument}: {'; '.join((clock, *s.repairs))}")
    for file, reason in intake.ignored:
        console.print(f"ignored {file}: {reason}")
    for note in intake.notes:
        console.print(note)
    if intake.response_delay_s:
        late = ", ".join(f"{name} {delay:+g}" for name, delay in intake.response_delay_s.items())
        console.print(f"response delay in s, reported and not applied: {late}")
