"""`pc2dae plumes`: plume encounters, excess and emission ratios, with uncertainty."""

from __future__ import annotations

from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pc2dae.cli.app import again, app

if TYPE_CHECKING:
    from rich.console import Console

    from pc2dae.plumes import Survey


@app.command()
def plumes(
    flight: Path = typer.Argument(..., help="A clean flight; a raw one works too, its uncertainties are larger."),
    matched: bool = typer.Option(False, "--matched", help="Match response times of all species before ratios."),
    suite: str | None = typer.Option(None, help="A suite's TOML file or a preset, for files without one."),
    as_json: bool = typer.Option(False, "--json", help="Print all encounters and ratios as JSON."),
) -> None:
    """Find plumes: onset, end, peak and excess per channel, emission ratios and combustion efficiency with uncertainty.

    Example: pc2dae plumes clean.nc --matched
    """
    import json

    from rich.console import Console

    from pc2dae.pipeline import open_flight
    from pc2dae.plumes import survey

    found = survey(open_flight(flight, suite=suite), matched=matched)
    if as_json:
        tables = {"encounters": found.encounters, "begun": found.begun, "ratios": found.ratios}
        text = {k: t.to_json(orient="records", date_format="iso", double_precision=8) for k, t in tables.items()}
        found_tables = {key: json.loads(value) for key, value in text.items()}
        typer.echo(json.dumps(found_tables | {"assumed_gains": found.assumed_gains}, indent=2))
        return
    console = Console()
    _show_ratios(console, found)
    _show_encounters(console, found)
    for row in found.begun.to_dict("records"):
        high = f"+{_number(row['peak'])} {row['units']} for {row['duration_s']:.0f} s"
        why = "smoke before the record began or a settling sensor; not counted"
        typer.echo(f"{row['channel']} is elevated from its first sample ({high}): {why}")
    typer.echo(f"next: pc2dae report {flight}{again(suite=suite)} -o report.html")


def _show_ratios(console: Console, found: Survey) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from pc2dae.plumes.survey import LEAST_CORRELATION, without_slope
    from pc2dae.plumes.systematic import assumed_text

    ratios = found.ratios[found.ratios.scope == "flight"]
    if ratios.empty:
        why = "no smoke, fewer than two of CO, CO₂, BC, NOₓ rose in it, or their units cannot be compared"
        console.print(f"no emission ratio: {why}", highlight=False, soft_wrap=True)
        return
    count = len(found.intervals)
    table = Table(
        title=f"emission ratios over {count} encounter{'' if count == 1 else 's'} with smoke",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for name in ("ratio", "by", "value", "± 1σ", "random", "systematic", "units"):
        table.add_column(name, justify="left" if name in ("ratio", "by", "units") else "right")
    for row in ratios.to_dict("records"):
        table.add_row(
            _ratio_name(str(row["ratio"])),
            str(row["method"]),
            f"{row['value']:.4g}",
            *(f"{row[name]:.2g}" for name in ("sigma", "random_sigma", "systematic_sigma")),
            str(row["units"]),
        )
    console.print(table)
    if found.assumed_gains:
        console.print(assumed_text(found.assumed_gains), highlight=False, soft_wrap=True)
    for name in without_slope(ratios):
        why = f"the two hardly rise together (r below {LEAST_CORRELATION:g})"
        console.print(f"no slope for {_ratio_name(name)}: {why}", highlight=False)


def _ratio_name(name: str) -> str:
    return name.upper() if name == "mce" else " / ".join(f"Δ{part.upper()}" for part in name.split("/"))


def _show_encounters(console: Console, found: Survey) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    if found.encounters.empty:
        console.print("no channel rises above its background for 3 s or more", highlight=False)
        return
    strongest = found.encounters.loc[found.encounters.groupby("channel", sort=False)["peak"].idxmax()]
    counts = found.encounters["channel"].value_counts().to_dict()
    title = "encounters of each channel, and its strongest (excess: integral over background)"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("channel", "n", "onset", "s", "peak", "SNR", "excess × s", "± %"):
        table.add_column(name, justify="left" if name in ("channel", "onset") else "right", no_wrap=True)
    for row in strongest.to_dict("records"):
        table.add_row(
            f"{row['channel']} [dim]{row['units']}[/dim]",
            str(counts[row["channel"]]),
            str(row["onset"])[11:19],
            f"{row['duration_s']:.0f}",
            _number(row["peak"]),
            f"{row['snr']:.0f}" if isfinite(row["snr"]) else "–",
            _number(row["excess"]),
            _percent(row["excess_sigma"], row["excess"]),
        )
    console.print(table)


def _percent(sigma: float, value: float) -> str:
    """A relative uncertainty [%], or – where it is not known."""
    share = 100 * sigma / abs(value) if value else nan
    return f"{share:.1f}" if share >= 0.05 else f"{share:.1g}" if isfinite(share) else "–"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
