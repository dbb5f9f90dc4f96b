"""`pc2dae benchmark`: every method on held-out flights, in the paper's tables and against the truth."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pc2dae.cli.app import app
from pc2dae.cli.console import counted_progress
from pc2dae.cli.output import FORCE, check_folder

if TYPE_CHECKING:
    import pandas as pd

    from pc2dae.benchmark import BenchmarkPlan, ResultTable


@app.command(rich_help_panel="Research")
def benchmark(
    out: Path = typer.Option(..., "-o", "--out", metavar="DIR", help="Folder of results; the same command resumes."),
    quick: bool = typer.Option(False, "--quick", help="5 flights, shipped weights: under 3 minutes."),
    methods: str | None = typer.Option(None, help="Comma-separated: classical, oracle, neural, shipped, or any name."),
    parts: str | None = typer.Option(None, help="Comma-separated: simulated, seen, scarcity, ablation, real, ambient."),
    flights: int | None = typer.Option(None, min=1, help="Held-out simulated flights (20; quick: 5)."),
    seeds: int | None = typer.Option(None, min=1, help="Training seeds (3; quick: 1)."),
    steps: int | None = typer.Option(None, min=1, help="Training steps of every network (900; quick: 150)."),
    data: Path | None = typer.Option(None, help="Folder of real measurements (default: ../shared/data)."),
    workers: int = typer.Option(2, min=1, help="Processes."),
    so_far: bool = typer.Option(False, "--so-far", help="Make tables of the finished part without running anything."),
    force: bool = FORCE,
    as_json: bool = typer.Option(False, "--json", help="Print the tables as JSON."),
) -> None:
    """Score every method on held-out flights, with the truth, with injected noise and on real records.

    Example: pc2dae benchmark --quick -o benchmark
    """
    from rich.console import Console

    from pc2dae import benchmark as room
    from pc2dae.benchmark import FULL, QUICK, plan_of
    from pc2dae.benchmark.plan import missing
    from pc2dae.benchmark.real import shared_data
    from pc2dae.benchmark.task import RESULTS, TIMES
    from pc2dae.benchmark.write import write_tables
    from pc2dae.errors import require
    from pc2dae.paper.signals import write_signals
    from pc2dae.paper.tables import all_tables
    from pc2dae.report import report_benchmark

    for module in ("pyarrow", "matplotlib"):
        require(module, extra="benchmark")
    check_folder(out, RESULTS, TIMES, force=force)
    names, chosen = (tuple(t.split(",")) if t else () for t in (methods, parts))
    plan = plan_of(QUICK if quick else FULL, methods=names, parts=chosen, flights=flights, seeds=seeds, steps=steps)
    folder = data if data is not None else shared_data()
    console = Console(stderr=True)
    for name in missing(plan):
        console.print(f"'{name}' has no weights in this installation: left out")
    if {"real", "ambient"} & set(plan.parts) and folder is None:
        console.print("no real measurements found: tables 7, 9c and 9d are left out")
    results = room.so_far(plan, out, data=folder) if so_far else _watched(plan, out, folder, workers)
    tables = all_tables(results)
    write_tables(tables, out, plan, command=_command(out))
    if "simulated" in plan.parts:
        write_signals(plan, out)
    report_benchmark(out, out / "report.html")
    if as_json:
        typer.echo((out / "tables.json").read_text(encoding="utf-8"))
        return
    for table in tables:
        _shown(table)
    typer.echo(f"written: {out}/results.parquet, tables.md, tables.json")
    typer.echo(f"report: {out}/report.html")


def _command(out: Path) -> str:
    """The command as typed, without local folders."""
    words = [word for word in sys.argv[1:] if not word.startswith("--data=")]
    if "--data" in words:
        del words[words.index("--data") : words.index("--data") + 2]
    return shlex.join(["pc2dae", *("DIR" if word == str(out) else word for word in words)])


def _shown(result: ResultTable) -> None:
    """Print a table at full width even if the terminal is narrower, so that no number is truncated."""
    from rich.console import Console

    table = result.rich()
    terminal = Console()
    least = terminal.measure(table, options=terminal.options.update(width=1000)).minimum
    Console(width=max(terminal.width, least), soft_wrap=True).print(table)


def _watched(plan: BenchmarkPlan, out: Path, data: Path | None, workers: int) -> pd.DataFrame:
    """Run the benchmark with a progress bar and return the results."""
    from pc2dae.benchmark import run

    with counted_progress("starting", None) as (progress, task):

        def report(name: str, done: int, total: int) -> None:
            progress.update(task, description=name, completed=done, total=total)

        return run(plan, out, data=data, workers=workers, report=report)
