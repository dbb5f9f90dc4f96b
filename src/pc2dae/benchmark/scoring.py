"""Scores of one contender on one record: every metric as tidy rows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pc2dae.arrays import Floats, Mask
from pc2dae.benchmark.ambient import air_scores
from pc2dae.benchmark.cases import AMBIENT, Case
from pc2dae.benchmark.denoisers import cost_of, denoiser_of
from pc2dae.benchmark.plan import Contender
from pc2dae.denoiser import Estimate, Job
from pc2dae.filters import FILTERS
from pc2dae.metrics import leakage_scores, pair_scores, scales, score, with_means
from pc2dae.metrics.blind import negatives, smoothness
from pc2dae.metrics.reference import mae_improvement, snr_improvement
from pc2dae.noise import noise_level

if TYPE_CHECKING:
    import pandas as pd

WINDOW = 128  # samples for which inference time is reported
COLUMNS = ("part", "method", "dress", "family", "channel", "flight", "noise", "seed", "campaigns", "metric", "value",
           "parameters", "training_s", "inference_ms")  # fmt: skip


def score_contender(contender: Contender, case: Case, *, part: str, checkpoint: Path | None = None) -> pd.DataFrame:
    """The rows of one contender on one case; none if it is not applicable."""
    import pandas as pd

    denoiser = denoiser_of(contender, case, checkpoint)
    if denoiser is None:
        return pd.DataFrame(columns=list(COLUMNS))
    job = denoiser.prepare(case.flight, case.suite)
    started = time.process_time()
    estimate = job(case.values, case.environment, case.valid)
    spent = time.process_time() - started
    table = _flown(estimate, case) if case.noise in ("flight", "record") else _against(estimate, case)
    if case.noise == "flight" and _is_probed(contender):
        table = pd.concat([table, *_probed(contender, job, estimate, case)], ignore_index=True)
    cost = cost_of(contender, checkpoint)
    table = table.assign(
        part=part, method=contender.method, dress=contender.objective or contender.output_head,
        flight=case.flight_id, noise=case.noise,
        seed=contender.seed, campaigns=contender.campaigns, parameters=float(cost.parameters),
        training_s=float(cost.training_s), inference_ms=1000.0 * spent * WINDOW / case.values.shape[1],
    )  # fmt: skip
    return table[list(COLUMNS)]


def _flown(estimate: Estimate, case: Case) -> pd.DataFrame:
    """Blind metrics, and those against the truth where it is known."""
    import pandas as pd

    table = score(estimate, case.values, case.valid, case.suite, truth=case.truth)
    if case.truth is not None:
        table = pd.concat([table, with_means(_scaled_errors(estimate, case))], ignore_index=True)
    if case.ambient is None:
        return table
    sigma = noise_level(case.values, case.valid).sigma
    error = np.abs(estimate.value - case.ambient) / np.where(sigma > 0, sigma, np.nan)[:, None]
    means = [float(row[np.isfinite(row)].mean()) if np.isfinite(row).any() else np.nan for row in error]
    rows = [(n, case.suite.family_of(n), "ambient_error", m) for n, m in zip(case.suite.names, means, strict=True)]
    return pd.concat([table, with_means(rows)], ignore_index=True)


def _against(estimate: Estimate, case: Case) -> pd.DataFrame:
    """The metrics of the paper's injection table: error against the reference, and negative values."""
    truth = case.truth if case.truth is not None else np.full(case.values.shape, np.nan)
    seen = case.valid & np.isfinite(case.values)
    columns = {
        "mae_improvement": mae_improvement(estimate.value, case.values, truth, seen),
        "snr_improvement": snr_improvement(estimate.value, case.values, truth, seen),
        "negatives": negatives(estimate.value, seen),
        "smoothness": smoothness(estimate.value, case.values, seen),
    }
    names = case.suite.names
    rows = [
        (n, case.suite.family_of(n), m, float(v)) for m, x in columns.items() for n, v in zip(names, x, strict=True)
    ]
    more = air_scores(estimate, case) if case.noise == AMBIENT else []
    return with_means(rows + _scaled_errors(estimate, case) + more)


def _scaled_errors(estimate: Estimate, case: Case) -> list[tuple[str, str, str, float]]:
    """The error of each channel in units of its P99.5 − bound; NaN for a channel that never rises."""
    bound = np.array([[channel.lower_bound] for channel in case.suite.channels])
    truth = np.full(case.values.shape, np.nan) if case.truth is None else np.maximum(case.truth, bound)
    seen = case.valid & np.isfinite(case.values) & np.isfinite(truth)
    scale = scales(np.where(seen, truth, np.nan), bound[:, 0])
    error = np.abs(estimate.value - truth) / np.where(scale > 0, scale, np.nan)[:, None]
    means = [float(row[ok].mean()) if ok.any() else np.nan for row, ok in zip(error, seen, strict=True)]
    return [(n, case.suite.family_of(n), "scaled_error", m) for n, m in zip(case.suite.names, means, strict=True)]


def _is_probed(contender: Contender) -> bool:
    """Whether to probe, which takes twenty runs: only the first seed, and neither tuned filters nor the truth."""
    is_method = contender.output_head != "oracle" and contender.method != "truth"
    return is_method and contender.seed == 0 and not contender.is_aside


def _probed(contender: Contender, job: Job, estimate: Estimate, case: Case) -> list[pd.DataFrame]:
    """Metrics that need more runs: a duplicate withheld, a plume added to one channel (the last of each family)."""
    arrays = (case.values, case.environment, case.valid, case.suite)
    if contender.method not in FILTERS:
        asked = [family.channel[-1].name for family in case.suite.family]
        return [pair_scores(job, *arrays), leakage_scores(job, *arrays, channels=asked)]

    def alone(values: Floats, environment: Floats, valid: Mask) -> Estimate:
        return estimate  # a filter processes each channel separately

    still = [(n, case.suite.family_of(n), "leakage", 0.0) for n in case.suite.names]
    return [pair_scores(alone, *arrays), with_means(still)]
