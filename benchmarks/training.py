"""Time to a fixed held-out loss: our loop against a plain one, in one run, on the same flights, on one core.

    python benchmarks/training.py [--seconds 90]

The plain loop is what a first implementation does: overlapping windows at stride 8, shuffled, batch 32, Adam with a
learning rate of 1e-3, eager. Both train lean from scratch by recorruption on the default simulated campaign (7,894
samples) and are judged by the same held-out flight. Times are processor seconds, so that a busy machine does not count.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import pc2dae
from pc2dae.model.pc2dae import LEAN, build
from pc2dae.simulate import plan_campaign, write_campaign
from pc2dae.training.fit import fit, judge
from pc2dae.training.flights import shared_suite
from pc2dae.training.objectives import objective_of, physics_loss
from pc2dae.training.run import material_of, settings_for
from pc2dae.windows.slicing import WINDOW, Crops, crops_at, random_crops, record_of, tiled_crops

Curve = list[tuple[float, float]]  # processor seconds, held-out loss


def main() -> None:
    """Run both loops and print how long each took to the same losses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=90.0, help="processor seconds given to the plain loop")
    limit = parser.parse_args().seconds
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        flights = [pc2dae.open_flight(path) for path in sorted(write_campaign(plan_campaign(1), Path(folder)))]
    suite = shared_suite(flights)
    material = material_of([record_of(flight, suite) for flight in flights], suite, seed=0)
    objective = objective_of("recorrupted", material.scaler, material.records, mixed=True)
    loss = physics_loss(LEAN, [len(family.channel) for family in suite.family])
    held_out = [objective(tiled_crops(material.records, material.held_out), np.random.default_rng(7))]

    def ours() -> Curve:
        curve: Curve = []
        torch.manual_seed(0)
        begun, settings = time.process_time(), settings_for("lean")
        fit(
            build("lean", suite, material.scaler),
            draw=lambda rng: objective(random_crops(material.records, material.train, rng, count=settings.batch), rng),
            loss=loss,
            held_out=held_out,
            settings=settings,
            report=lambda look: curve.append((time.process_time() - begun, look.held_out)),
        )
        return curve

    def plain() -> Curve:
        places = [(s, at) for s in material.train for at in range(s.start, s.stop - WINDOW + 1, 8)]
        windows = crops_at(material.records, places, WINDOW)
        rng, curve, step = np.random.default_rng(0), [], 0
        torch.manual_seed(0)
        network = build("lean", suite, material.scaler)
        optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
        begun = time.process_time()
        while time.process_time() - begun < limit:
            order = rng.permutation(len(places))
            for first in range(0, len(order), 32):
                index = order[first : first + 32]
                chosen = Crops(**{name: array[index] for name, array in vars(windows).items()})
                network.train()
                optimiser.zero_grad()
                sum(loss(network, objective(chosen, rng), step).values()).backward()
                optimiser.step()
                step += 1
                if step % 25 == 0:
                    curve.append((time.process_time() - begun, sum(judge(network, held_out, loss, step).values())))
        return curve

    a, b = ours(), plain()
    best_ours, best_plain = (min(curve, key=lambda point: point[1]) for curve in (a, b))
    print(f"ours:  best held-out loss {best_ours[1]:.4f} after {best_ours[0]:.1f} s (paper: 62.7 s of training)")
    print(f"plain: best held-out loss {best_plain[1]:.4f} after {best_plain[0]:.1f} s, of {limit:.0f} s")
    for target in sorted({round(best_plain[1] * f, 4) for f in (1.5, 1.2, 1.1, 1.05, 1.0)}, reverse=True):
        times = [next((t for t, value in curve if value <= target + 1e-9), None) for curve in (a, b)]
        shown = ["not reached" if t is None else f"{t:.1f} s" for t in times]
        ratio = f"{times[1] / times[0]:.1f}×" if times[0] and times[1] else "-"
        print(f"to {target:.4f}: ours {shown[0]}, plain {shown[1]}, ratio {ratio}")


if __name__ == "__main__":
    main()
