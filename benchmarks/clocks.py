"""How well the clock of one instrument is found from what it shares with another, and how often one is found by chance.

    python benchmarks/clocks.py --pairs 60

Pairs of 20 minutes that share a pressure (tests/align/test_clocks.py) with offsets of −30 … 30 s, then of 1 … 9
minutes, and drifts of 0 … 200 ppm; then as many records that share nothing. Exit code 1 if a clock was corrected that
should not have been.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from pc2dae.align.clocks import compare

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "align"))
from test_clocks import pair


def offsets(pairs: int, low_s: float, high_s: float, seed: int = 0) -> tuple[np.ndarray, int]:
    """Largest error of the corrected time in each record that was corrected [s]; and how many were not."""
    rng, errors, not_found = np.random.default_rng(seed), [], 0
    for n in range(pairs):
        offset, drift = rng.choice([-1, 1]) * rng.uniform(low_s, high_s), rng.uniform(0, 200)
        gps, other = pair(seed + n, offset, drift_ppm=drift)
        fit = compare(gps, other, "pressure")
        if fit is None or not fit.found:
            not_found += 1
            continue
        left = (fit.corrected(other).time - gps.time) / np.timedelta64(1, "s")
        errors.append(np.abs(left).max())
    return np.array(errors), not_found


def false_corrections(pairs: int, seed: int = 0) -> int:
    """Corrections of records that share nothing."""
    fits = (compare(pair(seed + n, 0.0)[0], pair(seed + n + 100_000, 0.0)[1], "pressure") for n in range(pairs))
    return sum(fit is not None and fit.found for fit in fits)


def main() -> int:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=60)
    pairs = parser.parse_args().pairs
    for low, high in ((0, 30), (60, 540)):
        errors, not_found = offsets(pairs, low, high)
        print(f"{len(errors)} of {pairs} offsets of {low} to {high} s found, {not_found} not")
        print("  error {:.3f} s median, {:.3f} s at 90 %, {:.3f} s at most".format(*np.quantile(errors, [0.5, 0.9, 1])))
    false = false_corrections(pairs)
    print(f"{false} of {pairs} independent records corrected")
    return int(false > 0)


if __name__ == "__main__":
    raise SystemExit(main())
