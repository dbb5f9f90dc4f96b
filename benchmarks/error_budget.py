"""Error budget before and after denoising, mean over simulated flights.

    python benchmarks/error_budget.py --flights 20 --seed 5001

Each flight has a payload of its own and is written as instrument files, ingested and denoised as a user would. Sizes
are mean absolute values in units of the raw noise, by family and by channel, over the whole flight and in plumes.
"""

from __future__ import annotations

import argparse
import tempfile

import pandas as pd

import pc2dae
from pc2dae.benchmark.result_table import Cell, ResultTable
from pc2dae.metrics.budget import BUDGET, budget_table
from pc2dae.metrics.metric_info import METRICS
from pc2dae.simulate import simulate_flight, write_flight_files


def budget(seed: int, minutes: float, model: str) -> pd.DataFrame:
    """Budget of one flight by (family, channel) [σ]."""
    flown = simulate_flight(seed, minutes)
    with tempfile.TemporaryDirectory() as folder:
        flight = pc2dae.open_flight(write_flight_files(flown, folder))
    return budget_table(pc2dae.evaluate(pc2dae.denoise(flight, model=model), truth=flown.truth))


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flights", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--seed", type=int, default=5001, help="of the first flight")
    parser.add_argument("--model", default="adaptive")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.flights)
    flights = pd.concat([budget(seed, options.minutes, options.model) for seed in seeds])
    means = flights.groupby(level=["family", "channel"], sort=False).mean()
    is_family = means.index.get_level_values("channel") == "all"
    for of, table in (("families", means[is_family]), ("channels", means[~is_family])):
        names = table.index.get_level_values("family" if of == "families" else "channel")
        rows = [
            [
                Cell(str(name)),
                *(Cell(float(size), digits=METRICS[m].digits) for m, size in zip(BUDGET, sizes, strict=True)),
            ]
            for name, sizes in zip(names, table.to_numpy(), strict=True)
        ]
        title = f"Error budget of {of}, {options.flights} flights from seed {options.seed}, {options.model}"
        print(ResultTable(title, ["", *(METRICS[m].heading for m in BUDGET)], rows).markdown())


if __name__ == "__main__":
    main()
