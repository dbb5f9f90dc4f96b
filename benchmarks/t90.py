"""How well response times and delays are found from a flight, and how honest their uncertainties are.

    python benchmarks/t90.py --flights 6 --seed 900 [--all]

Simulated flights, ingested from their logs; only the preset is given. Per channel: median error and rms of t90
found from the flight and of t90 joined with the suite's, their stated uncertainty, pull (error over uncertainty), the
share of flights in which it is known to better than 30 %, and the error of the delay on the flight's grid.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

import pc2dae
from pc2dae.flight.schema import suite_of
from pc2dae.response.kernels import Kernel, Response
from pc2dae.response.known import known_responses, sampling_delay_s
from pc2dae.response.t90 import ResponseTime, response_times
from pc2dae.simulate.campaign import write_campaign
from pc2dae.simulate.plan import plan_campaign

MA200_LATE_S = 0.5  # its values are means over the last second


def true_delay_s(flight: xr.Dataset, truth: xr.Dataset, name: str, t90_s: float) -> float:
    """Delay of a channel on the flight's grid: clock error left, sampling within the cell, and the kernel's own."""
    key = suite_of(flight).instrument_of(name)
    clock, applied, sampled = (
        json.loads(d.attrs[a]).get(key, 0.0)
        for d, a in ((truth, "clock_offset_s"), (flight, "clock_offset_s"), (flight, "sampling_offset_s"))
    )
    late = MA200_LATE_S if key == "ma200" else 0.0
    return float(clock - applied - sampled + late + sampling_delay_s(Kernel(t90_s)))


Row = tuple[str, str, float, ResponseTime | None, Response | None, float]


def rows_of(folder: Path) -> list[Row]:
    """Flight, channel, true t90, what was found, what is known, true delay."""
    flight = pc2dae.open_flight(folder)
    with xr.open_dataset(folder.with_name(f"{folder.name}.truth.nc")) as truth:
        true = json.loads(truth.attrs["t90_s"])
        delays = {name: true_delay_s(flight, truth, name, t90) for name, t90 in true.items()}
    found = response_times(flight)
    known, _ = known_responses(flight, suite_of(flight))
    return [(folder.name, n, t90, found.get(n), known.get(n), delays[n]) for n, t90 in true.items()]


def summary(name: str, rows: Sequence[Row]) -> str:
    """One line of the table."""
    t90 = [(r[3].t90_s / r[2] - 1, r[3].uncertainty_s / r[2]) for r in rows if r[3] is not None]
    known = [(r[4].kernel.t90_s / r[2] - 1, r[4].t90_uncertainty_s / r[2]) for r in rows if r[4] is not None]
    late = [(r[4].delay_s - r[5], r[4].delay_uncertainty_s) for r in rows if r[4] is not None]
    return (
        f"{name:10}" + _cells(t90, 100) + _cells(known, 100) + f"{100 * len(known) / len(rows):8.0f}" + _cells(late, 1)
    )


def _cells(pairs: Sequence[tuple[float, float]], scale: float) -> str:
    if not pairs:
        return f"{'–':>8}" * 4
    error, stated = np.array(pairs).T
    numbers = (scale * np.median(np.abs(error)), scale * np.sqrt(np.mean(error**2)), scale * np.median(stated))
    digits = 0 if scale > 1 else 2
    return "".join(f"{x:8.{digits}f}" for x in numbers) + f"{100 * np.mean(np.abs(error) < stated):8.0f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flights", type=int, default=6)
    parser.add_argument("--seed", type=int, default=900)
    parser.add_argument("--all", action="store_true", help="also one line per flight and channel")
    options = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for path in write_campaign(plan_campaign(options.seed, flights=options.flights), folder):
            rows += rows_of(path)
    if options.all:
        for flight, name, t90, found, known, late in rows:
            seen = "not found" if found is None else f"{found.t90_s:5.1f} ± {found.uncertainty_s:4.1f}"
            pull = "" if found is None else f"pull {(found.t90_s - t90) / found.uncertainty_s:+.1f}"
            kept = "not known" if known is None else f"{known.kernel.t90_s:5.1f} ± {known.t90_uncertainty_s:4.1f} s"
            delay = (
                "" if known is None else f"delay {known.delay_s:+.2f} ± {known.delay_uncertainty_s:.2f} ({late:+.2f})"
            )
            print(f"{flight} {name:10} true {t90:5.1f} found {seen:12} {pull:10} known {kept} {delay}")
    quarter = "".join(f"{x:>8}" for x in ("|err|", "rms", "stated", "< 1σ"))
    print(f"{'':10}{'t90 from the flight, %':>32}{'joined with the suite, %':>32}{'known,%':>8}{'delay, s':>32}")
    print(f"{'channel':10}{quarter}{quarter}{'':8}{quarter}")
    for name in dict.fromkeys(row[1] for row in rows):
        print(summary(name, [row for row in rows if row[1] == name]))
    print(summary("all", rows))


if __name__ == "__main__":
    main()
