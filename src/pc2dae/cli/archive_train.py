"""`pc2dae archive train`: cross-validation by flight over a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pc2dae.cli.archive import MEMORY, SCHEDULER, WORKERS, archive
from pc2dae.cli.console import counted_progress
from pc2dae.cli.options import SUITE, ZONE
from pc2dae.cli.output import FORCE, check_folder

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = ("mae_improvement", "snr_improvement", "negatives", "smoothness", "hf_reduction")


@archive.command()
def train(
    source: Path = typer.Argument(..., metavar="SRC", help="Flights, as for `archive denoise`."),
    out: Path = typer.Option(..., "-o", "--out", metavar="DIR", help="Models, scores and summary; resumable."),
    variant: list[str] = typer.Option(["lean"], help="As in `pc2dae train`; repeatable."),
    folds: int = typer.Option(5, min=2, help="Parts the flights are divided into; each is left out once."),
    seeds: int = typer.Option(1, min=1, help="Training seeds per variant and fold."),
    objective: str | None = typer.Option(None, help="As for `train`: recorrupted (default), paper, blindspot, truth."),
    steps: int | None = typer.Option(None, min=1, help="Maximum number of training steps."),
    suite: str | None = SUITE,
    zone: str | None = ZONE,
    workers: int = WORKERS,
    scheduler: str | None = SCHEDULER,
    memory: str = MEMORY,
    force: bool = FORCE,
) -> None:
    """Cross-validate by flight: variants × seeds × folds on the cluster, a model per fold and one table of scores.

    Example: pc2dae archive train campaign -o trials --variant lean --variant wide --folds 5 --seeds 3
    """
    import pandas as pd

    import pc2dae.archive.validation as cross
    from pc2dae.archive.cluster import connected
    from pc2dae.archive.sources import find_sources
    from pc2dae.atomic import replacing
    from pc2dae.flight.csv import guarded
    from pc2dae.suite import load_suite

    check_folder(out, cross.FLIGHTS, force=force)
    payload = None if suite is None else load_suite(suite)
    sources = {s.name: s for s in find_sources(source.resolve(), suite=payload, leave_out=out)}
    trials = cross.trials_of(variant, seeds=seeds, folds=folds)
    cross.folds_of(list(sources), folds)  # refuse too many folds before any work
    files: dict[str, Path] = {}
    tables: list[pd.DataFrame] = []
    failures = 0
    with (
        counted_progress("reading flights", len(sources)) as (progress, task),
        connected(workers=workers, scheduler=scheduler, memory=memory) as client,
    ):

        def failed(name: str, line: str) -> int:
            progress.console.print(f"{name}: {line}", highlight=False)
            return 1

        for name, ready in cross.make_ready(list(sources.values()), out.resolve(), client, suite=payload, zone=zone):
            progress.advance(task)
            if isinstance(ready, Path):
                files[name] = ready
            else:
                failures += failed(name, ready)
        truths = {name: truth for name in files if (truth := cross.truth_of(sources[name])) is not None}
        terms = cross.Terms(out.resolve(), files, truths, cross.folds_of(list(files), folds), objective, steps)
        progress.reset(task, total=len(trials), description="training")
        for name, scores in cross.validate(trials, terms, client):
            progress.advance(task)
            if isinstance(scores, pd.DataFrame):
                tables.append(scores)
            else:
                failures += failed(name, scores)
    if tables:
        found = pd.concat(tables, ignore_index=True).sort_values([*cross.KEYS, "family", "channel", "metric"])
        summed = cross.summarise(found)
        with replacing(out / "scores.parquet") as temporary:
            found.to_parquet(temporary, index=False)
        with replacing(out / "summary.csv") as temporary:
            guarded(summed).to_csv(temporary, index=False, float_format="%.6g")
        _show_summary(summed)
    typer.echo(f"{len(tables)} of {len(trials)} models on {len(files)} flights, {folds} folds: {out}/summary.csv")
    if failures:
        raise typer.Exit(1)


def _show_summary(summed: pd.DataFrame) -> None:
    """Print means over held-out flights, per family and overall."""
    from rich.console import Console
    from rich.table import Table

    metrics = [name for name in _SHOWN if (summed["metric"] == name).any()]
    table = Table("variant", "family", *metrics, title="mean over held-out flights", title_justify="left")
    means = {(row["variant"], row["family"], row["metric"]): row["mean"] for row in summed.to_dict("records")}
    for variant, family in dict.fromkeys((variant, family) for variant, family, _ in means):
        if family != "ratio":
            found = [means.get((variant, family, metric), float("nan")) for metric in metrics]
            table.add_row(variant, family, *(f"{value:.2f}" if value == value else "" for value in found))
    Console().print(table)
