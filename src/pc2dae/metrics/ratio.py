"""Error of emission ratios after denoising, relative to the truth, over the true plume encounters."""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array, Floats
from pc2dae.metrics.plume_rule import background, threshold
from pc2dae.plumes import RATIOS, extents
from pc2dae.plumes.encounters import widened
from pc2dae.plumes.species import sensors
from pc2dae.suite import Suite
from pc2dae.suite.species import PPB

SCORED = ("bc/co", "co/co2")  # MCE is a function of CO/CO₂ but insensitive to its error


def ratio_error(unbounded: Floats, truth: Floats, sigma: Floats, suite: Suite) -> dict[str, float]:
    """Absolute relative error of the flight's integrated ΔBC/ΔCO and ΔCO/ΔCO₂ [%], from the unbounded estimate."""
    true = _species(truth, sigma, suite)
    own = _species(unbounded, sigma, suite)
    errors = {}
    for name in SCORED:
        above, below = RATIOS[name]
        if above in true and below in true:
            tracer = "co" if "co" in true else below
            limit = float(threshold(true[tracer][None], np.zeros(1))[0])
            parts = widened(extents(true[tracer], limit), _margin(suite), truth.shape[-1])
            ratios = [_ratio(excess, above, below, parts) for excess in (own, true)]
            errors[name] = float(100 * abs(ratios[0] / ratios[1] - 1)) if parts and ratios[1] else np.nan
    return errors


def _species(values: Floats, sigma: Floats, suite: Suite) -> dict[str, Array]:
    """Excess of each species over its background: mean of its sensors weighted by 1/σ², gases in ppb."""
    excess = np.asarray(values, np.float64) - background(values, sigma)
    result = {}
    for species, names in sensors(suite).items():
        rows = [suite.names.index(name) for name in names]
        rows = [r for r in rows if sigma[r] > 0 and np.isfinite(excess[r]).any()]
        if rows:
            scale = np.array([PPB.get(suite.channels[r].units, 1.0) for r in rows])
            weight = 1.0 / (np.asarray(sigma)[rows] * scale) ** 2
            result[species] = np.nan_to_num(((weight * scale)[:, None] * excess[rows]).sum(axis=0) / weight.sum())
    return result


def _ratio(excess: dict[str, Array], above: str, below: str, parts: list[tuple[int, int]]) -> float:
    sums = [sum(float(excess[s][a:b].sum()) for a, b in parts) if s in excess else np.nan for s in (above, below)]
    return sums[0] / sums[1] if sums[1] else np.nan


def _margin(suite: Suite) -> int:
    scored = {species for ratio in SCORED for species in RATIOS[ratio]}
    chosen = [suite[name].t90_s or 0.0 for s, names in sensors(suite).items() if s in scored for name in names]
    return int(np.ceil(max(chosen, default=0.0) * suite.rate_hz)) + 2
