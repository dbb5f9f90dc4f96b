"""A clean flight as one row of the index: span, families, blind metrics, plumes and emission ratios."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pc2dae.calibration.budget import budget_of
from pc2dae.denoiser import Estimate
from pc2dae.flight.schema import suite_of
from pc2dae.metrics import ALL, score
from pc2dae.metrics.flight import denoised_suite, estimate_of, raw_arrays
from pc2dae.plumes import RATIOS, survey
from pc2dae.plumes.emission import NEEDED
from pc2dae.suite import Suite

METRICS = ("smoothness", "hf_reduction", "negatives", "mean_10s_change")
RATIO_COLUMNS = (*(name.replace("/", "_") for name in RATIOS), "mce")  # bc_co, nox_co, co_co2, …
FACTORS = ("co2", "co", "nox", "bc", "pm25")  # species whose emission factor has a column ef_<species> [g kg-1]


def row_of(clean: xr.Dataset) -> dict[str, Any]:
    """The index row of a clean flight; unknown figures are None."""
    suite, time = denoised_suite(clean), clean["time"].values
    return {
        "rows": int(clean.sizes["time"]),
        "start": _stamp(time[0]),
        "end": _stamp(time[-1]),
        "span_s": float((time[-1] - time[0]) / np.timedelta64(1, "s")) + 1 / suite.rate_hz,
        "suite": suite_of(clean).name,
        "families": ",".join(family.name for family in suite.family),
        "left_raw": str(clean.attrs.get("pc2dae_left_raw", "none")),
        "calibrated": ",".join(name for name in suite_of(clean).names if budget_of(clean, name) is not None),
        **_scores(clean, suite),
        **_plumes(clean),
        "model": str(clean.attrs["pc2dae_model"]),
        "model_sha256": str(clean.attrs["pc2dae_model_sha256"]),
    }


def _scores(clean: xr.Dataset, suite: Suite) -> dict[str, float | None]:
    """Blind metrics of each family and, first, their mean; family by family, so that a day at 10 Hz fits in memory."""
    found: dict[str, dict[str, float]] = {}
    for family in suite.family:
        part = suite.only([family.name])
        estimate: Estimate = estimate_of(clean, part)
        table = score(estimate, *raw_arrays(clean, part), part)
        means = table[(table["channel"] == ALL) & (table["family"] == family.name)]
        found[family.name] = dict(zip(means["metric"], means["value"], strict=True))
    row: dict[str, float | None] = {}
    for metric in METRICS:
        values = [means[metric] for means in found.values() if np.isfinite(means[metric])]
        row[metric] = _known(np.mean(values)) if values else None
        row |= {f"{metric}_{family}": _known(means[metric]) for family, means in found.items()}
    return row


def _plumes(clean: xr.Dataset) -> dict[str, int | float | None]:
    """Number of smoke encounters, the flight's ratios from integrals and emission factors with one-sigma errors."""
    found = survey(clean)
    row: dict[str, int | float | None] = {"plumes": len(found.intervals)}
    rows = found.ratios[(found.ratios["scope"] == "flight") & (found.ratios["method"] == "integral")]
    values: dict[str, Any] = {str(r["ratio"]).replace("/", "_"): r for r in rows.to_dict("records")}
    for name in RATIO_COLUMNS:
        row[name] = _known(values[name]["value"]) if name in values else None
        row[f"{name}_sigma"] = _known(values[name]["sigma"]) if name in values else None
    whole = found.emission_factors[found.emission_factors["scope"] == "flight"]
    factors: dict[str, Any] = {str(r["species"]): r for r in whole.to_dict("records")}
    for name in FACTORS:
        row[f"ef_{name}"] = _known(factors[name]["value"]) if name in factors else None
        row[f"ef_{name}_sigma"] = _known(factors[name]["sigma"]) if name in factors else None
    carbon = sum(found.totals[name].value for name in NEEDED) if factors else 0.0
    row["excess_carbon"] = carbon / suite_of(clean).rate_hz if factors else None  # [ppb s], weight of a flight
    return row


def _stamp(time: np.datetime64) -> str:
    return f"{pd.Timestamp(time).isoformat(timespec='milliseconds')}Z"


def _known(value: Any) -> float | None:
    """A number for JSON; None if not finite."""
    return float(f"{float(value):.9g}") if np.isfinite(value) else None
