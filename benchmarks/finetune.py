"""Does fine-tuning on two flights do harm on a third? Simulated flights of one payload, scored against the truth.

    python benchmarks/finetune.py [CAMPAIGN ...]      # default: 31001 … 31006, 18 pairs

Each campaign has three flights of ten minutes; every pair of them tunes `adaptive`, the third is scored: MAE
improvement [%], mean of families, against the noise-free response at or above the bound. Printed for each pair: the
score of the shipped weights and of the candidate that training gave, the candidate's gain in held-out recorruption loss
beside the required one, and which weights `pc2dae train --variant adaptive` saves.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import combinations
from pathlib import Path
from unittest.mock import patch

import numpy as np
import xarray as xr

from pc2dae.benchmark.cases import FAMILIES, as_prepared
from pc2dae.flight.schema import suite_of
from pc2dae.metrics import score
from pc2dae.registry import load_model
from pc2dae.simulate import fly_plan, plan_campaign
from pc2dae.suite import Suite
from pc2dae.training.finetune import Comparison, finetune
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
    estimate = load_model(model).prepare(xr.Dataset(), suite)(values, record.environment, record.valid)
    table = score(estimate, values, record.valid, suite, truth=record.target)
    return float(table[(table["family"] == "all") & (table["metric"] == "mae_improvement")]["value"].iloc[0])


def main() -> None:
    """Print one line per pair, and the worst."""
    changes = []
    print("campaign  pair  third  shipped  candidate    gain  required  weights   change")
    for seed in map(int, sys.argv[1:] or CAMPAIGNS):
        suite, records = flights(seed)
        for pair in combinations(range(3), 2):
            third = 3 - sum(pair)
            with tempfile.TemporaryDirectory() as folder, patch.object(Comparison, "is_better", True):
                card = finetune([records[i] for i in pair], suite, folder=Path(folder) / "candidate")
                candidate = improvement(Path(folder) / "candidate", records[third], suite)
            shipped = improvement("adaptive", records[third], suite)
            losses = card["metrics"]
            gain = losses["recorruption_loss_pretrained"] - losses["recorruption_loss_tuned"]
            is_tuned = gain > losses["required_gain"]
            changes.append(candidate - shipped if is_tuned else 0.0)
            print(f"{seed:8}  {pair[0] + 1}, {pair[1] + 1}  {third + 1:5}  {shipped:7.2f}  {candidate:9.2f}  "
                  f"{gain:+.4f}  {losses['required_gain']:8.4f}  {'tuned' if is_tuned else 'shipped':7}  "
                  f"{changes[-1]:+7.2f}", flush=True)  # fmt: skip
    print(f"{len(changes)} pairs, worst change {min(changes):+.2f} points")


if __name__ == "__main__":
    main()
