"""Plumes of real records beside what can be computed by hand or was weighed.

    python benchmarks/plumes_real.py

Before: version 0.1, as measured when these records were first tried. By hand: from the raw columns with the choices
named in the row. The data are not part of the repository.
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
from pc2dae.pipeline import ingest
from pc2dae.plumes import Fuel, Survey, survey

Row = tuple[str, str, str, str]  # what, before, by hand, now
SUITES = Path(__file__).resolve().parents[1] / "tests" / "real" / "suites"
STOVE_CARBON = 0.385  # of the dry fuel, net of the char that was left
BURN = ("2026-06-17T22:36:45", "2026-06-17T23:20:43")  # UTC
CLEAN = (("2026-06-17T20:22:40", "2026-06-17T20:27:50"), ("2026-06-17T23:26:48", "2026-06-17T23:28:28"))
PERCENTILES = (1, 5, 10, 25)


def shown(value: float, sigma: float) -> str:
    """A value and its standard uncertainty."""
    return f"{value:.4g} ± {sigma:.2g}"


def ratio_of(found: Survey, name: str, scope: str = "flight") -> str:
    """A ratio by integrals, – if there is none."""
    rows = found.ratios.query("scope == @scope and ratio == @name and method == 'integral'")
    return "–" if rows.empty else shown(*rows[["value", "sigma"]].to_numpy()[0])


def stove() -> Iterator[Row]:
    """Smoke of weighed fuel in a hood: 44 minutes, clean air two hours before and five minutes after."""
    flight = pc2dae.open_flight(DATA / "stove_carbon" / "A_RawData.csv.gz", suite=SUITES / "stove.toml")
    stretches = [tuple(np.datetime64(stamp, "ns") for stamp in stretch) for stretch in CLEAN]
    time = flight["time"].values
    inside = (time >= np.datetime64(BURN[0], "ns")) & (time <= np.datetime64(BURN[1], "ns"))
    clean = np.any([(time >= a) & (time <= b) for a, b in stretches], axis=0)
    fuel = Fuel(STOVE_CARBON, 0.02)
    for carbon, other in (("co2_fast", "co2"), ("co2", "co2_fast")):
        excess = {n: float(np.nanmean(flight[n].values[inside]) - np.nanmean(flight[n].values[clean]))
                  for n in ("co", carbon)}  # fmt: skip
        efficiency = excess[carbon] / sum(excess.values())
        factor = 1000 * STOVE_CARBON * 28.010 / 12.011 * (1 - efficiency)
        found = survey(without(pc2dae.denoise(flight), other), background="clean-air", clean_air=stretches, fuel=fuel)
        overlap = [np.count_nonzero(inside[start:stop]) for start, stop in found.intervals]
        scope = f"encounter {int(np.argmax(overlap)) + 1}"  # trial burns before are other encounters
        rows = found.emission_factors.query("scope == @scope and species == 'co'")
        now = "–" if rows.empty else shown(*rows[["value", "sigma"]].to_numpy()[0])
        yield f"stove, EF of CO with {carbon} [g/kg]", "not given", f"{factor:.1f}; 42.6 by their carbon balance", now
        yield f"stove, MCE with {carbon}", "–", f"{efficiency:.4f}; theirs 0.953", ratio_of(found, "mce", scope)


def without(flight: xr.Dataset, name: str) -> xr.Dataset:
    """The flight without the samples of a channel."""
    return flight.assign({key: flight[key].where(False) for key in (name, f"{name}_raw", f"{name}_unbounded")})


def konza() -> Iterator[Row]:
    """ΔCO/ΔCO₂ of prescribed burns, by hand with several percentiles as background."""
    for path in sorted((DATA / "konza_uav_burn" / "kolibri").glob("*.csv")):
        flight = pc2dae.open_flight(path, suite=SUITES.parents[2] / "examples" / "kolibri.toml")
        co, co2 = (flight[n].values for n in ("co", "co2"))
        some = np.isfinite(co) & np.isfinite(co2)
        hand = [float(np.sum(co[some] - np.percentile(co[some], p)) / np.sum(co2[some] - np.percentile(co2[some], p)))
                for p in PERCENTILES]  # fmt: skip
        found = survey(pc2dae.denoise(flight))
        row = f"Konza {path.stem}, ΔCO/ΔCO₂, {len(found.intervals)} encounters"
        yield row, "–", f"{min(hand):.4f} to {max(hand):.4f} (percentile 1 to 25)", ratio_of(found, "co/co2")


def greenbox() -> Iterator[Row]:
    """A cell that drifts, particles above the range of their counter."""
    flight = pc2dae.open_flight(DATA / "konza_uav_burn" / "greenbox" / "20240408_smoke1.txt")
    clean = pc2dae.denoise(flight)
    at = int(np.nanargmax(flight["pm25"].values))
    value, sigma = (float(clean[n].values[at]) for n in ("pm25", "pm25_uncertainty"))
    yield "GreenBox, PM2.5 above its range", "948 ± 122", f"{flight['pm25'].values[at]:.0f}", shown(value, sigma)
    found = survey(clean)
    co = found.encounters.query("channel == 'co'")
    longest = co["duration_s"].max() if len(co) else 0.0
    yield "GreenBox, longest encounter of CO [s]", "2,714, from 26 min before the particles", "–", f"{longest:.0f}"


def helikite() -> Iterator[Row]:
    """A photometer's clock, from the pressure that it shares with the flight computer."""
    _, intake = ingest([DATA / "helikite_balloon"], zone="UTC")
    stap = next(s for s in intake.sources if s.instrument.startswith("stap"))
    now = "not found" if stap.clock_offset_s is None else f"{stap.clock_offset_s:+.1f}"
    yield "Helikite, clock of the photometer [s]", "–", "10 (least scatter of the two pressures)", now


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
            results.append(ratio_of(survey(pc2dae.denoise(pc2dae.open_flight(path, suite=suite))), "mce"))
    yield "CO in µg m-3, CO₂ in ppm: MCE", "1 ± 2e-07", f"{results[0]} with CO in ppm", results[1]


def main() -> None:
    """Print the table in Markdown."""
    if not DATA.is_dir():
        sys.exit(ABSENT)
    rows = [row for check in (stove, konza, greenbox, helikite, units) for row in check()]
    head = ["check", "before", "by hand", "now"]
    print(ResultTable("Hand checks on real records", head, [[Cell(text) for text in row] for row in rows]).markdown())


if __name__ == "__main__":
    main()
