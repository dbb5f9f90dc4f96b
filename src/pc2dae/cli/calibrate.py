"""`pc2dae calibrate`: from a co-location, span gas or similar payloads to a calibration file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pc2dae.cli.app import app
from pc2dae.cli.console import table_of
from pc2dae.cli.options import SUITE, ZONE
from pc2dae.cli.output import FORCE, check_output

if TYPE_CHECKING:
    from pc2dae.calibration.curve import Calibration

_EPA = {"met": "met", "not met": "no", "not applicable": "–"}


@app.command()
def calibrate(
    record: Path | None = typer.Argument(None, help="The payload's record: a flight, a plain CSV or a folder of logs."),
    out: Path = typer.Option(..., "-o", "--out", help="The calibration, a JSON file; its page is written beside it."),
    reference: Path | None = typer.Option(None, help="Record of a reference analyser beside it; may be the same file."),
    pair: list[str] = typer.Option([], help="CHANNEL=COLUMN:UNITS, the reference's column of a channel; repeatable."),
    intervals: Path | None = typer.Option(
        None, help="CSV of known air (start, end, channel, value, uncertainty): span gas, zero air."
    ),
    like: list[Path] = typer.Option([], help="Calibration of another payload of the same kind; repeatable."),
    suite: str | None = SUITE,
    zone: str | None = ZONE,
    start: str | None = typer.Option(None, "--from", help="First time used, as in 2025-10-01 or 2025-10-01T08:00Z."),
    end: str | None = typer.Option(None, "--to", help="End of the time used."),
    test_from: str | None = typer.Option(
        None, "--test-from", help="Fit before this time and score after it. Default: score blocks that are left out."
    ),
    force: bool = FORCE,
    as_json: bool = typer.Option(False, "--json", help="Print the calibration as JSON."),
) -> None:
    """Calibrate channels against the air: gain, zero, temperature, humidity, cross-sensitivity, with uncertainty.

    Example: pc2dae calibrate practice/colocation --reference practice/colocation.reference.csv
    --pair o3_b=o3_ppb:ppb -o o3.json
    """
    from pc2dae.calibration.calibrate import Colocation, pooled
    from pc2dae.calibration.curve import Calibration, read_calibration
    from pc2dae.calibration.intervals import GasCalibration
    from pc2dae.colocation import calibrate_in_gas, colocate
    from pc2dae.errors import CalibrationError, is_installed
    from pc2dae.report.calibration_page import write_calibration_page

    page = out.with_suffix(".html")
    if page == out:
        raise CalibrationError(f"{out} is the name of the page", hint=f"write -o {out.with_suffix('.json')}")
    for path in (out, page):
        check_output(path, inputs=[p for p in (record, reference, intervals, *like) if p is not None], force=force)
    others = [read_calibration(path) for path in like]
    found: Calibration | GasCalibration | Colocation
    if record is None:
        found = pooled(others)
    elif intervals is not None:
        found = calibrate_in_gas(record, intervals, units=_pairs(pair), suite=suite, zone=zone, start=start, end=end)
    elif reference is not None:
        found = colocate(
            record, reference, _pairs(pair), suite=suite, zone=zone, start=start, end=end, test_from=test_from,
            like=others,
        )  # fmt: skip
    else:
        raise CalibrationError("there is nothing to calibrate against", hint="add --reference or --intervals")
    calibration = found if isinstance(found, Calibration) else found.calibration
    calibration.write(out)
    write_calibration_page(found, page, name=out.stem)
    if not is_installed("matplotlib"):
        typer.echo("the page has no figures: pip install 'pc2dae[figures]'", err=True)
    if as_json:
        typer.echo(calibration.model_dump_json(indent=1))
        return
    _show(calibration)
    typer.echo(f"written: {out}, {page}")
    typer.echo(f"next: pc2dae denoise flight.nc --calibration {out} -o clean.nc")


def _pairs(texts: list[str]) -> dict[str, str]:
    from pc2dae.errors import CalibrationError

    found = {}
    for text in texts:
        channel, equals, column = text.partition("=")
        if not equals:
            raise CalibrationError(f"--pair {text} is not CHANNEL=COLUMN:UNITS", hint="as in o3_a=o3_ppb:ppb")
        found[channel.strip()] = column.strip()
    return found


def _show(calibration: Calibration) -> None:
    """Print each channel's curve, then its figures on held-out data, in 80 columns."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from pc2dae.report.calibration_page import REMARK, term_rows
    from pc2dae.view.formatting import number, plus_minus

    console = Console(highlight=False)
    console.print(calibration.label)
    table = Table("channel", "term", "coefficient", "unit", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in calibration.channels:
        for k, cells in enumerate(term_rows(calibration, name)):
            table.add_row("" if k else name, *cells)
    console.print(table)
    if not calibration.scores:
        return
    heads = ("held out", "slope", "intercept", "R²", "RMSE", "NRMSE", "MAE", "bias", "90 %", "EPA", "EU %")
    table = table_of(*heads, left=heads[:1], wrapped=heads[:1], lined=False)
    for score in calibration.scores:
        known = {key: np.nan if value is None else value for key, value in score.items()}
        lines = [plus_minus(known[k], known[f"{k}_interval"], digits=1) for k in ("slope", "intercept")]
        figures = [number(known[k], 2) for k in ("r2", "rmse", "nrmse", "mae", "bias", "coverage_90")]
        eu = f"{known['eu_uncertainty_percent']:.0f} ({score['eu'].split()[1]})" if "eu_level" in score else "–"
        label = f"{score['channel']} {score['units']}"
        table.add_row(label, *(text.replace(" ", "") for text in lines), *figures, _EPA[score["epa"]], eu)
    console.print(table)
    cut = [
        f"{s['channel']} {number(s['rmse_bounded'], 2)}" for s in calibration.scores if s["rmse_bounded"] < s["rmse"]
    ]
    if cut:
        console.print(f"RMSE of values cut at the lower bound: {', '.join(cut)}; the table is of values before it.")
    console.print(f"NRMSE and share within the 90 % interval in %; EU: expanded uncertainty (objective). {REMARK}.")
