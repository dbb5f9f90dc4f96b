"""A clean flight as one row of the index: span, families, blind metrics, plumes and emission ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pc2dae.calibration.budget import budget_of
from pc2dae.denoiser import Estimate
from pc2dae.flight.schema import suite_of
from pc2dae.metrics import ALL, score
from pc2dae.metrics.flight import denoised_suite, estimate_of, raw_arrays
from pc2dae.plumes.emission import NEEDED, Fuel, factors_over
from pc2dae.plumes.flight_signals import flight_signals
from pc2dae.plumes.ratio_rows import LEAST_SNR, RATIOS
from pc2dae.plumes.ratios import Ratio, combustion_efficiency, integral_ratio
from pc2dae.plumes.signals import Signal, over_common
from pc2dae.plumes.species import have_ratio
from pc2dae.suite import Suite

METRICS = ("smoothness", "hf_reduction", "negatives", "mean_10s_change")
RATIO_COLUMNS = (*(name.replace("/", "_") for name in RATIOS), "mce")  # bc_co, nox_co, co_co2, …
FACTORS = ("co2", "co", "nox", "bc", "pm25")  # species whose emission factor has a column ef_<species> [g kg-1]
_UNKNOWN = Ratio(np.nan, np.nan)


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
    """Number of smoke encounters, the flight's ratios from integrals and emission factors with one-sigma errors.

    As in `survey`, without slopes and single encounters, which take most of its time and are not in the index.
    """
    suite = suite_of(clean)
    found = flight_signals(clean, suite)
    species, intervals = found.species, found.intervals
    emitted = {name: signal for name, signal in found.emitted.items() if name in (*FACTORS, "ch4")}
    factors = {name: one for name, (one, _) in factors_over(emitted, intervals, Fuel()).items()} if intervals else {}
    row: dict[str, int | float | None] = {"plumes": len(intervals)}
    row |= _with_sigma(RATIO_COLUMNS, _ratios(species, intervals) if intervals else {})
    row |= _with_sigma([f"ef_{name}" for name in FACTORS], {f"ef_{name}": factor for name, factor in factors.items()})
    carbon = sum(emitted[name].over(part).value for name in NEEDED for part in intervals) if factors else 0.0
    row["excess_carbon"] = carbon / suite.rate_hz if factors else None  # [ppb s], weight of a flight
    return row


def _ratios(species: Mapping[str, Signal], intervals: Sequence[tuple[int, int]]) -> dict[str, Ratio]:
    """Ratios of integrals and combustion efficiency, as far as their denominator is significant."""
    found: dict[str, Ratio] = {}
    for name, (above, below) in RATIOS.items():
        if not {above, below} <= species.keys():
            continue
        if have_ratio(species[above].units, species[below].units, above=above):
            pair = [species[above], species[below]]
            numerator, denominator = over_common(pair, intervals, pair[0].measured & pair[1].measured)
            if denominator.value > LEAST_SNR * denominator.sigma:
                found[name.replace("/", "_")] = integral_ratio(numerator, denominator)
                if name == "co/co2":
                    found["mce"] = combustion_efficiency(numerator, denominator)
    return {name: ratio for name, ratio in found.items() if ratio.sigma > 0}


def _with_sigma(names: Sequence[str], found: Mapping[str, Ratio]) -> dict[str, float | None]:
    """Two columns for each name, value and uncertainty; None if it was not found."""
    row: dict[str, float | None] = {}
    for name in names:
        ratio = found.get(name, _UNKNOWN)
        row |= {name: _known(ratio.value), f"{name}_sigma": _known(ratio.sigma)}
    return row


def _stamp(time: np.datetime64) -> str:
    return f"{pd.Timestamp(time).isoformat(timespec='milliseconds')}Z"


def _known(value: Any) -> float | None:
    """A number for JSON; None if not finite."""
    return float(f"{float(value):.9g}") if np.isfinite(value) else None
