"""Air with plumes for the tests of response times."""

from __future__ import annotations

import numpy as np


def air(seed: int = 0, rows: int = 1500) -> np.ndarray:
    """Puffs of 3 to 30 s."""
    rng = np.random.default_rng(seed)
    puffs = np.zeros(rows)
    for start in rng.integers(50, rows - 50, 14):
        puffs[start : start + rng.integers(3, 30)] += rng.gamma(2.0, 0.5)
    return puffs
