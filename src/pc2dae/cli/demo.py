"""`pc2dae demo`: the whole workflow from instrument files to a report, on simulated flights with known truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pc2dae.cli.app import app
from pc2dae.cli.console import table_of
from pc2dae.cli.output import FORCE, check_folder

if TYPE_CHECKING:
    import pandas as pd

_FLIGHTS, _MINUTES, _SEED = 2, 10, 2  # some plumes in about a minute; lean and wide were trained on seed 1
_RIVALS = (
    "bayesshrink",
    "rts",
    "matern",
    "whittaker",
    "savgol",
)  # the strongest filters, and the most common one
_YARDSTICKS = ("raw", "clip", "constant", "truth")
_COLUMNS = {  # fits a terminal of 80 columns
    "mae_improvement": "MAE\nred. %",
    "snr_improvement": "SNR\ndB",
    "peak_bias": "peak\n%",
    "excess_error": "excess\n%",
    "background_bias": "air\nσ",
    "coverage_90": "in\n90 %",
    "negatives": "neg.\n%",
    "smoothness": "smooth\n%",
    "hf_reduction": "HF\n%",
}
_LEGEND = (
    "MAE reduction, SNR gain: higher is better. Peak bias, excess and background (air) error: 0 is best.",
    "in 90 %: truth within the 90 % interval. neg.: negative values.",
    "smooth, HF: blind scores, best for a constant; above the truth's value, signal was lost.",
)


@app.command()
def demo(
    out: Path = typer.Option(Path("demo"), "-o", "--out", metavar="DIR", help="Output folder."),
    force: bool = FORCE,
) -> None:
    """Simulate flights, ingest, inspect, denoise, score against the truth and report, in one go.

    Example: pc2dae demo -o demo
    """
    import time

    from pc2dae.errors import is_installed

    started = time.perf_counter()
    campaign, flight, clean = out / "campaign", out / "flight_001.nc", out / "clean_001.nc"
    check_folder(out, campaign.name, force=force)
    size = ("--flights", _FLIGHTS, "--minutes", _MINUTES, "--seed", _SEED, "--workers", 2)
    again = ["--force"] if campaign.exists() else []
    with_pictures = is_installed("matplotlib")
    _run("simulate", campaign, *size, *(["--draw"] if with_pictures else []), *again)
    _run("ingest", campaign / "flight_001", "-o", flight)
    _run("inspect", flight, *(["--picture", out / "first_look.png", *again] if with_pictures else []))
    _run("denoise", flight, "-o", clean)
    scores = _score(campaign)
    _show(scores)
    _report(clean, campaign / "flight_001.truth.nc", scores, out)
    typer.echo(f"\nmade in {time.perf_counter() - started:.0f} s")
    for path, what in (
        (out / "report.html", "the report: open it in a browser"),
        (clean, "the clean flight"),
        (out / "first_look.png", "a first look at the flight as logged"),
        (campaign / "flight_001.png", "every channel with its truth"),
        (campaign, "the instruments' own files, with the truth beside them"),
        (out / "scores.csv", "every score of every channel"),
    ):
        if path.exists():
            typer.echo(f"  {path}  {what}")
    if not with_pictures:
        typer.echo("two pictures are left out: pip install 'pc2dae[figures]'")


def _run(command: str, *arguments: object) -> None:
    """Print a command and run it."""
    words = [command, *map(str, arguments)]
    typer.secho(f"\n$ pc2dae {' '.join(words)}", fg="cyan", bold=True)
    app(words, standalone_mode=False)


def _score(campaign: Path) -> pd.DataFrame:
    """Every shipped model and the strong filters on every flight, all against the air, whatever they estimate."""
    import pandas as pd
    from rich.console import Console
    from rich.progress import track

    from pc2dae.denoising import denoise
    from pc2dae.flight.netcdf import read_netcdf
    from pc2dae.ingestion import open_flight
    from pc2dae.metrics import score_flight
    from pc2dae.registry import SHIPPED

    folders = sorted(path for path in campaign.iterdir() if path.is_dir())
    methods = [*SHIPPED, *_RIVALS]
    tables = []
    flights = {folder.name: open_flight(folder) for folder in folders}
    truths = {name: read_netcdf(campaign / f"{name}.truth.nc") for name in flights}
    jobs = [(name, method) for name in flights for method in methods]
    for name, method in track(jobs, "scoring", console=Console(stderr=True), transient=True):
        clean = denoise(flights[name], model=method)
        for variable in clean.filter_by_attrs(target="response"):
            clean[variable].attrs["target"] = "ambient"
        table = score_flight(clean, truth=truths[name], with_references=method == methods[-1])
        tables.append(table.assign(flight=name))
    scores: pd.DataFrame = pd.concat(tables, ignore_index=True)
    return scores


def _show(scores: pd.DataFrame) -> None:
    """The score table: a row per method, a column per metric; reference estimates last."""
    from rich.console import Console

    means = scores[(scores["channel"] == "all") & (scores["family"] == "all")]
    wide = means.pivot_table(index="method", columns="metric", values="value")
    title = f"against the air, without noise and lag: mean of families over {scores['flight'].nunique()} flights"
    table = table_of("method", *_COLUMNS.values(), title=f"\n{title}", left=("method",))
    for method in scores["method"].unique():
        row = wide.loc[method].reindex(_COLUMNS).to_numpy()
        cells = ["" if value != value else f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.1f}" for value in row]
        table.add_row(str(method), *cells, style="dim" if method in _YARDSTICKS else None)
    console = Console()
    console.print(table)
    console.print(" ".join(_LEGEND), style="dim", highlight=False)


def _report(clean: Path, truth: Path, scores: pd.DataFrame, out: Path) -> None:
    from pc2dae.atomic import replacing
    from pc2dae.flight.csv import guarded
    from pc2dae.flight.netcdf import read_netcdf
    from pc2dae.flight.store import read_flight
    from pc2dae.report import report

    flight = read_flight(clean)
    with replacing(out / "scores.csv") as temporary:
        guarded(scores).to_csv(temporary, index=False)
    own = scores[scores["flight"] == clean.stem.replace("clean", "flight")].drop(columns="flight")
    report(flight, out / "report.html", truth=read_netcdf(truth), scores=own)
