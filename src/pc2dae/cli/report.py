"""`pc2dae report`: an HTML report of a flight or benchmark."""

from __future__ import annotations

from pathlib import Path

import typer

from pc2dae.cli.app import again, app
from pc2dae.cli.options import SUITE
from pc2dae.cli.output import FORCE, check_output


@app.command()
def report(
    source: Path = typer.Argument(..., metavar="CLEAN|DIR", help="A flight, or the folder of a benchmark."),
    out: Path = typer.Option(Path("report.html"), "-o", "--out", help="The page."),
    truth: Path | None = typer.Option(None, help="Truth of a simulated flight (.truth.nc), to draw and score against."),
    pdf: bool = typer.Option(False, "--pdf", help="Also write the figures as PDF files beside the page."),
    suite: str | None = SUITE,
    force: bool = FORCE,
) -> None:
    """Make one self-contained HTML page of a flight or a benchmark.

    Example: pc2dae report clean.nc -o report.html
    """
    from pc2dae.errors import FlightError, require
    from pc2dae.report import is_benchmark, report_benchmark, slides
    from pc2dae.report import report as write_report

    if out.suffix.lower() not in (".html", ".htm"):
        raise FlightError(f"the page '{out.name}' does not end in .html", hint="for slides add --pdf")
    for target in (out, out.with_suffix(".pdf")) if pdf else (out,):
        check_output(target, inputs=[source, truth], force=force)
    if pdf:
        require("matplotlib", extra="figures")
    if is_benchmark(source):
        if pdf:
            raise FlightError("--pdf draws a flight, and this is a benchmark", hint="print its page from the browser")
        report_benchmark(source, out)
        typer.echo(f"written: {out}")
        return
    from pc2dae.flight.netcdf import read_netcdf
    from pc2dae.ingestion import open_flight

    flight = open_flight(source, suite=suite)
    write_report(flight, out, truth=None if truth is None else read_netcdf(truth))
    typer.echo(f"written: {out}")
    if pdf:
        target = out.with_suffix(".pdf")
        slides(flight, target)
        typer.echo(f"written: {target}")
    if flight.attrs.get("level") != "denoised":
        typer.echo(f"the flight is not denoised yet; next: pc2dae denoise {source}{again(suite=suite)} -o clean.nc")
