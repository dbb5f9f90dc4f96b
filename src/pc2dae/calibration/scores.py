"""How good a calibration is on data it has not seen: the figures that users, US-EPA and the EU expect.

US-EPA targets for fixed sites: Duvall et al. 2021, EPA/600/R-20/279 (O3) and EPA/600/R-20/280 (PM2.5), and EPA's
supplement of 2024 for NO2, CO and SO2. EU: Directive 2008/50/EC, Annex I, expanded relative uncertainty (k = 2) of
indicative measurements, after the Guide to the Demonstration of Equivalence (2010). Neither is made for drones.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pc2dae.arrays import Array, Mask
from pc2dae.calibration.fit import rms
from pc2dae.errors import CalibrationError
from pc2dae.suite import conversion

_Z90 = 1.6449
_HOUR_S = 3600.0
_LEAST = 24  # means for which EPA's targets are applied


@dataclass(frozen=True)
class _Target:
    units: str
    slope: float  # largest |slope − 1|
    intercept: float
    r2: float
    rmse: float
    eu_percent: float  # expanded uncertainty of indicative measurements
    eu_limit: float  # the concentration at which it applies [units]
    nrmse: float = 0.0  # percent; met if either this or `rmse` is
    average_s: float = _HOUR_S  # of the means that EPA compares


# Limit and target values of the Directive: O3 120 µg m-3, NO2 200, SO2 350, CO 10 mg m-3, as mole fractions at 20 °C;
# PM2.5 25 µg m-3.
TARGETS = {
    "o3": _Target("ppb", 0.2, 5.0, 0.80, 5.0, 30.0, 60.0),
    "co": _Target("ppb", 0.2, 50.0, 0.80, 150.0, 25.0, 8600.0),
    "no2": _Target("ppb", 0.35, 5.0, 0.70, 15.0, 25.0, 105.0),
    "so2": _Target("ppb", 0.35, 5.0, 0.70, 15.0, 25.0, 132.0),
    "pm25": _Target("ug m-3", 0.35, 5.0, 0.70, 7.0, 50.0, 25.0, nrmse=30.0, average_s=86_400.0),
}
EU_REMARK = "EU data quality objectives are made for fixed sites and hold at the limit value"


def held_out_scores(
    name: str,
    species: str,
    units: str,
    estimate: Array,
    sigma: Array | None,
    air: Array,
    *,
    step_s: float,
    bound: float = 0.0,
) -> dict[str, Any]:
    """Figures of one channel: estimate against air, with 90 % intervals of slope and intercept, and its targets.

    They are of the estimate as integrals use it; `rmse_bounded` and `bias_bounded` of values cut at the lower bound.
    """
    some = np.isfinite(estimate) & np.isfinite(air)
    if some.sum() < 3:
        raise CalibrationError(f"{name} has no estimate in the part to be scored", hint="check --test-from")
    x, y = air[some], estimate[some]
    error, bounded = y - x, np.maximum(y, bound) - x
    slope, intercept = np.polyfit(x, y, 1) if np.ptp(x) > 0 else (np.nan, np.nan)
    scatter = _block_scatter(x, y, step_s)
    row: dict[str, Any] = {
        "channel": name,
        "units": units,
        "samples": int(some.sum()),
        "average_s": step_s,
        "slope": float(slope),
        "slope_interval": float(_Z90 * scatter[0]),
        "intercept": float(intercept),
        "intercept_interval": float(_Z90 * scatter[1]),
        "r2": float(np.corrcoef(x, y)[0, 1] ** 2) if np.ptp(x) > 0 and np.ptp(y) > 0 else np.nan,
        "rmse": rms(error),
        "nrmse": 100 * rms(error) / abs(float(x.mean())) if x.mean() else np.nan,
        "mae": float(np.abs(error).mean()),
        "bias": float(error.mean()),
        "rmse_bounded": rms(bounded),
        "bias_bounded": float(bounded.mean()),
        "coverage_90": None if sigma is None else 100 * float(np.mean(np.abs(error) <= _Z90 * sigma[some])),
    }
    return row | _epa(species, units, estimate, air, some, step_s) | _eu(species, units, x, y)


def _block_scatter(x: Array, y: Array, step_s: float) -> tuple[float, float]:
    """Standard uncertainty of slope and intercept from resampled hours."""
    blocks = max(int(len(x) * step_s // _HOUR_S), 6)
    edges = np.linspace(0, len(x), blocks + 1).astype(int)
    parts = [np.arange(a, b) for a, b in pairwise(edges)]
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        at = np.concatenate([parts[k] for k in rng.integers(0, blocks, blocks)])
        if np.ptp(x[at]) > 0:
            found.append(np.polyfit(x[at], y[at], 1))
    return tuple(np.std(found, axis=0)) if found else (np.nan, np.nan)


def _epa(species: str, units: str, estimate: Array, air: Array, some: Mask, step_s: float) -> dict[str, Any]:
    """Whether means of an hour (PM2.5: a day) meet EPA's targets: "met", "not met" or "not applicable"."""
    target = TARGETS.get(species)
    factor = None if target is None else conversion(units, target.units)
    if target is None or factor is None:
        return {"epa": "not applicable"}
    size = max(round(target.average_s / step_s), 1)
    count = len(estimate) // size
    ok = some[: count * size].reshape(count, size)
    enough = ok.sum(axis=1) >= 0.75 * size
    if enough.sum() < _LEAST:
        return {"epa": "not applicable"}
    x, y = (
        factor[0] * np.mean(v[: count * size].reshape(count, size)[enough], axis=1, where=ok[enough])
        for v in (air, estimate)
    )
    slope, intercept = np.polyfit(x, y, 1)
    met = (
        abs(slope - 1) <= target.slope
        and abs(intercept) <= target.intercept
        and np.corrcoef(x, y)[0, 1] ** 2 >= target.r2
        and (rms(y - x) <= target.rmse or 100 * rms(y - x) <= target.nrmse * x.mean())
    )
    return {"epa": "met" if met else "not met"}


def _eu(species: str, units: str, x: Array, y: Array) -> dict[str, Any]:
    """Relative expanded uncertainty [%] at the limit value, or where the record ends below it, and its objective.

    U_r = 2·√(RSS/(n − 2) + [b0 + (b1 − 1)·x]²)/x with an orthogonal regression of y on x.
    """
    target = TARGETS.get(species)
    factor = None if target is None else conversion(units, target.units)
    if target is None or factor is None or len(x) < 10 or np.ptp(x) == 0:
        return {"eu": "not applicable"}
    level = min(target.eu_limit / factor[0], float(np.max(x)))
    return {
        "eu_uncertainty_percent": float(expanded_uncertainty(x, y, np.array([level]))[0]),
        "eu_level": level,
        "eu": f"objective {target.eu_percent:g} %",
    }


def expanded_uncertainty(x: Array, y: Array, at: Array) -> Array:
    """Relative expanded uncertainty (k = 2) [%] of estimates `y` of `x`, at concentrations `at`."""
    dx, dy = x - x.mean(), y - y.mean()
    sxx, syy, sxy = float(dx @ dx), float(dy @ dy), float(dx @ dy)
    b1 = (syy - sxx + np.hypot(syy - sxx, 2 * sxy)) / (2 * sxy) if sxy else 0.0
    b0 = y.mean() - b1 * x.mean()
    rest = float(np.sum((y - b0 - b1 * x) ** 2)) / max(len(x) - 2, 1)
    return np.asarray(200 * np.sqrt(rest + (b0 + (b1 - 1) * at) ** 2) / np.maximum(np.abs(at), 1e-12))
