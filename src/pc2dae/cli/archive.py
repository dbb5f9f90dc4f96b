"""`pc2dae archive`: thousands of flights on a cluster, or on the cores of one machine."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pc2dae.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from rich.progress import Progress

archive = typer.Typer(
    help="Thousands of flights: denoise on a Dask cluster, index, verify, summarise, cross-validate.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.add_typer(archive, name="archive")

WORKERS = typer.Option(2, min=1, help="Workers on this machine, one thread each.")
SCHEDULER = typer.Option(None, metavar="ADDRESS", help="A Dask scheduler to use instead, such as tcp://10.0.0.1:8786.")
MEMORY = typer.Option("auto", help="What a worker may use, such as 4GB; one that needs more is restarted.")
DASHBOARD = typer.Option(False, "--dashboard", help="Dask's own page at http://127.0.0.1:8787 (needs bokeh).")


@archive.command()
def denoise(
    source: Path = typer.Argument(..., metavar="SRC", help="Tree of log folders, .nc, .csv, .ict; or a Zarr store."),
    target: Path = typer.Argument(..., metavar="DST", help="Folder for netCDF files, or NAME.zarr for one store."),
    workers: int = WORKERS,
    scheduler: str | None = SCHEDULER,
    model: str = typer.Option("adaptive", help="As `pc2dae denoise` takes it; a file must be visible to all workers."),
    suite: str | None = typer.Option(None, help="Suite of plain CSVs: a TOML file or a preset."),
    zone: str | None = typer.Option(None, help='Time zone of stamps that carry none: "UTC", "-05:00".'),
    memory: str = MEMORY,
    dashboard: bool = DASHBOARD,
) -> None:
    """Denoise every flight under SRC into DST; run again, it does only what is missing or has changed.

    Example: pc2dae archive denoise campaign clean --workers 2
    """
    from pc2dae.archive.cluster import connected
    from pc2dae.archive.index import write_index
    from pc2dae.archive.place import FAILED, Archive
    from pc2dae.archive.run import denoise_all, pending
    from pc2dae.archive.work import order_of
    from pc2dae.suite import load_suite

    order = order_of(model, suite=None if suite is None else load_suite(suite), zone=zone)
    place = Archive(target.resolve())
    with place.locked():
        place.prepare()
        todo, sources = pending(source, place, order)
        failures = 0
        try:
            if todo:
                with (
                    _progress("starting workers", len(todo)) as (progress, task),
                    connected(workers=workers, scheduler=scheduler, memory=memory, dashboard=dashboard) as client,
                ):
                    progress.update(task, description="denoising flights")
                    for record in denoise_all(todo, place, order, client):
                        progress.advance(task)
                        if record["status"] == FAILED:
                            failures += 1
                            progress.console.print(f"{record['flight']}: {record['error']}", highlight=False)
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
    """Rebuild the table of an archive, index.parquet, from what lies in it.

    Example: pc2dae archive index clean
    """
    from pc2dae.archive.index import write_index
    from pc2dae.archive.place import open_archive

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
    """Compute every hash anew and look for torn, missing, foreign and outdated files; exit code 1 if there are any.

    Example: pc2dae archive verify clean
    """
    import json

    from rich.console import Console
    from rich.table import Table

    from pc2dae.archive.place import open_archive
    from pc2dae.archive.verify import verify as find

    with _progress("hashing flights", None) as (progress, task):
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
            f"{whole:,} flights whole, {len(findings):,} things to look at"
            if findings
            else f"{whole:,} flights, all whole"
        )
    if findings:
        raise typer.Exit(1)


@archive.command()
def summary(
    target: Path = typer.Argument(..., metavar="DST", help="An archive."),
    out: Path = typer.Option(Path("summary.html"), "-o", "--out", help="The page."),
) -> None:
    """Make one page of a whole campaign: coverage calendar, distributions, worst flights, ratios and efficiency.

    Example: pc2dae archive summary clean -o summary.html
    """
    from pc2dae.archive.index import write_index
    from pc2dae.archive.place import open_archive
    from pc2dae.report.campaign_page import write_campaign_page

    write_campaign_page(write_index(open_archive(target)), out, name=target.name)
    typer.echo(f"written: {out}")


@archive.command()
def train(
    source: Path = typer.Argument(..., metavar="SRC", help="Flights, as `archive denoise` takes them."),
    out: Path = typer.Option(..., "-o", "--out", metavar="DIR", help="Models, scores and summary; resumable."),
    variant: list[str] = typer.Option(["lean"], help="As `pc2dae train` takes it; repeat it."),
    folds: int = typer.Option(5, min=2, help="Parts the flights are divided into; each is left out once."),
    seeds: int = typer.Option(1, min=1, help="Trainings of each variant and fold."),
    objective: str = typer.Option("paper", help="paper, blindspot, or truth (simulated flights)."),
    steps: int | None = typer.Option(None, min=1, help="Longest run of each training."),
    suite: str | None = typer.Option(None, help="Suite of plain CSVs: a TOML file or a preset."),
    zone: str | None = typer.Option(None, help='Time zone of stamps that carry none: "UTC", "-05:00".'),
    workers: int = WORKERS,
    scheduler: str | None = SCHEDULER,
    memory: str = MEMORY,
) -> None:
    """Cross-validate by flight: variants × seeds × folds on the cluster, a model per fold and one table of scores.

    Example: pc2dae archive train campaign -o trials --variant lean --variant wide --folds 5 --seeds 3
    """
    import pandas as pd

    import pc2dae.archive.validation as cross
    from pc2dae.archive.cluster import connected
    from pc2dae.archive.sources import find_sources
    from pc2dae.atomic import replacing
    from pc2dae.suite import load_suite

    payload = None if suite is None else load_suite(suite)
    sources = {s.name: s for s in find_sources(source.resolve(), suite=payload, leave_out=out)}
    trials = cross.trials_of(variant, seeds=seeds, folds=folds)
    cross.folds_of(list(sources), folds)  # too many are refused before any work
    files: dict[str, Path] = {}
    tables: list[pd.DataFrame] = []
    failures = 0
    with (
        _progress("reading flights", len(sources)) as (progress, task),
        connected(workers=workers, scheduler=scheduler, memory=memory) as client,
    ):

        def told(name: str, line: str) -> int:
            progress.console.print(f"{name}: {line}", highlight=False)
            return 1

        for name, ready in cross.make_ready(list(sources.values()), out.resolve(), client, suite=payload, zone=zone):
            progress.advance(task)
            if isinstance(ready, Path):
                files[name] = ready
            else:
                failures += told(name, ready)
        truths = {name: truth for name in files if (truth := cross.truth_of(sources[name])) is not None}
        terms = cross.Terms(out.resolve(), files, truths, cross.folds_of(list(files), folds), objective, steps)
        progress.reset(task, total=len(trials), description="training")
        for name, scores in cross.validate(trials, terms, client):
            progress.advance(task)
            if isinstance(scores, pd.DataFrame):
                tables.append(scores)
            else:
                failures += told(name, scores)
    if tables:
        found = pd.concat(tables, ignore_index=True).sort_values([*cross.KEYS, "family", "channel", "metric"])
        summed = cross.summarise(found)
        with replacing(out / "scores.parquet") as temporary:
            found.to_parquet(temporary, index=False)
        with replacing(out / "summary.csv") as temporary:
            summed.to_csv(temporary, index=False, float_format="%.6g")
        _show_summary(summed)
    typer.echo(f"{len(tables)} of {len(trials)} models on {len(files)} flights, {folds} folds: {out}/summary.csv")
    if failures:
        raise typer.Exit(1)


def _show_summary(summed: pd.DataFrame) -> None:
    """Means over held-out flights, families first, then their mean."""
    from rich.console import Console
    from rich.table import Table

    wide = summed.pivot(index=["variant", "family"], columns="metric", values="mean")
    shown = ("mae_improvement", "snr_improvement", "negatives", "smoothness", "hf_reduction")
    metrics = [name for name in shown if name in wide.columns]
    table = Table("variant", "family", *metrics, title="mean over held-out flights", title_justify="left")
    for (name, family), row in wide.iterrows():
        if family != "ratio":
            table.add_row(str(name), str(family), *(f"{row[m]:.2f}" if row[m] == row[m] else "" for m in metrics))
    Console().print(table)


@contextmanager
def _progress(description: str, total: int | None) -> Iterator[tuple[Progress, Any]]:
    """A bar with flights done and time left, on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield progress, progress.add_task(description, total=total)
