"""`pc2dae export`: a trained model as one ONNX file for the drone."""

from __future__ import annotations

from pathlib import Path

import typer

from pc2dae.cli.app import app
from pc2dae.cli.output import FORCE, check_output


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
