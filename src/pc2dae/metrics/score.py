"""All metrics of an estimate as a tidy table: per channel, per family and overall."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.denoiser import Estimate, Job
from pc2dae.metrics import blind, reference
from pc2dae.metrics.ratio import ratio_error
from pc2dae.noise import noise_level
from pc2dae.suite import Suite

if TYPE_CHECKING:
    import pandas as pd


ALL = "all"  # replaces the channel or family name in rows with means
RATIO = "ratio"  # family name of emission ratios


def score(
    estimate: Estimate,
    values: Floats,
    valid: Mask,
    suite: Suite,
    *,
    truth: Floats | None = None,
    raw_truth: Floats | None = None,
    sigma: Floats | None = None,
) -> pd.DataFrame:
    """Metrics of an estimate: columns channel, family, metric, value.

    Family means have channel "all"; the mean over families also has family "all". `estimate` and the raw `values` are
    in the order of `suite.names`; `truth` is what they estimate, clipped here at the channels' bounds, and `raw_truth`
    the same when the raw values were sampled, if that differs; `sigma` is the raw noise level, estimated from `values`
    if not given.
    """
    seen = valid & np.isfinite(values)
    noise = noise_level(values, seen).sigma if sigma is None else np.asarray(sigma, np.float64)
    table = _blind(estimate, values, seen, noise)
    if truth is not None:
        table |= _reference(estimate, values, seen, noise, truth, truth if raw_truth is None else raw_truth, suite)
    rows = [
        (name, suite.family_of(name), metric, float(value))
        for metric, column in table.items()
        for name, value in zip(suite.names, column, strict=True)
    ]
    if truth is not None:
        bound = np.array([[c.lower_bound] for c in suite.channels])
        errors = ratio_error(estimate.unbounded, np.maximum(truth, bound), noise, suite)
        rows += [(name, RATIO, "ratio_error", value) for name, value in errors.items()]
    return with_means(rows)


def pair_scores(job: Job, values: Floats, environment: Floats, valid: Mask, suite: Suite) -> pd.DataFrame:
    """`pair_agreement` of each sensor with a duplicate, with the duplicate withheld from the denoiser."""
    rows = []
    for pair in suite.duplicates():
        for name, other in (pair, pair[::-1]):
            own, partner = suite.names.index(name), suite.names.index(other)
            visible = valid.copy()
            visible[partner] = False
            output = job(np.where(visible, values, np.nan), environment, visible).value[own]
            both = valid[own] & valid[partner]
            rows.append((name, suite.family_of(name), "pair_agreement",
                         blind.pair_agreement(output, values[own], values[partner], both)))  # fmt: skip
    return with_means(rows)


def leakage_scores(
    job: Job, values: Floats, environment: Floats, valid: Mask, suite: Suite, *, channels: list[str] | None = None
) -> pd.DataFrame:
    """`leakage` from each channel, or from `channels` only; runs the denoiser once per channel."""
    sigma = noise_level(values, valid).sigma
    requested = [suite.names.index(name) for name in (suite.names if channels is None else channels)]
    moved = reference.leakage(lambda x: job(x, environment, valid).value, values, sigma, channels=requested)
    return with_means([(n, suite.family_of(n), "leakage", float(moved[suite.names.index(n)])) for n in suite.names])


def with_means(rows: list[tuple[str, str, str, float]]) -> pd.DataFrame:
    """Append family means and the mean over families to the rows; means ignore NaN."""
    import pandas as pd

    table = pd.DataFrame(rows, columns=["channel", "family", "metric", "value"])
    if table.empty:
        return table
    families = table.groupby(["family", "metric"], sort=False)["value"].mean().reset_index()
    families.insert(0, "channel", ALL)
    overall = families.groupby("metric", sort=False)["value"].mean().reset_index()
    overall.insert(0, "channel", ALL)
    overall.insert(1, "family", ALL)
    return pd.concat([table, families, overall], ignore_index=True)


def _blind(estimate: Estimate, values: Floats, seen: Mask, sigma: Floats) -> dict[str, Array]:
    out = estimate.value
    return {
        "smoothness": blind.smoothness(out, values, seen),
        "hf_reduction": blind.hf_reduction(out, values, seen),
        "negatives": blind.negatives(out, seen),
        "mean_10s_change": blind.mean_10s_change(out, values, seen, sigma),
    }


def _reference(
    estimate: Estimate, values: Floats, seen: Mask, sigma: Floats, exact: Floats, exact_raw: Floats, suite: Suite
) -> dict[str, Array]:
    bound = np.array([c.lower_bound for c in suite.channels])
    truth, raw_truth = (np.maximum(x, bound[:, None]) for x in (exact, exact_raw))
    out = estimate.value
    shifted = values if exact_raw is exact else values - raw_truth + truth  # with their errors when they were sampled
    table = {
        "mae_improvement": reference.mae_improvement(out, shifted, truth, seen),
        "snr_improvement": reference.snr_improvement(out, shifted, truth, seen),
    } | reference.plume_scores(out, estimate.unbounded, truth, sigma)
    table["edge_error"] = table["edge_error"] / suite.rate_hz
    if estimate.sigma is not None:
        table |= reference.interval_scores(out, estimate.unbounded, estimate.sigma, truth, sigma, bound)
    return table
