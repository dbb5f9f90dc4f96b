"""Metrics against the truth: functions on (channel, time) arrays that return one value per channel.

The truth is max(x, bound), with x the reading without noise, and without lag where that was corrected. σ is the noise
level of the raw data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.metrics.plume_rule import background, threshold
from pc2dae.plumes import find_encounters, half_rise, in_plume

_LEAST_SNR = 5.0  # minimum SNR of a true peak to be scored
_Z90 = 1.645
_AROUND = 5  # samples before and after an encounter included in its integral


def mae_improvement(output: Floats, input: Floats, truth: Floats, valid: Mask) -> Array:
    """100·(1 − MAE(output)/MAE(input)) [%] over observed samples."""
    after, before = (mean_where(np.abs(np.asarray(x) - truth), valid) for x in (output, input))
    share = np.divide(after, before, where=before > 0, out=np.full(before.shape, np.nan))
    return np.asarray(100.0 * (1.0 - share))


def snr_improvement(output: Floats, input: Floats, truth: Floats, valid: Mask) -> Array:
    """10·log10(MSE(input)/MSE(output)) [dB] over observed samples; NaN instead of infinity for the truth itself."""
    after, before = (mean_where((np.asarray(x) - truth) ** 2, valid) for x in (output, input))
    ratio = np.divide(before, after, where=(after > 0) & (before > 0), out=np.full(before.shape, np.nan))
    return np.asarray(10.0 * np.log10(ratio))


def plume_scores(value: Floats, unbounded: Floats, truth: Floats, sigma: Floats) -> dict[str, Array]:
    """Plume metrics of each channel, evaluated at the true encounters.

    `encounters`: number of true encounters; `missed`: those not detected; `false`: detections that overlap no true
    encounter. Over true peaks with SNR ≥ 5: `peak_bias`, mean error of the peak height [%]; `edge_error`, mean absolute
    shift of the half-rise [samples]; `excess_error`, mean absolute error of the integral of the unbounded estimate [%].
    `background_bias`: mean error outside plumes [σ].
    """
    level, limit = background(truth, sigma), threshold(truth, sigma)
    rises, sums = (np.asarray(x, np.float64) - background(x, sigma) for x in (value, unbounded))
    clean = ~in_plume(np.asarray(truth, np.float64) - level, limit[:, None]) & np.isfinite(truth)
    bias = mean_where(np.asarray(value, np.float64) - truth, clean)
    scale = np.where(np.asarray(sigma) > 0, sigma, np.nan)
    rows = [
        _plumes(truth[c] - level[c], rises[c], sums[c], float(limit[c]), float(scale[c])) for c in range(len(truth))
    ]
    scores = {name: np.array([row[name] for row in rows], np.float64) for name in rows[0]}
    return scores | {"background_bias": bias / scale}


def _plumes(true: Array, rise: Array, total: Array, limit: float, sigma: float) -> dict[str, float]:
    if not (np.isfinite(true).any() and np.isfinite(rise).any()):
        return dict.fromkeys(("encounters", "missed", "false", "peak_bias", "edge_error", "excess_error"), np.nan)
    real = find_encounters(true, limit)
    found = find_encounters(rise, limit)
    strong = [e for e in real if e.peak >= _LEAST_SNR * sigma]
    parts = [slice(e.start, e.stop) for e in strong]
    wide = [slice(max(e.start - _AROUND, 0), e.stop + _AROUND) for e in strong]
    with_data = [np.isfinite(rise[p]).all() for p in wide]
    heights = [100 * (rise[p].max() / true[p].max() - 1) for p, ok in zip(parts, with_data, strict=True) if ok]
    edges = [_edge(rise, e) - half_rise(true, e) for e, ok in zip(strong, with_data, strict=True) if ok]
    sums = [100 * abs(total[p].sum() / true[p].sum() - 1) for p, ok in zip(wide, with_data, strict=True) if ok]
    return {
        "encounters": len(real),
        "missed": sum(not any(f.start < e.stop and e.start < f.stop for f in found) for e in real),
        "false": sum(not any(f.start < e.stop and e.start < f.stop for e in real) for f in found),
        "peak_bias": _average(heights),
        "edge_error": _average(np.abs(edges)),
        "excess_error": _average(sums),
    }


def _edge(excess: Array, encounter: Any) -> float:
    """Half-rise of the estimate within a true encounter, relative to the estimate's own peak."""
    peak_at = encounter.start + int(np.argmax(excess[encounter.start : encounter.stop]))
    first = max(encounter.start - _AROUND, 0)
    return half_rise(excess, type(encounter)(first, encounter.stop, peak_at, float(excess[peak_at])))


def interval_scores(
    value: Floats, unbounded: Floats, spread: Floats, truth: Floats, sigma: Floats, bound: Floats
) -> dict[str, Array]:
    """Calibration of a stated uncertainty `spread`: 90 % coverage [%] overall, in plumes and background; width; CRPS.

    The interval is value ± 1.645·spread, truncated at the bound; `width_90` and `crps` are in units of the raw noise σ.
    The CRPS assumes a normal distribution around the unbounded estimate, censored at the bound (Gneiting & Raftery
    2007, doi:10.1198/016214506000001437).
    """
    low = np.maximum(value - _Z90 * spread, np.asarray(bound)[:, None])
    high = np.maximum(value + _Z90 * spread, low)
    known = np.isfinite(truth) & np.isfinite(low) & np.isfinite(high)
    inside = (truth >= low - 1e-9 * np.abs(low)) & (truth <= high)
    inside_plume = true_plumes(truth, sigma)
    scale = np.where(np.asarray(sigma) > 0, sigma, np.nan)
    return {
        "coverage_90": 100 * mean_where(inside, known),
        "coverage_90_plume": 100 * mean_where(inside, known & inside_plume),
        "coverage_90_background": 100 * mean_where(inside, known & ~inside_plume),
        "width_90": mean_where(high - low, known) / scale,
        "crps": mean_where(censored_crps(truth, unbounded, spread, np.asarray(bound)[:, None]), known) / scale,
    }


def censored_crps(truth: Floats, mean: Floats, sigma: Floats, bound: Floats) -> Array:
    """Continuous ranked probability score of N(mean, σ²) censored at `bound`; requires truth ≥ bound.

    σ·{z(2Φ(z) − 1) + 2φ(z) − 1/√π − [lΦ(l)² + 2φ(l)Φ(l) − Φ(√2 l)/√π]}, z = (truth − mean)/σ, l = (bound − mean)/σ.
    """
    from scipy.special import ndtr

    wide = np.maximum(np.asarray(sigma, np.float64), 1e-9 * np.abs(truth - mean) + 1e-300)
    z = (truth - mean) / wide
    cut = (bound - mean) / wide
    below = cut * ndtr(cut) ** 2 + 2 * _density(cut) * ndtr(cut) - ndtr(np.sqrt(2.0) * cut) / np.sqrt(np.pi)
    whole = z * (2 * ndtr(z) - 1) + 2 * _density(z) - 1 / np.sqrt(np.pi)
    return np.asarray(wide * (whole - below))


def leakage(
    estimate: Callable[[Floats], Floats], values: Floats, sigma: Floats, *, channels: list[int] | None = None
) -> Array:
    """Leakage of a plume added to one channel: largest mean change of any other channel, in that channel's σ.

    `estimate` maps input values (channel, time) to denoised values. The plume is Gaussian, 50 σ high, with a standard
    deviation of 10 samples, a third into the record; changes are averaged over ± 3 standard deviations. NaN for
    channels that are not requested or have unknown noise.
    """
    size = values.shape[-1]
    time = np.arange(size) - size // 3
    shape = np.exp(-0.5 * (time / 10.0) ** 2)
    near = np.abs(time) <= 30
    before = estimate(values)
    result = np.full(len(values), np.nan)
    for c in range(len(values)) if channels is None else channels:
        if not sigma[c] > 0 or len(values) < 2:
            continue
        changed = np.array(values, np.float64)
        changed[c] += 50.0 * sigma[c] * shape
        moved = np.abs(np.asarray(estimate(changed)) - before)[:, near]
        others = np.delete(np.nanmean(np.where(np.isfinite(moved), moved, 0.0), axis=-1) / sigma, c)
        result[c] = np.max(others[np.isfinite(others)], initial=0.0)
    return result


def true_plumes(truth: Floats, sigma: Floats) -> Mask:
    """Mask of the samples in plume encounters of the truth."""
    excess = np.asarray(truth, np.float64) - background(truth, sigma)
    return in_plume(excess, threshold(truth, sigma)[:, None])


def mean_where(x: Floats | Mask, where: Mask) -> Array:
    """Mean over time of the finite values of `x` within `where`; NaN if there are none."""
    some = where & np.isfinite(x)
    count = some.sum(axis=-1)
    total = np.where(some, x, 0.0).sum(axis=-1)
    return np.asarray(np.divide(total, count, where=count > 0, out=np.full(count.shape, np.nan)))


def _average(values: Any) -> float:
    finite = np.asarray(values, np.float64)
    finite = finite[np.isfinite(finite)]
    return float(finite.mean()) if len(finite) else np.nan


def _density(z: Array) -> Array:
    return np.asarray(np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi))
