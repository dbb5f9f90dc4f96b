"""Plumes of real records beside what can be computed by hand or was weighed.

    python benchmarks/plumes_real.py

Before: version 0.1, as measured when these records were first tried; of cut records, version 0.2. By hand: from the
raw columns with the choices named in the row. z: (now − truth)/uncertainty; where the truth is taken from the same
columns, the uncertainty of gains is left out, since they cancel, and the spread of the hand values is added. "Flagged":
the result says that it is not to be relied on, and what to do. The data are not part of the repository.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "real"))
from real_data import ABSENT, DATA

import pc2dae
from pc2dae.benchmark.result_table import Cell, ResultTable
from pc2dae.ingestion import ingest
from pc2dae.plumes import Fuel, Ratio, Survey, survey

Row = tuple[str, str, str, str, str]  # what, before, by hand, now, z
SUITES = Path(__file__).resolve().parents[1] / "tests" / "real" / "suites"
STOVE_CARBON = 0.385  # of the dry fuel, net of the char that was left
BURN = ("2026-06-17T22:36:45", "2026-06-17T23:20:43")  # UTC
CLEAN = (("2026-06-17T20:22:40", "2026-06-17T20:27:50"), ("2026-06-17T23:26:48", "2026-06-17T23:28:28"))
PERCENTILES = (1, 5, 10, 25)
# Records in smoke nearly throughout, and what version 0.2 with the readings as estimate made of them.
CUTS = (
    ("fire and six minutes of air on both sides", ("2026-06-17T22:30:45", "2026-06-17T23:26:43"),
     {"ef co2_fast": "91.4 ± 14", "mce co2_fast": "0.8982 ± 0.014", "ef co2": "285 ± 45", "mce co2": "0.6829 ± 0.047"}),
    ("nothing but the fire", BURN,
     {"ef co2_fast": "none", "mce co2_fast": "none", "ef co2": "none", "mce co2": "none"}),
)  # fmt: skip
BEFORE = {
    "K2A_2": "0.0408 ± 0.0064", "K2A_2, first half": "0.0499 ± 0.0077", "K2A_2, second half": "0.0371 ± 0.006",
    "K20A": "0.0549 ± 0.0085", "HQ_2": "0.0459 ± 0.0073", "HQ_2, second half": "0.059 ± 0.0094",
}  # fmt: skip


def shown(value: float, sigma: float) -> str:
    """A value and its standard uncertainty."""
    return f"{value:.4g} ± {sigma:.2g}"


def result_of(found: Survey, name: str, scope: str = "flight") -> Ratio | None:
    """A ratio by integrals or an emission factor; None if there is none."""
    return found.results.get(scope, {}).get(name)


def row_of(
    what: str, before: str, hand: str, truth: float, found: Survey, name: str, *, scope: str = "flight",
    same_gains: bool = False, spread: float = 0.0,
) -> Row:  # fmt: skip
    """One row; a result that the product flags says so."""
    result, background = result_of(found, name, scope), found.background
    doubted = background is not None and not background.is_good
    if result is None:
        return what, before, hand, "flagged, none" if doubted else "none", "–"
    sigma = result.sigma
    if same_gains:
        own = [effect for source, effect in result.effects.items() if not source.startswith("gain")]
        sigma = float(np.sqrt(np.sum(np.square(own))))
    now = shown(result.value, result.sigma) + (", flagged" if doubted else "")
    return what, before, hand, now, f"{(result.value - truth) / np.hypot(sigma, spread):+.1f}"


def stove() -> Iterator[Row]:
    """Smoke of weighed fuel in a hood: 44 minutes, clean air two hours before and five minutes after."""
    flight = pc2dae.open_flight(DATA / "stove_carbon" / "A_RawData.csv.gz", suite=SUITES / "stove.toml")
    stretches = [(np.datetime64(start, "ns"), np.datetime64(end, "ns")) for start, end in CLEAN]
    time = flight["time"].values
    inside = (time >= np.datetime64(BURN[0], "ns")) & (time <= np.datetime64(BURN[1], "ns"))
    clean = np.any([(time >= a) & (time <= b) for a, b in stretches], axis=0)
    fuel = Fuel(STOVE_CARBON, 0.02)
    for carbon, other in (("co2_fast", "co2"), ("co2", "co2_fast")):
        excess = {n: float(np.nanmean(flight[n].values[inside]) - np.nanmean(flight[n].values[clean]))
                  for n in ("co", carbon)}  # fmt: skip
        efficiency = excess[carbon] / sum(excess.values())
        factor = 1000 * STOVE_CARBON * 28.010 / 12.011 * (1 - efficiency)
        one = without(flight, other)
        found = survey(pc2dae.denoise(one), background="clean-air", clean_air=stretches, fuel=fuel)
        overlap = [np.count_nonzero(inside[start:stop]) for start, stop in found.intervals]
        scope = f"encounter {int(np.argmax(overlap)) + 1}"  # trial burns before are other encounters
        hand = f"{factor:.1f}; 42.6 by their carbon balance", f"{efficiency:.4f}; theirs 0.953"
        yield row_of(f"stove, EF of CO with {carbon} [g/kg]", "not given", hand[0], 42.6, found, "ef_co", scope=scope)
        yield row_of(f"stove, MCE with {carbon}", "–", hand[1], 0.953, found, "mce", scope=scope)
        for words, (start, end), before in CUTS:
            cut = survey(pc2dae.denoise(one.sel(time=slice(start, end))), fuel=fuel)
            what = f"stove, {words}, with {carbon}"
            yield row_of(f"{what}: EF of CO [g/kg]", before[f"ef {carbon}"], "42.6", 42.6, cut, "ef_co")
            yield row_of(f"{what}: MCE", before[f"mce {carbon}"], "0.953", 0.953, cut, "mce")


def without(flight: xr.Dataset, name: str) -> xr.Dataset:
    """The flight without the samples of a channel."""
    return flight.assign({name: flight[name].where(False)})


def konza() -> Iterator[Row]:
    """ΔCO/ΔCO₂ of prescribed burns and of their halves, by hand with several percentiles as background."""
    for path in sorted((DATA / "konza_uav_burn" / "kolibri").glob("*.csv")):
        whole = pc2dae.open_flight(path, suite=SUITES.parents[2] / "examples" / "kolibri.toml")
        middle = whole.sizes["time"] // 2
        for words, part in (("", slice(None)), (", first half", slice(middle)), (", second half", slice(middle, None))):
            flight = whole.isel(time=part)
            co, co2 = (flight[n].values for n in ("co", "co2"))
            co, co2 = (x[np.isfinite(co) & np.isfinite(co2)] for x in (co, co2))
            hand = [float(np.sum(co - np.percentile(co, p)) / np.sum(co2 - np.percentile(co2, p))) for p in PERCENTILES]
            found = survey(pc2dae.denoise(flight))
            kind = "" if found.background is None else f", {found.background.kind}"
            what = f"Konza {path.stem}{words}, ΔCO/ΔCO₂, {len(found.intervals)} encounters{kind}"
            text = f"{min(hand):.4f} to {max(hand):.4f} (percentile 1 to 25)"
            yield row_of(what, BEFORE.get(path.stem + words, "–"), text, float(np.mean(hand)), found, "co/co2",
                         same_gains=True, spread=float(np.std(hand)))  # fmt: skip


def goamazon() -> Iterator[Row]:
    """ΔNOₓ/ΔCO of an aircraft that did not measure NOₓ all the time."""
    for number, before in ((23, "0.09882 ± 0.021"), (24, "0.1532 ± 0.035"), (28, "0.1332 ± 0.029")):
        flight = pc2dae.open_flight(DATA / "goamazon_aircraft" / f"G1_dryseason_{number}.xlsx")
        found = survey(pc2dae.denoise(flight))
        seen = found.species["nox"].seen
        inside = np.concatenate([np.arange(*part) for part in found.intervals])
        inside = inside[seen[inside] & found.species["co"].seen[inside]]
        sums = [float(np.sum(flight[n].values[inside] - found.species[n].level[inside])) for n in ("nox", "co")]
        hand, none = sums[0] / sums[1], sum(not seen[a:b].any() for a, b in found.intervals)
        rows = found.ratios.query("ratio == 'nox/co' and method == 'integral' and scope != 'flight'")
        what = (
            f"GoAmazon {number}, ΔNOₓ/ΔCO, {none} encounters without NOₓ, {len(rows)} of {len(found.intervals)} ratios"
        )
        yield row_of(what, before, f"{hand:.4g} (readings where both)", hand, found, "nox/co", same_gains=True)


def greenbox() -> Iterator[Row]:
    """A cell that drifts, particles above the range of their counter."""
    flight = pc2dae.open_flight(DATA / "konza_uav_burn" / "greenbox" / "20240408_smoke1.txt")
    clean = pc2dae.denoise(flight)
    at = int(np.nanargmax(flight["pm25"].values))
    value, sigma = (float(clean[n].values[at]) for n in ("pm25", "pm25_uncertainty"))
    z = (value - flight["pm25"].values[at]) / sigma
    yield ("GreenBox, PM2.5 above its range", "948 ± 122", f"{flight['pm25'].values[at]:.0f}", shown(value, sigma),
           f"{z:+.1f}")  # fmt: skip
    found = survey(clean)
    co = found.encounters.query("channel == 'co'")
    longest = co["duration_s"].max() if len(co) else 0.0
    yield "GreenBox, longest encounter of CO [s]", "2,714, from 26 min before the particles", "–", f"{longest:.0f}", "–"


def helikite() -> Iterator[Row]:
    """A photometer's clock, from the pressure that it shares with the flight computer."""
    _, intake = ingest([DATA / "helikite_balloon"], zone="UTC")
    stap = next(s for s in intake.sources if s.instrument.startswith("stap"))
    now = "not found" if stap.clock_offset_s is None else f"{stap.clock_offset_s:+.1f}"
    yield "Helikite, clock of the photometer [s]", "–", "10 (least scatter of the two pressures)", now, "–"


def units() -> Iterator[Row]:
    """CO in µg m-3 beside CO₂ in ppm, at 20 degC and 700 hPa."""
    rng, t = np.random.default_rng(1), np.arange(900)
    smoke = sum(np.exp(-0.5 * ((t - at) / 12) ** 2) for at in (300, 600))
    co, co2 = 0.1 + 4 * smoke + rng.normal(0, 0.02, 900), 420 + 60 * smoke + rng.normal(0, 0.3, 900)
    mass = co * 28.010 * 70000 / (8.314462618 * 293.15)  # [µg m-3] of ppm
    results: list[Any] = []
    stamps = np.datetime64("2025-10-14T18:00:00") + t
    for unit, column in (("ppm", co), ("ug m-3", mass)):
        with tempfile.TemporaryDirectory() as folder:
            path, suite = Path(folder) / "flight.csv", Path(folder) / "suite.toml"
            channels = [f'[[family.channel]]\nname = "{n}"\nunits = "{u}"' for n, u in (("co", unit), ("co2", "ppm"))]
            air = '[environment]\nair_temperature = "T"\nair_pressure = "P"'
            suite.write_text("\n".join(['name = "s"', air, '[[family]]\nname = "gas"', *channels]))
            lines = [f"{s}Z,{a:.6f},{b:.3f},20.0,700.0" for s, a, b in zip(stamps, column, co2, strict=True)]
            path.write_text("\n".join(["time,co,co2,T,P", *lines]) + "\n")
            results.append(result_of(survey(pc2dae.denoise(pc2dae.open_flight(path, suite=suite))), "mce"))
    one, two = results
    yield ("CO in µg m-3, CO₂ in ppm: MCE", "1 ± 2e-07", f"{shown(one.value, one.sigma)} with CO in ppm",
           shown(two.value, two.sigma), f"{(two.value - one.value) / two.sigma:+.1f}")  # fmt: skip


def main() -> None:
    """Print the table in Markdown."""
    if not DATA.is_dir():
        sys.exit(ABSENT)
    rows = [row for check in (stove, konza, goamazon, greenbox, helikite, units) for row in check()]
    head = ["check", "before", "by hand", "now", "z"]
    print(ResultTable("Hand checks on real records", head, [[Cell(text) for text in row] for row in rows]).markdown())


if __name__ == "__main__":
    main()
