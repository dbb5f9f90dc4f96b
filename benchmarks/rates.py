"""A short search for each network's learning rate, on a development campaign (seed 1001) that nobody is scored on.

    python benchmarks/rates.py                        all networks, 120 steps at each of three rates
    python benchmarks/rates.py unet:3e-3,1e-2 --steps 300

Prints the best held-out loss of each; the winners are LEARNING_RATES in src/pc2dae/training/run.py.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import torch

from pc2dae.benchmark.cases import FAMILIES, as_prepared
from pc2dae.flight.schema import suite_of
from pc2dae.simulate import fly_plan, plan_campaign
from pc2dae.training.checkpoint import build_network
from pc2dae.training.fit import TrainingSettings
from pc2dae.training.networks import in_noise_units
from pc2dae.training.objectives import objective_of
from pc2dae.training.run import LEARNING_RATES, TrainingPlan, crops_for, learn, loss_of, material_of
from pc2dae.windows.slicing import record_of

DEVELOPMENT = 1001  # below 1100: never among the held-out flights


def main() -> None:
    """Try each rate of each network."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=[f"{name}:3e-3,1e-2,3e-2" for name in LEARNING_RATES])
    parser.add_argument("--steps", type=int, default=120)
    options = parser.parse_args()
    flights = [as_prepared(fly_plan(plan)) for plan in plan_campaign(DEVELOPMENT)]
    suite = suite_of(flights[0]).only(FAMILIES)
    records = [record_of(flight, suite) for flight in flights]
    for asked in options.networks:
        name, _, rates = asked.partition(":")
        for rate in map(float, rates.split(",")):
            settings = replace(
                TrainingSettings(), steps=options.steps, learning_rate=rate, warmup=min(50, options.steps // 6)
            )
            material = material_of(records, suite, seed=0)
            torch.manual_seed(0)
            network = build_network(name, suite, material.scaler)
            is_ours = in_noise_units(name)
            objective = objective_of("recorrupted" if is_ours else "paper", material.scaler, records, mixed=is_ours)
            loss = loss_of(TrainingPlan(network=name, settings=settings), suite)
            begun = time.process_time()
            looks = learn(network, material, objective, loss, settings, crops=crops_for(name))
            best = min(looks, key=lambda look: look.held_out)
            spent = time.process_time() - begun
            print(f"{name:12} {rate:7.0e}  held-out loss {best.held_out:.4f} at step {best.step:4d}  {spent:5.1f} s")


if __name__ == "__main__":
    main()
