"""Metrics of a denoised flight and of the reference estimates raw, clip and constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pc2dae.arrays import Array, Mask
from pc2dae.calibration.budget import budget_of
from pc2dae.denoiser import Denoiser, Estimate
from pc2dae.errors import FlightError
from pc2dae.flags import NOT_MEASURED
from pc2dae.flight.schema import check_flight, environment_array
from pc2dae.flight.truth import truth_at, truth_name
from pc2dae.metrics.budget import budget_rows
from pc2dae.metrics.reference import mean_where
from pc2dae.metrics.score import leakage_scores, pair_scores, score, with_means
from pc2dae.noise import noise_level
from pc2dae.plumes.duplicates import own_uncertainty
from pc2dae.suite import Suite

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

SAMPLED = ("raw", "clip")  # reference estimates at the times of the samples; others are at the centres of seconds


def score_flight(clean: xr.Dataset, *, truth: xr.Dataset | None = None, with_references: bool = True) -> pd.DataFrame:
    """Metrics of a denoised flight and of reference estimates: columns method, channel, family, metric, value.

    Methods are the flight's model, then raw, clip, constant and, if known, truth: a channel whose target is "ambient"
    is scored against `<name>_instant`, others against `<name>_response`, at or above their bounds.
    """
    import pandas as pd

    check_flight(clean, level="denoised")
    suite = denoised_suite(clean)
    values, valid = raw_arrays(clean, suite)
    exact = None if truth is None else target_truth(truth, clean, suite)
    exact_raw = None if truth is None else target_truth(truth, clean, suite, of_samples=True)
    answers = _answers(clean, suite, values, valid, exact)
    beside = {} if truth is None else _truth_rows(answers, values, valid, truth, clean, suite)
    tables = []
    scored = answers if with_references else list(answers)[:1]
    for method in scored:
        estimate = answers[method]
        table = score(
            estimate, values, valid, suite, truth=exact_raw if method in SAMPLED else exact, raw_truth=exact_raw
        )
        if method in beside:
            table = pd.concat([table, with_means(beside[method])], ignore_index=True)
        table.insert(0, "method", method)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def score_rerun(clean: xr.Dataset, denoiser: Denoiser) -> pd.DataFrame:
    """`pair_agreement` and `leakage` of the denoiser that made a flight, which rerun it."""
    import pandas as pd

    suite = denoised_suite(clean)
    values, valid = raw_arrays(clean, suite)
    raw = clean.assign({name: clean[f"{name}_raw"] for name in suite.names if f"{name}_raw" in clean})
    job, air = denoiser.prepare(raw, suite), environment_array(clean)
    table = pd.concat([run(job, values, air, valid, suite) for run in (pair_scores, leakage_scores)])
    table.insert(0, "method", str(clean.attrs.get("pc2dae_model", "estimate")))
    return table


def denoised_suite(clean: xr.Dataset) -> Suite:
    """Sub-suite of the families with at least one denoised channel."""
    suite = check_flight(clean)
    families = [f.name for f in suite.family if any(f"{c.name}_raw" in clean for c in f.channel)]
    if not families:
        raise FlightError("no channel of the flight was denoised", hint="run `pc2dae denoise` first")
    return suite.only(families)


def raw_arrays(clean: xr.Dataset, suite: Suite) -> tuple[Array, Mask]:
    """Input values of a denoised flight (channel, time) and the mask of observations."""
    values = np.stack([_column(clean, f"{n}_raw", n) for n in suite.names])
    flags = np.stack([clean.variables[f"qc_{n}"].values & NOT_MEASURED for n in suite.names])
    return values, np.isfinite(values) & (flags == 0)


def target_truth(truth: xr.Dataset, clean: xr.Dataset, suite: Suite, *, of_samples: bool = False) -> Array:
    """What each channel of a denoised flight estimates, from a truth file, at the flight's times (channel, time)."""
    names = [truth_name(clean, n) for n in suite.names]
    for n, name in zip(suite.names, names, strict=True):
        if name not in truth and f"{n}_response" in truth:
            raise FlightError(
                f"the truth has no '{name}' to score the lag-corrected '{n}' against",
                hint="it is from an older version: run `pc2dae simulate` again",
            )
    return truth_array(truth, clean, names, of_samples=of_samples)


def truth_array(truth: xr.Dataset, clean: xr.Dataset, names: list[str], *, of_samples: bool = False) -> Array:
    """Variables of a truth file at the flight's times (variable, time); NaN for those it has not.

    With `of_samples`, readings are at the times of its samples, as its raw data.
    """
    available = [n for n in names if n in truth]
    if not available:
        raise FlightError(f"the truth has no '{names[0]}'", hint="pass the .truth.nc that `pc2dae simulate` wrote")
    at = truth_at(truth[available], clean, of_samples=of_samples)
    if not any(np.isfinite(at[n].values).any() for n in available):
        raise FlightError(
            f"the truth ({truth['time'].values[0]} on) and the flight ({clean['time'].values[0]} on) share no time",
            hint="is it the truth of another flight?",
        )
    return np.stack([_column(at, n) for n in names])


def estimate_of(clean: xr.Dataset, suite: Suite) -> Estimate:
    """Estimate stored in a denoised flight."""
    value = np.stack([_column(clean, n) if f"{n}_raw" in clean else _column(clean, "") for n in suite.names])
    unbounded = np.stack([_column(clean, f"{n}_unbounded") for n in suite.names])
    unknown = np.full(clean.sizes["time"], np.nan)
    stated = [_scored_uncertainty(clean, n) for n in suite.names]
    sigma = np.stack([unknown if s is None else s for s in stated]) if any(s is not None for s in stated) else None
    return Estimate(value, unbounded, sigma)


def _scored_uncertainty(clean: xr.Dataset, name: str) -> Array | None:
    """The uncertainty of a channel; until it is calibrated without its disagreement with duplicates.

    An uncalibrated channel is scored against its own noise-free reading, of which duplicates say nothing.
    """
    if name in clean and budget_of(clean, name) is None:
        return own_uncertainty(clean, name)
    return _column(clean, f"{name}_uncertainty") if f"{name}_uncertainty" in clean else None


def _answers(clean: xr.Dataset, suite: Suite, values: Array, valid: Mask, exact: Array | None) -> dict[str, Estimate]:
    """Estimate of the flight's model, and the reference estimates."""
    steps = np.arange(values.shape[-1])
    raw = np.full(values.shape, np.nan)
    for row, series, seen in zip(raw, values, valid, strict=True):
        if seen.any():
            row[:] = np.interp(steps, steps[seen], series[seen])
    bound = np.array([[c.lower_bound] for c in suite.channels])
    mean = np.array(
        [[series[seen].mean() if seen.any() else np.nan] for series, seen in zip(values, valid, strict=True)]
    )
    flat = np.broadcast_to(mean, values.shape)
    answers = {str(clean.attrs.get("pc2dae_model", "estimate")): estimate_of(clean, suite)}
    answers |= {
        "raw": Estimate(raw, raw),
        "clip": Estimate(np.maximum(raw, bound), raw),
        "constant": Estimate(flat, flat),
    }
    if exact is not None:
        answers["truth"] = Estimate(np.maximum(exact, bound), np.maximum(exact, bound))
    return answers


def _truth_rows(
    answers: dict[str, Estimate], values: Array, valid: Mask, truth: xr.Dataset, clean: xr.Dataset, suite: Suite
) -> dict[str, list[tuple[str, str, str, float]]]:
    """`ambient_error` of each method, mean |estimate − ambient| [σ], and the error budget, as far as known."""
    kinds = {
        kind: truth_array(truth, clean, [f"{n}_{kind}" for n in suite.names], of_samples=True)
        for kind in ("response", "instant", "ambient")
        if any(f"{n}_{kind}" in truth for n in suite.names)
    }
    if "ambient" not in kinds:
        return {}
    sigma = noise_level(values, valid).sigma
    scale = np.where(sigma > 0, sigma, np.nan)
    ambient = kinds["ambient"]
    rows: dict[str, list[tuple[str, str, str, float]]] = {method: [] for method in answers}
    if len(kinds) == 3:
        calibrated = np.array([[truth_name(clean, n).endswith("_ambient")] for n in suite.names])
        target = np.where(calibrated, ambient, kinds["instant"])
        readings = np.stack([_column(clean, f"{n}_uncalibrated", f"{n}_raw", n) for n in suite.names])
        rows = budget_rows(answers, values, valid, suite, target=target, readings=readings, **kinds)
    for method, estimate in answers.items():
        means = mean_where(np.abs(np.asarray(estimate.value) - ambient), np.isfinite(ambient)) / scale
        rows[method] += [
            (n, suite.family_of(n), "ambient_error", float(mean)) for n, mean in zip(suite.names, means, strict=True)
        ]
    return rows


def _column(flight: xr.Dataset, *names: str) -> Array:
    """First variable of `names` present in the flight, as float64; NaN if none is."""
    found: Any = next((flight.variables[n].values for n in names if n in flight), np.full(flight.sizes["time"], np.nan))
    return np.asarray(found, np.float64)
