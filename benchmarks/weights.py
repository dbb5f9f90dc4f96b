"""Make the shipped models lean and wide, and score them on flights they were not trained on.

    make weights                            trains both on the default simulated campaign, objective paper
    python benchmarks/weights.py --score    only scores what ships

The default campaign is `pc2dae simulate` without options (seed 1, 7,894 samples); scored are flights of another seed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import pandas as pd
import xarray as xr

import pc2dae
from pc2dae.metrics.score import ALL
from pc2dae.simulate import plan_campaign, write_campaign

WEIGHTS = Path(pc2dae.__file__).parent / "weights"
PAPER = {"lean": (67.3, 90.7, 0.0), "wide": (61.7, 82.2, 0.0)}
SHOWN = ("smoothness", "hf_reduction", "negatives", "mae_improvement", "snr_improvement")
COMMAND = "make weights"


def main() -> None:
    """Train, ship, score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--score", action="store_true", help="only score the models that ship")
    parser.add_argument("--only", choices=sorted(PAPER), help="one of the two")
    parser.add_argument("--flights", type=int, default=5, help="flights to score on")
    options = parser.parse_args()
    names = [options.only] if options.only else list(PAPER)
    with tempfile.TemporaryDirectory() as folder:
        if not options.score:
            flights = [flight for flight, _ in campaign(Path(folder) / "train", seed=1, flights=None)]
            for name in names:
                ship(name, flights, Path(folder) / name)
        score(names, campaign(Path(folder) / "test", seed=1001, flights=options.flights))


def campaign(folder: Path, *, seed: int, flights: int | None) -> list[tuple[xr.Dataset, xr.Dataset]]:
    """The flights of a simulated campaign as ingested, each with its truth."""
    made = sorted(write_campaign(plan_campaign(seed, flights=flights), folder))
    return [(pc2dae.open_flight(path), xr.load_dataset(path.with_suffix(".truth.nc"))) for path in made]


def ship(name: str, flights: list[xr.Dataset], folder: Path) -> None:
    """Train one model and put its ONNX and card in the package."""
    from pc2dae.training.checkpoint import load_checkpoint
    from pc2dae.training.export import export_onnx, write_model

    begun = time.process_time()
    pc2dae.fit(
        flights,
        variant=name,
        out=folder,
        report=lambda look: print(
            f"{name} step {look.step}: {look.held_out:.4f} after {time.process_time() - begun:.0f} s"
        ),
    )
    network, card = load_checkpoint(folder)
    card |= {"made_by": COMMAND}
    write_model(WEIGHTS / f"{name}.onnx", export_onnx(network, card), card)


def score(names: list[str], flights: list[tuple[xr.Dataset, xr.Dataset]]) -> None:
    """Print the scores of each model per family and overall, the paper's beside them."""
    rows = []
    for name in names:
        for number, (flight, truth) in enumerate(flights):
            table = pc2dae.evaluate(pc2dae.denoise(flight, model=name), truth=truth)
            rows.append(table[table["metric"].isin(SHOWN)].assign(flight=number, model=name))
    table = pd.concat(rows)
    means = table[table["channel"] == ALL].groupby(["model", "method", "family", "metric"])["value"].mean().unstack()
    print(means[list(SHOWN)].round(1).to_string())
    for name in names:
        print(f"paper, {name}: smoothness {PAPER[name][0]}, hf_reduction {PAPER[name][1]}, negatives {PAPER[name][2]}")


if __name__ == "__main__":
    main()
