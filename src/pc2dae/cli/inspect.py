"""`pc2dae inspect`: contents and quality of a flight."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pc2dae.cli.app import again, app
from pc2dae.cli.console import table_of
from pc2dae.cli.options import EXCLUDE, KEEP, SUITE, ZONE
from pc2dae.cli.output import FORCE, check_output

if TYPE_CHECKING:
    from rich.console import Console

_PICTURES = (".png", ".svg")
# The statistics of the paper's campaign, with their labels in the table.
PAPER = {
    "samples": ("samples", "7,894"),
    "negative_pct": ("negative values, all channels, %", "30.8"),
    "negative_bc_pct": ("negative values, bc, %", "about 40"),
    "negative_gas_pct": ("negative values, gas, %", "about 34"),
    "negative_co2_pct": ("negative values, co2, %", "about 0"),
    "missing_pct": ("missing, %", "< 4"),
    "below_detection_pm_pct": ("pm below detection, %", "66.8"),
    "speed_mean_m_s": ("speed, mean, m/s", "1.78"),
    "speed_median_m_s": ("speed, median, m/s", "0.21"),
    "speed_max_m_s": ("speed, greatest, m/s", "8.6"),
    "moving_pct": ("time above 0.1 m/s, %", "63.1"),
    "gps_ekf_difference_pct": ("GPS against EKF speed, %", "0.4"),
    "ec_t90_q1_s": ("electrochemical t90, first quartile, s", "3"),
    "ec_t90_median_s": ("electrochemical t90, median, s", "4"),
    "ec_t90_q3_s": ("electrochemical t90, third quartile, s", "12"),
    "blur_mean_m": ("blur at mean speed, m", "7"),
    "blur_max_m": ("blur at maximum speed, m", "34"),
    "air_temperature_min": ("temperature, minimum, degC", "15"),
    "air_temperature_max": ("temperature, maximum, degC", "35"),
    "relative_humidity_min": ("humidity, least, %", "30"),
    "relative_humidity_max": ("humidity, greatest, %", "70"),
}


@app.command()
def inspect(
    flights: list[Path] = typer.Argument(..., metavar="FLIGHT...", help="Flights (.nc, .csv, .ict) or log folders."),
    as_json: bool = typer.Option(False, "--json", help="Print everything as JSON."),
    picture: Path | None = typer.Option(None, "-p", "--picture", help="Overview plot (PNG); or a folder of them."),
    suite: str | None = SUITE,
    zone: str | None = ZONE,
    keep: list[str] = KEEP,
    exclude: list[str] = EXCLUDE,
    force: bool = FORCE,
) -> None:
    """Summarise a flight: gaps, stale and negative shares, noise, response, speed, a verdict per family.

    Example: pc2dae inspect flight_001.nc --picture first_look.png
    """
    import json

    from rich.console import Console

    from pc2dae import ingestion
    from pc2dae.errors import Pc2daeError, require
    from pc2dae.inspection import campaign, inspect_flight

    if picture is not None and len(flights) == 1 and picture.suffix.lower() not in _PICTURES:
        raise Pc2daeError(f"'{picture.name}' is not a picture format", hint=f"use one of {', '.join(_PICTURES)}")
    if picture is not None and len(flights) == 1:
        check_output(picture, inputs=flights, force=force)
    if picture is not None:
        require("matplotlib", extra="figures")
    opened = [ingestion.open_flight(path, suite=suite, zone=zone) for path in flights]
    reports = [inspect_flight(flight, keep=keep, exclude=exclude) for flight in opened]
    together = campaign(opened, reports)
    drawn = _draw(opened, picture, force) if picture is not None else []
    if as_json:
        whole = {"flights": reports, "together": together, "pictures": [str(path) for path in drawn]}
        typer.echo(json.dumps(whole, indent=2))
        return
    console = Console()
    for report in reports:
        _show_flight(console, report)
    _show_together(console, together, against_paper=reports[0]["suite"] == "black-kite")
    for path in drawn:
        typer.echo(f"written: {path}")
    if picture is None:
        typer.echo(f"next: pc2dae inspect {flights[0]}{again(suite=suite, zone=zone)} --picture first_look.png")


def _draw(flights: list[Any], picture: Path, force: bool) -> list[Path]:
    from pc2dae.report.first_look import first_look

    if len(flights) == 1:
        first_look(flights[0], picture)
        return [picture]
    paths = [picture / f"{flight.attrs.get('id', number)}.png" for number, flight in enumerate(flights)]
    for path in paths:
        check_output(path, force=force)
    for flight, path in zip(flights, paths, strict=True):
        first_look(flight, path)
    return paths


def _show_flight(console: Console, report: dict[str, Any]) -> None:
    from rich.markup import escape

    minutes = report["duration_s"] / 60
    head = (
        f"{escape(report['id'])} ({report['level']}): {report['rows']:,} rows, {minutes:.1f} min from {report['start']}"
        + (f", {report['movement']}" if report["movement"] != "unknown" else "")
    )
    columns = ("channel", "miss", "stale", "bad", "neg", "median", "99 %", "σ", "lag 1", "t90")
    table = table_of(*columns, title=head, left=("channel",), wrapped=("channel",))
    family = None
    for name, c in report["channels"].items():
        if family not in (None, c["family"]):
            table.add_section()
        family = c["family"]
        table.add_row(
            f"{name} [dim]{c['units']}[/dim]",
            *(_share(c[key]) for key in ("missing", "stale", "bad", "negative")),
            *(_number(c[key]) for key in ("median", "p99", "noise_sigma")),
            "" if c["noise_lag1"] is None else f"{c['noise_lag1']:+.2f}",
            "" if c["t90_s"] is None else f"{c['t90_s']:.1f}±{c['t90_uncertainty_s'] or 0:.1f}",
        )
    console.print(table)
    legend = "miss(ing), stale, bad, neg(ative) in %; σ and lag 1 of noise; t90 found in s"
    console.print(legend, style="dim", highlight=False)
    _show_responses(console, report["responses"])
    _show_calibrations(console, report["channels"])
    for gap in report["gaps"]:
        console.print(f"gap: no data for {gap['duration_s']:.0f} s from {gap['start']}", highlight=False)
    if report["filter_loaded"]:
        note = "(black carbon reads too low, see --correct-loading)"
        console.print(f"filter loaded {note}: {report['filter_loaded']} of samples", highlight=False)
    for line in report["warnings"]:
        console.print(f"warning: {escape(line)}", highlight=False, soft_wrap=True)
    for verdict in report["families"]:
        word = "[green]kept[/green]" if verdict["kept"] else "[red]excluded[/red]"
        console.print(f"{verdict['family']:>6} {word}: {escape(verdict['reason'])}", highlight=False)


def _show_responses(console: Console, responses: dict[str, dict[str, Any]]) -> None:
    from rich.markup import escape

    text = ("channel", "known from, or why not corrected")
    table = table_of(text[0], "t90, s", "delay, s", text[1], title="lag correction", left=text, wrapped=text)
    for name, r in responses.items():
        if not r["corrected"]:
            table.add_row(name, "", "", f"not corrected: {escape(r['reason'])}")
            continue
        t90, delay = (f"{r[f'{key}_s']:.1f}±{r[f'{key}_uncertainty_s']:.1f}" for key in ("t90", "delay"))
        shape = "" if r["kernel"] == "first_order" else f", {r['kernel']}"
        table.add_row(name, t90, delay, escape(f"{r['source']}{shape}{'; ' if r['note'] else ''}{r['note']}"))
    console.print(table)


def _show_calibrations(console: Console, channels: dict[str, dict[str, Any]]) -> None:
    """Which channels were calibrated, with what."""
    from rich.markup import escape

    for label in dict.fromkeys(c["calibration"] for c in channels.values() if c["calibration"] is not None):
        names = ", ".join(name for name, c in channels.items() if c["calibration"] == label)
        console.print(f"calibrated ({escape(label)}): {names}", highlight=False, soft_wrap=True)


def _show_together(console: Console, together: dict[str, float], *, against_paper: bool) -> None:
    columns = ("", "here", "paper") if against_paper else ("", "here")
    table = table_of(*columns, title="all flights together", left=("",), wrapped=("",))
    for key, value in together.items():
        words, paper = PAPER.get(key, (key.replace("_pct", ", %").replace("_", " "), ""))
        row = [words, f"{value:,.0f}" if key == "samples" else f"{value:.3g}"]
        table.add_row(*row, *([paper] if against_paper else []))
    console.print(table)


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
