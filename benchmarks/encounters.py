"""How many plume encounters are found, how many are false, and whether the excess is unbiased.

    python benchmarks/encounters.py --flights 20 --seed 72000

Simulated flights are written as instrument files, ingested and denoised as a user would. The gain of each channel is
divided out: background and detection are scored here, not calibration. A true encounter is an interval in which the
ambient excess of CO over the air without fresh plumes, smoothed to the resolution of the estimate, exceeds the noise
level of CO; intervals less than ten seconds apart are one; it counts from a peak of five noise levels and a length of
three seconds. It is found if an encounter overlaps it; an encounter that overlaps no true interval, of whatever peak,
is false. Aged haze is background in the simulated truth: an encounter with it is false. Bias is that of the sum of all
excesses in encounters over all flights. The real records of ../shared/data are counted where they are there: stretches
of ten seconds or more with CO 20 ppb above a running 20th percentile of half an hour, and, in records of clean air, all
encounters. "Begun" are stretches in what was high from the first sample, which is listed apart. Flights from seed 71000
on, and flight 23, were used for development.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from ratio_uncertainty import CALIBRATED, true_excess, true_gain
from scipy.ndimage import gaussian_filter1d

import pc2dae
from pc2dae.arrays import Array
from pc2dae.benchmark.result_table import Cell, ResultTable
from pc2dae.errors import Pc2daeError
from pc2dae.flight.schema import suite_of
from pc2dae.flight.truth import truth_at
from pc2dae.metrics.plume_rule import background, threshold
from pc2dae.plumes.channel_signals import channel_signals
from pc2dae.plumes.encounters import extents, runs, widened
from pc2dae.plumes.flight_signals import encounter_intervals
from pc2dae.plumes.signals import Signal
from pc2dae.plumes.species_signals import species_signals
from pc2dae.plumes.survey import survey
from pc2dae.simulate import simulate_flight, write_flight_files

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "real"))
from real_data import RECORDS

CHOICES = ("running", "percentile", "clean-air")
SPECIES = ("co", "co2", "bc", "no2", "nox")
LEAST_SNR, GAP, SHORTEST = 5.0, 10, 3  # of a true encounter [noise levels, s, s]
CLEAN_RECORDS = ("LOG_20220929.txt", "2018-05-06_Licor_comparison.zip", "100923_morning_Ambient.txt.gz",
                 "ambient10082023.txt.gz")  # fmt: skip
RISE_PPB, STRETCH_S, AROUND_S = 20.0, 10, 1801  # of the real stretches
PARTS = ("", "_raw", "_unbounded", "_response", "_uncertainty", "_random_uncertainty", "_systematic_uncertainty")
Interval = tuple[int, int]


def fly(seed: int) -> tuple[xr.Dataset, xr.Dataset]:
    """A denoised flight of which the gains are right, and its truth on the same clock."""
    flown = simulate_flight(seed)
    with tempfile.TemporaryDirectory() as folder:
        clean = pc2dae.denoise(pc2dae.open_flight(write_flight_files(flown, folder)))
    for name in CALIBRATED:
        gain = true_gain(clean, flown.truth, name)
        for variable in (n for part in PARTS if (n := name + part) in clean):
            clean[variable] = (clean[variable] / gain).assign_attrs(clean[variable].attrs)
    return clean, truth_at(flown.truth, clean)


def true_intervals(resolved: Array, sigma: float) -> list[Interval]:
    """Intervals of the true excess above the noise level of the tracer."""
    reach = GAP // 2
    joined = widened([(int(a), int(b)) for a, b in runs(resolved > sigma)], reach, len(resolved))
    return [(a, b) for a, b in ((a + reach, b - reach) for a, b in joined) if b - a >= SHORTEST]


def overlaps(part: Interval, others: list[Interval]) -> bool:
    """Whether an interval overlaps one of others."""
    return any(part[0] < b and a < part[1] for a, b in others)


def old_intervals(tracer: Signal) -> list[Interval]:
    """Encounters by the rule of version 0.1: above max(3 σ, 5 % of the range)."""
    x, sigma = (tracer.excess + tracer.level)[None], np.array([tracer.sigma])
    return extents((x - background(x, sigma))[0], float(threshold(x, sigma)[0]))


def score(clean: xr.Dataset, truth: xr.Dataset, choice: str) -> dict[str, float]:
    """Counts and sums of one flight; `old` takes the encounters of the rule of version 0.1."""
    suite, wanted = suite_of(clean), true_excess(truth)
    signals = channel_signals(clean, suite, background="running" if choice == "old" else choice)
    species = species_signals(signals, suite)
    tracer = species["co"]
    resolved = gaussian_filter1d(np.nan_to_num(wanted["co"]), max(tracer.width_s, 1.0) / np.sqrt(8 * np.log(2)))
    inside = [(int(a), int(b)) for a, b in runs(tracer.smoke) if tracer.saw_rise(a)]
    inside = old_intervals(tracer) if choice == "old" else inside
    real = true_intervals(resolved, tracer.sigma)
    clear = [(a, b) for a, b in real if resolved[a:b].max() >= LEAST_SNR * tracer.sigma]
    row = {"true": len(clear), "found": sum(overlaps(part, inside) for part in clear), "encounters": len(inside),
           "false": sum(not overlaps(part, real) for part in inside)}  # fmt: skip
    if choice != "old":
        parts = encounter_intervals(species, suite.rate_hz)
        for name in SPECIES:
            row[name] = sum(species[name].over(part).value for part in parts)
            row[f"{name} true"] = sum(float(np.nansum(wanted[name][a:b])) for a, b in parts)
    return row


def simulated(flights: int, seed: int) -> ResultTable:
    """Counts and biases of each background over simulated flights."""
    rows: dict[str, list[dict[str, float]]] = {choice: [] for choice in ("old", *CHOICES)}
    for number in range(flights):
        clean, truth = fly(seed + number)
        for choice in rows:
            try:
                rows[choice].append(score(clean, truth, choice))
            except Pc2daeError as error:
                print(f"{seed + number} {choice}: {error}", file=sys.stderr)
    cells = []
    for choice, found in rows.items():
        table = pd.DataFrame(found)
        total = table.sum()
        line = [Cell(choice), Cell(str(int(total["true"]))), Cell(100 * total["found"] / total["true"], digits=1)]
        line += [Cell(float(table[name].mean()), digits=2) for name in ("encounters", "false")]
        for name in SPECIES:
            if name not in table:
                line.append(Cell("–"))
                continue
            error = float(np.sqrt(((table[name] - table[f"{name} true"]) ** 2).sum()) / total[f"{name} true"])
            line.append(Cell(f"{100 * (total[name] / total[f'{name} true'] - 1):+.1f} ± {100 * error:.1f}"))
        cells.append(line)
    head = ["background", "true encounters", "found [%]", "encounters per flight", "false per flight"]
    title = f"Encounters of {flights} flights from seed {seed}, and bias of the excess"
    return ResultTable(title, [*head, *(f"{name} [%]" for name in SPECIES)], cells)


def real() -> ResultTable:
    """Stretches of CO 20 ppb above the air around in research flights, and encounters found."""
    cells = []
    for record in (r for r in RECORDS if r.folder == "goamazon_aircraft" and r.source.exists()):
        flight = pc2dae.open_flight(record.source)
        co = pd.Series(flight["co"].values)
        low = co.rolling(AROUND_S, center=True, min_periods=60).quantile(0.2)
        parts = [(int(a), int(b)) for a, b in runs((co - low > RISE_PPB).to_numpy()) if b - a >= STRETCH_S]
        found = survey(flight)
        begun = [tuple(np.searchsorted(flight["time"].values, row[["onset", "end"]].to_numpy("datetime64[ns]")))
                 for _, row in found.begun[found.begun["channel"] == "co"].iterrows()]  # fmt: skip
        now = list(found.intervals)
        inside = sum(overlaps(p, now) for p in parts)
        level = found.species["co"].level
        missed = [slice(*p) for p in parts if not overlaps(p, now + begun)]
        haze = sum(float(level[at].mean() - low[at].mean()) > RISE_PPB / 2 for at in missed)
        counts = (len(parts), inside, sum(overlaps(p, begun) and not overlaps(p, now) for p in parts), haze, len(now),
                  found.kinds.count("smoke"), max((b - a for a, b in now), default=0))  # fmt: skip
        cells.append([Cell(record.file), *(Cell(str(count)) for count in counts)])
    head = ["record", "stretches", "in encounters", "begun", "missed in haze", "encounters", "smoke", "longest [s]"]
    return ResultTable("Real research flights", head, cells)


def clean() -> ResultTable:
    """Encounters of records without smoke."""
    cells = []
    for record in (r for r in RECORDS if r.file in CLEAN_RECORDS and r.source.exists()):
        found = survey(pc2dae.open_flight(record.source, zone=record.zone))
        cells.append([Cell(record.file), Cell(str(len(found.intervals))), Cell(str(found.kinds.count("smoke")))])
    return ResultTable("Records without smoke", ["record", "encounters", "smoke"], cells)


def main() -> None:
    """Print both tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flights", type=int, default=20)
    parser.add_argument("--seed", type=int, default=71000, help="of the first flight")
    options = parser.parse_args()
    if options.flights:
        print(simulated(options.flights, options.seed).markdown())
    print(real().markdown())
    print(clean().markdown())


if __name__ == "__main__":
    main()
