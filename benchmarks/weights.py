"""Make the shipped models lean and wide, and score them on flights they were not trained on.

    make weights                            trains both on 24 simulated campaigns, objective truth
    python benchmarks/weights.py --score    only scores what ships

Campaigns of seeds 11 to 34 train, of which whole flights are held out; scored are flights of another seed.
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
from pc2dae.training.fit import TrainingSettings

WEIGHTS = Path(pc2dae.__file__).parent / "weights"
PAPER = {"lean": (67.3, 90.7, 0.0), "wide": (61.7, 82.2, 0.0)}
SHOWN = ("smoothness", "hf_reduction", "negatives", "mae_improvement", "snr_improvement")
COMMAND = "make weights"
CAMPAIGNS = range(11, 35)
SETTINGS = {
    "lean": TrainingSettings(steps=9000, learning_rate=1e-2, every=250, patience=36),
    "wide": TrainingSettings(steps=6000, learning_rate=3e-3, every=250, patience=24),
}


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
            made = [campaign(Path(folder) / str(seed), seed=seed, flights=None) for seed in CAMPAIGNS]
            flights = [pair for flown in made for pair in flown]
            for name in names:
                ship(name, flights, Path(folder) / name)
        score(names, campaign(Path(folder) / "test", seed=1001, flights=options.flights))


def campaign(folder: Path, *, seed: int, flights: int | None) -> list[tuple[xr.Dataset, xr.Dataset]]:
    """The flights of a simulated campaign as ingested, each with its truth."""
    made = sorted(write_campaign(plan_campaign(seed, flights=flights), folder))
    return [(pc2dae.open_flight(path), xr.load_dataset(path.with_suffix(".truth.nc"))) for path in made]


def ship(name: str, flights: list[tuple[xr.Dataset, xr.Dataset]], folder: Path) -> None:
    """Train one model and put its ONNX and card in the package."""
    from pc2dae.training.checkpoint import load_checkpoint
    from pc2dae.training.checkpoint import ship as write
    from pc2dae.training.export import export_onnx

    started = time.process_time()
    pc2dae.fit(
        [flight for flight, _ in flights],
        variant=name,
        objective="truth",
        truths=[truth for _, truth in flights],
        settings=SETTINGS[name],
        out=folder,
        report=lambda look: print(
            f"{name} step {look.step}: {look.held_out:.4f} after {time.process_time() - started:.0f} s"
        ),
    )
    network, card = load_checkpoint(folder)
    card |= {"made_by": COMMAND}
    write(network, card, export_onnx(network, card), WEIGHTS)


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
