"""`pc2dae archive`: thousands of flights on a cluster, or on the cores of one machine."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pc2dae.cli.app import app
from pc2dae.cli.console import counted_progress
from pc2dae.cli.options import SUITE, ZONE
from pc2dae.cli.output import FORCE, check_folder, check_output

if TYPE_CHECKING:
    from distributed import Client

archive = typer.Typer(
    help="Thousands of flights: denoise on a Dask cluster, index, verify, summarise, cross-validate.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(archive, name="archive")

WORKERS = typer.Option(2, min=1, help="Workers on this machine, one thread each.")
SCHEDULER = typer.Option(None, metavar="ADDRESS", help="A Dask scheduler to use instead, such as tcp://10.0.0.1:8786.")
MEMORY = typer.Option("auto", help="Memory limit of a worker, such as 4GB; one that exceeds it is restarted.")
DASHBOARD = typer.Option(False, "--dashboard", help="Serve Dask's dashboard at http://127.0.0.1:8787 (needs bokeh).")


@archive.command()
def denoise(
    source: Path = typer.Argument(..., metavar="SRC", help="Tree of log folders, .nc, .csv, .ict; or a Zarr store."),
    target: Path = typer.Argument(
        ..., metavar="DST", help="Folder for netCDF files, or NAME.zarr for zipped Zarr flights."
    ),
    workers: int = WORKERS,
    scheduler: str | None = SCHEDULER,
    model: str = typer.Option("adaptive", help="As in `pc2dae denoise`; a file must be visible to all workers."),
    estimated: str | None = typer.Option(None, "--target", help="As in `pc2dae denoise`: ambient or response."),
    suite: str | None = SUITE,
    zone: str | None = ZONE,
    calibration: list[Path] = typer.Option(
        [], metavar="FILE", help="Calibration from `pc2dae calibrate`, applied to every flight; may be repeated."
    ),
    response: Path | None = typer.Option(
        None, metavar="FILE", help="From `pc2dae response`. Default: pooled over the flights, kept as response.json."
    ),
    memory: str = MEMORY,
    dashboard: bool = DASHBOARD,
    limit_min: float = typer.Option(10.0, min=0.001, help="Time limit for one flight [min]; longer ones fail."),
    force: bool = FORCE,
) -> None:
    """Denoise every flight under SRC into DST; a second run does only what is missing or has changed.

    Example: pc2dae archive denoise campaign clean --workers 2
    """
    from pc2dae.archive.cluster import connected
    from pc2dae.archive.index import write_index
    from pc2dae.archive.layout import FAILED, Archive
    from pc2dae.archive.run import denoise_all, pending, with_pooled_response
    from pc2dae.archive.task import order_of
    from pc2dae.errors import ResponseError
    from pc2dae.suite import load_suite

    payload = None if suite is None else load_suite(suite)
    order = order_of(model, suite=payload, zone=zone, target=estimated, calibration=calibration, response=response)
    place = Archive(target.resolve())
    if not place.markers.exists():
        check_folder(place.root, force=force)
    with place.locked(), ExitStack() as stack:
        place.prepare()

        @cache
        def client() -> Client:
            local = connected(workers=workers, scheduler=scheduler, memory=memory, dashboard=dashboard)
            return stack.enter_context(local)

        try:
            order = with_pooled_response(source, place, order, client, limit_s=60 * limit_min)
        except ResponseError as error:  # flights of several payloads
            typer.echo(f"no response pooled: {error}", err=True)
        todo, sources = pending(source, place, order)
        failures = 0
        try:
            if todo:
                with counted_progress("starting workers", len(todo)) as (progress, task):
                    ready = client()
                    progress.update(task, description="denoising flights")
                    for record in denoise_all(todo, place, order, ready, limit_s=60 * limit_min):
                        progress.advance(task)
                        if record["status"] == FAILED:
                            failures += 1
                            progress.console.print(f"{record['flight']}: {record['error']}", highlight=False)
        except KeyboardInterrupt:
            typer.echo("finished flights are kept; the same command resumes", err=True)
            raise
        finally:
            table = write_index(place)
    done = len(todo) - failures
    typer.echo(
        f"{len(sources):,} flights: {done:,} denoised, {len(sources) - len(todo):,} done before, {failures:,} failed"
    )
    typer.echo(f"written: {target}; index of {len(table):,} flights: {place.index.name}")
    if failures:
        raise typer.Exit(1)
    typer.echo(f"next: pc2dae archive summary {target} -o summary.html")


@archive.command()
def index(
    target: Path = typer.Argument(..., metavar="DST", help="An archive."),
    as_json: bool = typer.Option(False, "--json", help="Print the table as JSON."),
) -> None:
    """Rebuild the table of an archive, index.parquet, from its contents.

    Example: pc2dae archive index clean
    """
    from pc2dae.archive.index import write_index
    from pc2dae.archive.layout import open_archive

    place = open_archive(target)
    table = write_index(place)
    if as_json:
        typer.echo(table.to_json(orient="records", date_format="iso", indent=1))
        return
    counts = ", ".join(f"{count:,} {status}" for status, count in table["status"].value_counts().items())
    typer.echo(f"{len(table):,} flights ({counts}): {place.index}")


@archive.command()
def verify(
    target: Path = typer.Argument(..., metavar="DST", help="An archive."),
    as_json: bool = typer.Option(False, "--json", help="Print what was found as JSON."),
) -> None:
    """Recompute every hash and report damaged, missing, foreign and outdated files; exit code 1 if there are any.

    Example: pc2dae archive verify clean
    """
    import json

    from rich.console import Console
    from rich.table import Table

    from pc2dae.archive.layout import open_archive
    from pc2dae.archive.verify import verify as find

    with counted_progress("hashing flights", None) as (progress, task):
        findings, whole = find(
            open_archive(target), report=lambda n, total: progress.update(task, completed=n, total=total)
        )
    if as_json:
        typer.echo(json.dumps({"whole": whole, "findings": [vars(finding) for finding in findings]}, indent=1))
    else:
        if findings:
            table = Table("", "what", "why")
            for finding in findings:
                table.add_row(finding.kind, finding.what, finding.why)
            Console().print(table)
        typer.echo(
            f"{whole:,} flights intact, {len(findings):,} problems" if findings else f"{whole:,} flights, all intact"
        )
    if findings:
        raise typer.Exit(1)


@archive.command()
def summary(
    target: Path = typer.Argument(..., metavar="DST", help="An archive."),
    out: Path = typer.Option(Path("summary.html"), "-o", "--out", help="The page."),
    force: bool = FORCE,
) -> None:
    """Make one page of a whole campaign: coverage calendar, distributions, worst flights, ratios and efficiency.

    Example: pc2dae archive summary clean -o summary.html
    """
    from pc2dae.archive.index import write_index
    from pc2dae.archive.layout import open_archive
    from pc2dae.report.campaign_page import write_campaign_page

    check_output(out, force=force)
    write_campaign_page(write_index(open_archive(target)), out, name=target.name)
    typer.echo(f"written: {out}")
