"""Does fine-tuning on two flights do harm on a third? Simulated flights of one payload, scored against the truth.

    python benchmarks/finetune.py [adaptive|lean|wide] [CAMPAIGN ...]      # default: adaptive, 31001 … 31006, 18 pairs

Each campaign has three flights of ten minutes; every pair of them tunes the shipped model, the third is scored: MAE
reduction [%], mean of families, against the noise-free response at or above the bound. Printed for each pair: the
score of the shipped weights and of the candidate that training gave, the candidate's gain in held-out recorruption loss
beside the required one, and which weights `pc2dae train` saves; at the end the processor time of a run.
"""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from unittest.mock import patch

import numpy as np

from pc2dae.benchmark.cases import FAMILIES, as_prepared
from pc2dae.edge.card import Card
from pc2dae.flight.schema import suite_of
from pc2dae.metrics import score
from pc2dae.registry import load_model
from pc2dae.simulate import fly_plan, plan_campaign
from pc2dae.suite import Suite
from pc2dae.training.finetune import SETTINGS, NetworkComparison, finetune
from pc2dae.training.run import TrainingPlan, train
from pc2dae.training.shipped import TUNING
from pc2dae.windows.slicing import Record, record_of

CAMPAIGNS = range(31001, 31007)  # used nowhere else
MINUTES = 10.0


def flights(seed: int) -> tuple[Suite, list[Record]]:
    """Three flights of one payload, and their suite."""
    records = []
    for plan in plan_campaign(seed, flights=3, minutes=MINUTES):
        flown = fly_plan(plan)
        flight = as_prepared(flown)
        suite = suite_of(flight).only(FAMILIES)
        records.append(record_of(flight, suite, truth=flown.truth))
    return suite, records


def improvement(model: str | Path, record: Record, suite: Suite) -> float:
    """MAE improvement [%], mean of families."""
    values = record.values.astype(np.float64)
    estimate = load_model(model).engine(suite)(values, record.environment, record.valid)
    table = score(estimate, values, record.valid, suite, truth=record.target)
    return float(table[(table["family"] == "all") & (table["metric"] == "mae_improvement")]["value"].iloc[0])


def tuned(variant: str, records: list[Record], suite: Suite, folder: Path) -> Card:
    """The card of a run as `pc2dae train --variant` makes it."""
    if variant == "adaptive":
        return finetune(records, suite, folder=folder, settings=SETTINGS)
    return train(records, suite, TrainingPlan(variant, begin="pretrained", settings=TUNING), folder=folder)


def main() -> None:
    """Print one line per pair, and the worst."""
    variant, *campaigns = sys.argv[1:] or ["adaptive"]
    changes, spent = [], []
    print("campaign  pair  third  shipped  candidate    gain  required  weights   change")
    for seed in map(int, campaigns or CAMPAIGNS):
        suite, records = flights(seed)
        for pair in combinations(range(3), 2):
            third = 3 - sum(pair)
            with tempfile.TemporaryDirectory() as folder, patch.object(NetworkComparison, "is_better", True):
                started = time.process_time()
                card = tuned(variant, [records[i] for i in pair], suite, Path(folder) / "candidate")
                spent.append(time.process_time() - started)
                candidate = improvement(Path(folder) / "candidate", records[third], suite)
            shipped = improvement(variant, records[third], suite)
            losses = card["metrics"]
            gain = losses["recorruption_loss_pretrained"] - losses["recorruption_loss_tuned"]
            is_tuned = gain > losses["required_gain"]
            changes.append(candidate - shipped if is_tuned else 0.0)
            print(f"{seed:8}  {pair[0] + 1}, {pair[1] + 1}  {third + 1:5}  {shipped:7.2f}  {candidate:9.2f}  "
                  f"{gain:+.4f}  {losses['required_gain']:8.4f}  {'tuned' if is_tuned else 'shipped':7}  "
                  f"{changes[-1]:+7.2f}", flush=True)  # fmt: skip
    print(f"{len(changes)} pairs, worst change {min(changes):+.2f} points, mean {np.mean(changes):+.2f}")
    print(f"processor time of a run: median {np.median(spent):.0f} s, longest {max(spent):.0f} s")


if __name__ == "__main__":
    main()
