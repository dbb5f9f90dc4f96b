"""`pc2dae train`: flights in, a model's folder out; `pc2dae export`: that folder as one ONNX file for the drone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pc2dae.cli.app import again, app
from pc2dae.cli.options import SUITE
from pc2dae.cli.output import FORCE, check_output

if TYPE_CHECKING:
    from pc2dae.training.fit import Look


@app.command()
def train(
    flights: list[Path] = typer.Argument(None, metavar="FLIGHT...", help="Flights (.nc), plain CSVs or log folders."),
    out: Path | None = typer.Option(None, "-o", "--out", metavar="MODEL", help="Folder; the same command resumes it."),
    variant: str = typer.Option("lean", help="adaptive, lean, wide, or a baseline: unet, lstm-ae, cbdae+softplus …"),
    begin: str | None = typer.Option(
        None, "--from", help="pretrained (default, if there are shipped weights for these channels) or scratch."
    ),
    objective: str | None = typer.Option(
        None,
        help="recorrupted (default, needs no truth); paper: undo added noise (default of the paper's networks); "
        "blindspot: predict hidden samples; truth: simulated truth as target.",
    ),
    truth: list[Path] = typer.Option([], help="Truth file of each flight, in order (objective truth); repeatable."),
    suite: str | None = SUITE,
    seed: int = typer.Option(0, help="Same seed, same flights, same bytes."),
    mass: float = typer.Option(0.0, min=0, help="Weight of the window-mean term of the loss; the paper has none."),
    spectral: float = typer.Option(0.0, min=0, help="Weight of the low-frequency spectrum term; the paper has none."),
    literal_sums: bool = typer.Option(
        False, "--literal-sums", help="The paper's loss as printed, sums over time and channels; lean and wide only."
    ),
    steps: int | None = typer.Option(None, min=1, help="Longest run; it stops earlier without improvement."),
    describe: bool = typer.Option(False, "--describe", help="Print the network's parameters per component and stop."),
) -> None:
    """Train a network on flights; well under a minute on one core.

    Example: pc2dae train flight_001.nc flight_002.nc flight_003.nc -o mymodel --variant lean
    """
    if describe:
        _describe(variant, suite or "black-kite")
        return
    if not flights or out is None:
        raise typer.BadParameter("name one or more flights and -o MODEL (or --describe)")
    _check_names(variant, objective, begin, literal_sums=literal_sums)
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    import pc2dae
    from pc2dae.edge.card import parse_card
    from pc2dae.flight.netcdf import read_netcdf

    opened = [pc2dae.open_flight(path, suite=suite) for path in flights]
    truths = [read_netcdf(path) for path in truth] or None
    was_done, was_begun = (out / "card.json").exists(), (out / "state.safetensors").exists()
    columns = (TextColumn("training"), BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=steps)

        def report(look: Look) -> None:
            progress.update(
                task, completed=look.step, description=f"step {look.step}, held-out loss {look.held_out:.4f}"
            )

        pc2dae.fit(
            opened,
            variant=variant,
            objective=objective,
            begin=begin,
            truths=truths,
            out=out,
            seed=seed,
            mass=mass,
            spectral=spectral,
            literal_sums=literal_sums,
            steps=steps,
            report=report,
        )
    card = parse_card((out / "card.json").read_bytes(), where="card.json")
    how = "already trained, nothing to do" if was_done else "resumed and finished" if was_begun else "trained"
    typer.echo(f"{variant} on {len(flights)} flight{'s' if len(flights) > 1 else ''}, seed {seed}: {how}")
    typer.echo(_outcome(card, out))
    typer.echo(f"next: pc2dae denoise {flights[0]}{again(suite=suite)} -o clean.nc --model {out}")


@app.command()
def export(
    model: Path = typer.Argument(..., metavar="MODEL", help="The folder of a training run."),
    out: Path = typer.Option(..., "-o", "--out", help="The ONNX file; its card is written beside it."),
    force: bool = FORCE,
) -> None:
    """Write a trained model as ONNX, verified against torch; it runs with numpy and onnxruntime alone.

    Example: pc2dae export mymodel -o mymodel.onnx
    """
    from pc2dae.training.export import export_checkpoint

    for target in (out, out.with_suffix(".card.json")):
        check_output(target, force=force)
    typer.echo(f"{out}: {export_checkpoint(model, out)}")
    typer.echo(f"next: pc2dae denoise flight.nc -o clean.nc --model {out}")


def _check_names(variant: str, objective: str | None, begin: str | None, *, literal_sums: bool) -> None:
    """Refuse unknown names and options that do not fit before any flight is read."""
    from pc2dae.errors import ModelError, nearest
    from pc2dae.training.networks import BUILDERS
    from pc2dae.training.objectives import OBJECTIVES
    from pc2dae.training.run import TrainingPlan
    from pc2dae.weights import SHIPPED

    if variant not in (*BUILDERS, "adaptive"):
        raise ModelError(f"unknown network '{variant}'", hint=nearest(variant, [*BUILDERS, "adaptive"]))
    if objective not in (None, *OBJECTIVES):
        raise ModelError(f"unknown objective '{objective}'", hint=nearest(str(objective), OBJECTIVES))
    if begin not in (None, "pretrained", "scratch"):
        raise ModelError(f"unknown --from '{begin}'", hint=nearest(str(begin), ["pretrained", "scratch"]))
    if variant == "adaptive" and begin == "scratch":
        raise ModelError("adaptive is not trained from scratch on flights, but on simulated suites",
                         hint="use --from pretrained, or see docs/adaptive.md for pretraining")  # fmt: skip
    if variant not in SHIPPED and begin == "pretrained":
        raise ModelError(f"'{variant}' has no pretrained weights", hint="use --from scratch")
    TrainingPlan(variant, literal_sums=literal_sums)  # refuses networks without the paper's loss


def _outcome(card: dict[str, Any], out: Path) -> str:
    if "is_tuned" in card["metrics"]:
        from pc2dae.training.finetune import summary

        return summary(card)
    best = card["metrics"]
    return f"best held-out loss {best['held_out_loss']:.4f} at step {best['step']}; see {out}/loss.png"


def _describe(variant: str, suite: str) -> None:
    from rich.console import Console
    from rich.table import Table

    from pc2dae.model.pc2dae import count_parameters
    from pc2dae.suite import load_suite
    from pc2dae.training.checkpoint import build_network
    from pc2dae.windows.scaling import Scaler

    payload = load_suite(suite)
    if suite == "black-kite":
        payload = payload.only(["bc", "gas", "co2"])  # the paper's targets; the others are excluded by quality
    ones, three = (1.0,) * len(payload.names), (1.0,) * 3
    network = build_network(variant, payload, Scaler(ones, ones, ones, three, three))
    size = f"{len(payload.names)} channel{'' if len(payload.names) == 1 else 's'}"
    table = Table(title=f"{variant}, {size} of {payload.name}", title_justify="left")
    table.add_column("component")
    table.add_column("parameters", justify="right")
    for name, count in count_parameters(network):
        table.add_row(name, f"{count:,}")
    table.add_row("total", f"{sum(p.numel() for p in network.parameters()):,}", style="bold")
    Console().print(table)
