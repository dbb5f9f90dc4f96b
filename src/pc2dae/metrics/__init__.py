"""Metrics: `blind` without truth, `reference` against truth, `score` for all of them as a tidy table."""

from pc2dae.metrics.compare import Difference, paired_difference
from pc2dae.metrics.flight import score_flight, score_rerun
from pc2dae.metrics.injection import LEVELS, inject, scales
from pc2dae.metrics.score import ALL, RATIO, leakage_scores, pair_scores, score, with_means

__all__ = [
    "ALL",
    "LEVELS",
    "RATIO",
    "Difference",
    "inject",
    "leakage_scores",
    "pair_scores",
    "paired_difference",
    "scales",
    "score",
    "score_flight",
    "score_rerun",
    "with_means",
]
