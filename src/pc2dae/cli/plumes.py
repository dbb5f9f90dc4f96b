"""`pc2dae plumes`: plume encounters, excess, emission ratios and emission factors, with uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pc2dae.cli.app import again, app
from pc2dae.cli.console import table_of
from pc2dae.cli.options import SUITE
from pc2dae.cli.output import FORCE, check_output

if TYPE_CHECKING:
    import xarray as xr
    from rich.console import Console
    from rich.table import Table

    from pc2dae.arrays import Array
    from pc2dae.plumes import Ratio, Survey

_LEFT = ("ratio", "by", "units", "species", "channel", "onset", "scope")  # columns of text


@app.command()
def plumes(
    flights: list[Path] = typer.Argument(
        ..., metavar="FLIGHT...", help="Clean flights; raw ones work too. Several are one campaign."
    ),
    background: str = typer.Option("running", help="running, percentile[:P], clean-air or stated (in the suite)."),
    clean_air: list[str] = typer.Option(
        [], metavar="START/END", help="A period of clean air, which the background is drawn through; repeatable."
    ),
    ratio: list[str] = typer.Option(
        [], metavar="A/B", help="A further ratio of two species or channels, as so2/co2; repeatable."
    ),
    threshold: float = typer.Option(
        4.5, help="Of an encounter, in standard deviations of the air outside plumes, noise included."
    ),
    fuel_carbon: float = typer.Option(0.50, help="Carbon mass fraction of the dry fuel, for emission factors."),
    fuel_carbon_uncertainty: float = typer.Option(0.05, help="Its standard uncertainty."),
    matched: bool = typer.Option(False, "--matched", hidden=True, help="No effect: ratios are always matched."),
    suite: str | None = SUITE,
    out: Path | None = typer.Option(None, "-o", "--out", help="Table of flight and encounters: .csv, .geojson, .kml."),
    force: bool = FORCE,
    as_json: bool = typer.Option(False, "--json", help="Print all tables as JSON."),
) -> None:
    """Find plumes: onset, end, peak and excess, emission ratios, combustion efficiency and emission factors.

    Example: pc2dae plumes clean.nc --fuel-carbon 0.48
    """
    import json

    from rich.console import Console

    from pc2dae.ingestion import open_flight
    from pc2dae.plumes import Fuel, campaign_factors, survey
    from pc2dae.plumes.baselines import parse_period, within_flight
    from pc2dae.plumes.files import check_plumes_target, write_plumes

    if out is not None:
        check_plumes_target(out)
        check_output(out, inputs=flights, force=force)
    fuel = Fuel(fuel_carbon, fuel_carbon_uncertainty)
    opened = [open_flight(path, suite=suite) for path in flights]
    periods = [parse_period(text) for text in clean_air]
    found = []
    for flight in opened:  # a period of one flight of a campaign is not one of the others
        mine = within_flight(periods, flight.variables["time"].values) if len(opened) > 1 else periods
        found.append(
            survey(flight, fuel=fuel, background=background, threshold=threshold, clean_air=mine, ratios=ratio)
        )
    campaign = campaign_factors([one.totals for one in found], fuel) if len(found) > 1 else {}
    if out is not None:
        write_plumes(zip(opened, found, strict=True), out)
    if as_json:
        each = [_as_dict(*one) for one in zip(flights, opened, found, strict=True)]
        together = {"flights": each, "campaign": _campaign_rows(campaign)} if len(each) > 1 else each[0]
        typer.echo(json.dumps(together, indent=2))
        return
    console = Console(highlight=False)
    for path, one in zip(flights, found, strict=True):
        if len(found) > 1:
            console.print(f"[bold]{path}[/bold]", soft_wrap=True)
        _show_ratios(console, one)
        _show_factors(console, one)
        _show_encounters(console, one)
        for row in one.begun.to_dict("records"):
            high = f"+{_number(row['peak'])} {row['units']} for {row['duration_s']:.0f} s"
            why = "smoke before the record began or a settling sensor; not counted"
            typer.echo(f"{row['channel']} is elevated from its first sample ({high}): {why}")
    if campaign:
        _show_campaign(console, campaign)
    if out is not None:
        typer.echo(f"written: {out}")
    typer.echo(f"next: pc2dae report {flights[0]}{again(suite=suite)} -o report.html")


def _as_dict(path: Path, flight: xr.Dataset, found: Survey) -> dict[str, Any]:
    import json

    from pc2dae.plumes.ratios import covariance
    from pc2dae.plumes.table import encounter_table

    tables = {
        "table": encounter_table(flight, found),
        "encounters": found.encounters,
        "begun": found.begun,
        "ratios": found.ratios,
        "emission_factors": found.emission_factors,
    }
    for table in tables.values():  # naive times would be written without Z
        for name in table.select_dtypes("datetime"):
            table[name] = table[name].dt.tz_localize("UTC")
    text = {k: t.to_json(orient="records", date_format="iso", double_precision=15) for k, t in tables.items()}
    rest: dict[str, Any] = {
        "assumed_gains": found.assumed_gains,
        "notes": list(found.notes),
        "background": None if found.background is None else found.background.facts(),
    }
    rest["covariance"] = [
        {"scope": scope, "names": list(results), "matrix": _finite(covariance(list(results.values())))}
        for scope, results in found.results.items() if results
    ]  # fmt: skip
    return {"flight": str(path)} | {key: json.loads(value) for key, value in text.items()} | rest


def _finite(matrix: Array) -> list[list[float | None]]:
    return [[float(x) if isfinite(x) else None for x in row] for row in matrix]


def _show_ratios(console: Console, found: Survey) -> None:
    from pc2dae.plumes.ratio_rows import LEAST_CORRELATION
    from pc2dae.plumes.survey import without_slope
    from pc2dae.plumes.systematic import assumed_text

    ratios = found.ratios[found.ratios.scope == "flight"]
    if found.background is not None:
        console.print(f"background: {found.background.reason}", soft_wrap=True)
    if ratios.empty:
        why = "no encounter, fewer than two of CO, CO₂, BC, NOₓ, PM2.5 rose in it, or their units cannot be compared"
        if found.background is None or found.background.is_good:
            console.print(f"no emission ratio: {why}", soft_wrap=True)
        return
    table = _table(f"emission ratios over {_count(found)} (✓ preferred)",
                   ["ratio", "by", "value", "± 1σ", "random", "syst.", "units"])  # fmt: skip
    for row in ratios.to_dict("records"):
        mark = " ✓" if row["is_preferred"] else ""
        table.add_row(_ratio_name(str(row["ratio"])), f"{row['method']}{mark}", *_figures(row), str(row["units"]))
    console.print(table)
    shares = {str(row["ratio"]): row["share"] for row in ratios.to_dict("records") if row["share"] < 1}
    if shares:
        parts = (f"{_ratio_name(name)} {100 * share:.0f} %" for name, share in shares.items())
        console.print(f"share of samples at which both were measured: {', '.join(parts)}", soft_wrap=True)
    doubted = ratios.groupby("ratio", sort=False).filter(lambda rows: not rows["is_preferred"].any())
    for name, reason in dict(zip(doubted["ratio"], doubted["reason"], strict=True)).items():
        console.print(f"{_ratio_name(str(name))} is not to be relied on: {reason}", soft_wrap=True)
    for name in without_slope(ratios):
        why = f"the two hardly rise together (r below {LEAST_CORRELATION:g})"
        console.print(f"no slope for {_ratio_name(name)}: {why}")
    if found.assumed_gains:
        console.print(assumed_text(found.assumed_gains), soft_wrap=True)


def _show_factors(console: Console, found: Survey) -> None:
    from pc2dae.plumes.emission import NAMES

    factors = found.emission_factors[found.emission_factors.scope == "flight"]
    if len(factors):
        table = _table("emission factors, g per kg of dry fuel",
                       ["species", "value", "± 1σ", "random", "syst."])  # fmt: skip
        for row in factors.to_dict("records"):
            table.add_row(NAMES[str(row["species"])], *_figures(row))
        console.print(table)
    for note in found.notes:
        console.print(note, soft_wrap=True)


def _show_encounters(console: Console, found: Survey) -> None:
    from pc2dae.view.formatting import plus_minus

    if found.encounters.empty:
        console.print("no channel rises above its background for 3 s or more")
        return
    strongest = found.encounters.loc[found.encounters.groupby("channel", sort=False)["peak"].idxmax()]
    counts = found.encounters["channel"].value_counts().to_dict()
    table = _table("encounters of each channel, and its strongest (excess: integral over background)",
                   ["channel", "n", "onset", "s", "peak", "SNR", "excess × s", "± %"])  # fmt: skip
    for row in strongest.to_dict("records"):
        table.add_row(
            f"{row['channel']} [dim]{row['units']}[/dim]",
            str(counts[row["channel"]]),
            str(row["onset"])[11:19],
            f"{row['duration_s']:.0f}",
            plus_minus(row["peak"], row["peak_sigma"]),
            f"{row['snr']:.0f}" if isfinite(row["snr"]) else "–",
            _number(row["excess"]),
            _percent(row["excess_sigma"], row["excess"]),
        )
    console.print(table)


def _show_campaign(console: Console, campaign: dict[str, dict[str, Ratio]]) -> None:
    from pc2dae.plumes.emission import NAMES

    table = _table("emission factors of the campaign, g per kg of dry fuel",
                   ["scope", "species", "value", "± 1σ", "random", "syst."])  # fmt: skip
    for row in _campaign_rows(campaign):
        table.add_row(row["scope"], NAMES[row["species"]], *_figures(row))
    console.print(table)


def _campaign_rows(campaign: dict[str, dict[str, Ratio]]) -> list[dict[str, Any]]:
    from pc2dae.plumes.survey import FACTOR_UNITS

    return [
        {"scope": scope, "species": name, "value": found.value, "sigma": found.sigma, "random_sigma": found.random,
         "systematic_sigma": found.systematic, "units": FACTOR_UNITS}
        for scope, factors in campaign.items() for name, found in factors.items()
    ]  # fmt: skip


def _table(title: str, columns: Sequence[str]) -> Table:
    return table_of(*columns, title=title, left=_LEFT)


def _figures(row: dict[Any, Any]) -> list[str]:
    """Value and its total, random and systematic standard uncertainty."""
    sigmas = (row[name] for name in ("sigma", "random_sigma", "systematic_sigma"))
    return [f"{row['value']:.4g}", *(f"{float(f'{sigma:.2g}'):g}" for sigma in sigmas)]  # 170, not 1.7e+02


def _count(found: Survey) -> str:
    from pc2dae.plumes.ratio_rows import SMOKE

    smoke = found.kinds.count(SMOKE)
    said = "all smoke" if smoke == len(found.kinds) else f"{smoke} of them smoke"
    return f"{len(found.intervals)} encounter{'' if len(found.intervals) == 1 else 's'}, {said}"


def _ratio_name(name: str) -> str:
    return name.upper() if name == "mce" else " / ".join(f"Δ{part.upper()}" for part in name.split("/"))


def _percent(sigma: float, value: float) -> str:
    """A relative uncertainty [%], or – where it is not known."""
    share = 100 * sigma / abs(value) if value else nan
    return f"{share:.1f}" if share >= 0.05 else f"{share:.1g}" if isfinite(share) else "–"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
