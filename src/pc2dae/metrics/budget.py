"""Error budget: how much of a channel's error is noise, lag and calibration, and what denoising leaves of it.

    raw − ambient = (raw − response) + (response − instant) + (instant − ambient)
                         noise                lag                calibration

What is left of noise and lag is estimate − max(instant, bound); of a calibrated channel, whose calibration is reduced
too, estimate − max(ambient, bound). Sizes are mean absolute values in units of the raw noise σ, over observed samples
and over those in plumes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pc2dae.arrays import Array, Mask
from pc2dae.denoiser import Estimate
from pc2dae.metrics.reference import mean_where, true_plumes
from pc2dae.noise import noise_level
from pc2dae.suite import Suite

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("noise", "lag", "calibration", "left")
BUDGET = [f"budget_{part}{where}" for where in ("", "_plume") for part in PARTS]  # metrics


def budget_rows(
    answers: Mapping[str, Estimate],
    values: Array,
    valid: Mask,
    suite: Suite,
    *,
    target: Array,
    readings: Array,
    response: Array,
    instant: Array,
    ambient: Array,
) -> dict[str, list[tuple[str, str, str, float]]]:
    """Rows (channel, family, metric, value) of each method: what it leaves; of raw also the three parts [σ].

    `readings` are the raw values before calibration, `target` what each channel estimates.
    """
    sigma = noise_level(values, valid).sigma
    scale = np.where(sigma > 0, sigma, np.nan)
    bounded = np.maximum(target, np.array([[c.lower_bound] for c in suite.channels]))
    errors = {method: {"left": np.asarray(answer.value) - bounded} for method, answer in answers.items()}
    errors["raw"] |= {"noise": readings - response, "lag": response - instant, "calibration": instant - ambient}
    masks = {"": valid, "_plume": valid & true_plumes(bounded, sigma)}
    return {
        method: [
            (name, suite.family_of(name), f"budget_{part}{where}", float(size))
            for part, error in parts.items()
            for where, mask in masks.items()
            for name, size in zip(suite.names, mean_where(np.abs(error), mask) / scale, strict=True)
        ]
        for method, parts in errors.items()
    }


def budget_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Budget of the flight's own method from `evaluate`'s table: metrics by (family, channel); empty without a truth.

    Family means have channel "all"; the mean over families also has family "all".
    """
    is_left = scores["metric"].str.startswith("budget_left")
    own = scores["method"] == scores["method"].iloc[0]
    rows = scores[scores["metric"].isin(BUDGET) & np.where(is_left, own, scores["method"] == "raw")]
    table = rows.pivot(index=["family", "channel"], columns="metric", values="value")
    return table.reindex(index=rows.set_index(["family", "channel"]).index.unique(), columns=BUDGET)
