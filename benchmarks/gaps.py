"""What the bridging of gaps gives: adaptive with and without it, in the gaps of development flights.

    python benchmarks/gaps.py [FLIGHT ...]      # default: the ten of the campaigns 1011 and 1012

Printed for each family: gaps in which a plume was taken from another channel, mean |error| there in units of the
channel's noise, and the share of truth inside the 90 % interval, before → after.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from unittest.mock import patch

import numpy as np

from pc2dae.benchmark.cases import simulated_cases
from pc2dae.edge.gap_fill import bridged
from pc2dae.noise import noise_level
from pc2dae.registry import load_model

FLIGHTS = [f"{campaign}-{flight}" for campaign in (1011, 1012) for flight in range(1, 6)]
LAST_DEVELOPMENT = 1100  # held-out flights are not for looking


def main() -> None:
    """Print one line per family."""
    chosen = sys.argv[1:] or FLIGHTS
    if any(int(name.split("-")[0]) >= LAST_DEVELOPMENT for name in chosen):
        sys.exit(f"only flights of campaigns below {LAST_DEVELOPMENT}: the others are held out")
    found: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for name in chosen:
        case = simulated_cases(name)[0]
        seen = case.valid & np.isfinite(case.values)
        job = load_model("adaptive").prepare(case.flight, case.suite)
        with patch("pc2dae.edge.adaptive.bridged", lambda value, spread, _: (value, spread)):
            plain = job(case.values, case.environment, case.valid)
        value, spread = bridged(plain.unbounded, plain.sigma, seen)
        noise = noise_level(case.values, case.valid).sigma
        for row, channel in enumerate(case.suite.names):
            moved = np.flatnonzero(value[row] != plain.unbounded[row])
            moved = moved[~seen[row, moved] & np.isfinite(value[row, moved])]
            bound = case.suite[channel].lower_bound
            for gap in np.split(moved, np.flatnonzero(np.diff(moved) > 1) + 1) if len(moved) else []:
                pairs = ((plain.unbounded, plain.sigma), (value, spread))
                errors = [np.abs(np.maximum(y[row, gap], bound) - case.truth[row, gap]) for y, _ in pairs]
                inside = [np.mean(e <= 1.645 * s[row, gap]) for e, (_, s) in zip(errors, pairs, strict=True)]
                found[case.suite.family_of(channel)].append((*(e.mean() / noise[row] for e in errors), *inside))
    for family, gaps in found.items():
        before, after, covered, covers = np.mean(gaps, axis=0)
        print(f"{family:6}{len(gaps):4} gaps   error {before:5.1f} → {after:4.1f} σ   "
              f"inside 90 %: {100 * covered:3.0f} → {100 * covers:3.0f} %")  # fmt: skip


if __name__ == "__main__":
    main()
