"""Quality control: per-sample flags and keep/exclude decisions per family."""

from pc2dae.qc.families import Verdict, judge_families
from pc2dae.qc.flags import has_low_zero, loaded_filters, shares, without_observation
from pc2dae.qc.screen import screen

__all__ = ["Verdict", "has_low_zero", "judge_families", "loaded_filters", "screen", "shares", "without_observation"]
