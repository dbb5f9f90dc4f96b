"""Error against the air with and without calibration, on simulated flights.

`python benchmarks/calibration_simulated.py`: each campaign has one co-location day and zero checks before and after
each flight. Scored are the flights without the checks, against `<name>_ambient`: mean absolute error of the product
with nothing known, with zero checks alone, with both, and with the suite's background besides (`--rezero`), and how
many seconds the 90 % intervals hold, overall, in plumes and in clean air.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import ratio_uncertainty
import xarray as xr

import pc2dae
from pc2dae.arrays import Array, Mask
from pc2dae.calibration.curve import Calibration
from pc2dae.calibration.intervals import read_intervals
from pc2dae.flight.truth import truth_at
from pc2dae.metrics.reference import true_plumes
from pc2dae.noise import noise_level
from pc2dae.simulate import plan_campaign, write_campaign
from pc2dae.simulate.campaign import write_flight_files
from pc2dae.simulate.colocation import colocate

PAIRS = {f"{gas}_{board}": f"{gas}_ppb:ppb" for board in "ab" for gas in ("no", "no2", "o3", "so2", "co")}
PAIRS = {name: column for name, column in PAIRS.items() if name != "so2_b"}
PAIRS |= {"co2_scd30": "co2_ppm:ppm", "co2_li830": "co2_ppm:ppm"}
WAYS = ("nothing", "zero checks", "calibrated", "re-zeroed")
_Z90 = 1.6449
SEED = 62_000  # of the first campaign; 52,000 was used for development


def campaigns(
    count: int, flights: int, minutes: float, seed: int, folder: Path
) -> Iterator[tuple[Calibration, list[Path]]]:
    """Written campaigns, each with the calibration from its co-location day and the folders of its flights."""
    for k in range(count):
        place = folder / str(seed + k)
        plans = plan_campaign(seed + k, flights=flights, minutes=minutes, zero_checks=True)
        done = sorted(write_campaign(plans, place))
        beside = colocate(plans[0], 1.0)
        record = write_flight_files(beside, place)
        yield pc2dae.calibrate(record, reference=place / "colocation.reference.csv", pairs=PAIRS), done


def errors(
    flight: Path, calibration: Calibration, ratios: list[ratio_uncertainty.Row]
) -> dict[str, dict[str, dict[str, Array]]]:
    """For each way and channel: absolute errors, whether intervals hold the truth, and which seconds are plumes.

    Ratios of the flight as it is and calibrated, with their z, are added to `ratios`.
    """
    truth = xr.load_dataset(f"{flight}.truth.nc")
    raw = pc2dae.open_flight(flight)
    checks = read_intervals(Path(f"{flight}.zero.csv"))
    both = {"zero": checks, "calibration": [calibration]}
    arguments = ({}, {"zero": checks}, both, both | {"rezero": True})
    found: dict[str, dict[str, dict[str, Array]]] = {}
    for way, given in zip(WAYS, arguments, strict=True):
        clean = pc2dae.denoise(raw, **given)
        found[way] = {name: _scores(clean, truth, name) for name in PAIRS}
        if way in ("nothing", "calibrated"):
            ratios += ratio_uncertainty.rows_of(clean, truth, way)
    return found


def _scores(clean: xr.Dataset, truth: xr.Dataset, name: str) -> dict[str, Array]:
    at = truth_at(truth[[f"{name}_ambient"]], clean)
    air = at[f"{name}_ambient"].values.astype(np.float64)
    inside = np.ones(len(air), bool)
    first = truth["time"].values[0]
    seconds = (clean["time"].values - first) / np.timedelta64(1, "s")
    for start, end in json.loads(truth.attrs["zero_checks"]):
        inside &= (seconds < start) | (seconds >= end)
    value, sigma = (clean[n].values.astype(np.float64) for n in (name, f"{name}_uncertainty"))
    bound = 300.0 if name.startswith("co2") else 0.0
    noise = noise_level(clean[f"{name}_raw"].values[None], np.isfinite(clean[f"{name}_raw"].values)[None]).sigma
    plume: Mask = true_plumes(np.nan_to_num(air)[None], noise)[0]
    known = inside & np.isfinite(air) & np.isfinite(value)
    low, high = np.maximum(value - _Z90 * sigma, bound), value + _Z90 * sigma
    return {
        "error": np.abs(value - air)[known],
        "free": np.abs(clean[f"{name}_unbounded"].values - air)[known],
        "held": ((air >= low) & (air <= high))[known],
        "plume": plume[known],
        "sigma": sigma[known],
    }


def show(found: list[dict[str, dict[str, dict[str, Array]]]]) -> None:
    """Print one row per channel."""
    print("mean absolute error against the air [ppb, CO2 ppm]; 90 % intervals hold [%]: all, plumes, clean air")
    print(
        f"{'channel':10s} {'nothing':>9s} {'zero':>9s} {'calibr.':>9s} {'less by':>8s}   "
        + "   ".join(f"{w:^20s}" for w in WAYS)
    )
    totals: dict[str, list[Array]] = {way: [] for way in WAYS}
    for name in PAIRS:
        mae, cover = [], []
        for way in WAYS:
            parts = {key: np.concatenate([f[way][name][key] for f in found]) for key in ("error", "held", "plume")}
            mae.append(float(parts["error"].mean()))
            held, plume = parts["held"], parts["plume"].astype(bool)
            shares = np.array(
                [100 * held.mean(), 100 * held[plume].mean() if plume.any() else np.nan, 100 * held[~plume].mean()]
            )
            cover.append(shares)
            totals[way].append(shares)
        text = "   ".join(" ".join(f"{x:6.1f}" for x in c) for c in cover[2:])
        print(f"{name:10s} {_row(mae)}   {text}")
    print("\nthe same before the lower bound, as integrals and ratios use it")
    for name in PAIRS:
        mae = [float(np.nanmean(np.concatenate([f[way][name]["free"] for f in found]))) for way in WAYS]
        print(f"{name:10s} {_row(mae)}")
    for way in WAYS:
        means = " ".join(f"{x:6.1f}" for x in np.nanmean(totals[way], axis=0))
        print(f"mean of the channels, {way}: {means}")


def _row(mae: list[float]) -> str:
    less = " ".join(f"{100 * (1 - x / mae[0]):3.0f} %" for x in mae[2:])
    return "  ".join(f"{x:11.2f}" for x in mae) + f"   {less}"


def main() -> None:
    """Simulate, calibrate, denoise and score."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--campaigns", type=int, default=4)
    options.add_argument("--flights", type=int, default=5, help="of each campaign")
    options.add_argument("--minutes", type=float, default=20.0)
    options.add_argument("--seed", type=int, default=SEED)
    chosen = options.parse_args()
    found, ratios = [], list[ratio_uncertainty.Row]()
    with tempfile.TemporaryDirectory() as folder:
        for calibration, flights in campaigns(
            chosen.campaigns, chosen.flights, chosen.minutes, chosen.seed, Path(folder)
        ):
            found += [errors(flight, calibration, ratios) for flight in flights]
    print(f"{len(found)} flights, seeds {chosen.seed} to {chosen.seed + chosen.campaigns - 1}")
    show(found)
    table = pd.DataFrame(ratios, columns=ratio_uncertainty.COLUMNS)
    for scope, title in (("encounter", "Ratios of encounters"), ("flight", "Ratios of flights")):
        print("\n" + ratio_uncertainty.table(table, scope, title).markdown())


if __name__ == "__main__":
    main()
