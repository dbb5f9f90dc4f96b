"""Smoke and clean air, decided by all species together.

A species rises where it exceeds its local background by a number of standard deviations of the air outside plumes,
noise included. Smoke is what several species share, or one shows clearly; a long rise that no other species shares is
drift.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.plumes.background import first_estimate, running_level, running_scatter, window_of
from pc2dae.plumes.encounters import SHORTEST, held, runs

THRESHOLD = 4.5  # standard deviations of the air outside plumes
FOOT = 0.85  # fraction of the threshold at which an encounter starts and ends
SHORTEST_SHARED = 2  # samples above the threshold: of a filament that several species see
ALONE = 2.0  # times the threshold, for a rise that no other species shares
GAP_S = 10.0  # encounters closer than this are one
DRIFT_S = 300.0  # a longer rise of one species alone is drift
_RANGE = 2.5  # times the scatter of the calmest quarter of a record: more is smoke that was not recognised
_ROUNDS = 6  # iterations; the classification has converged by then
AMBIGUOUS = ("co2", "nox")  # with other sources (respiration, traffic): not smoke alone where others are measured
_LOWEST = -1.0  # standard deviations: a cell that dips must not hide what others see
_AT_ONCE = 1 << 18  # values: rows of short records are computed together, long ones one by one
_LEAST_WEIGHT = 1e-3  # of a species that does not answer to smoke

Rows = Mapping[str, Sequence[int]]  # rows of the channels of each species of smoke


@dataclass(frozen=True)
class SurroundingAir:
    """What is known of the air of a record; (channel, time) unless stated otherwise."""

    level: Array  # of clean air, beneath plumes interpolated
    scale: Array  # standard deviation of clean air around it, noise included
    clean: Mask
    smoke: Mask  # (time,): encounters from foot to foot


def find_air(
    values: Floats, noise: Floats, species: Rows, *, rate_hz: float, margins: Sequence[int], threshold: float
) -> SurroundingAir:
    """Level and scatter of the clean air of each channel, and where there is smoke.

    `values` are NaN where nothing was observed, `noise` is that of the series [channel's units], `margins` the samples
    on both sides of smoke that are not clean air of each channel.
    """
    window = window_of(rate_hz)
    x = np.asarray(values, np.float64)
    level, scatter = (np.stack(rows) for rows in zip(*(first_estimate(v, window=window) for v in x), strict=True))
    floor = np.asarray(noise, np.float64)[:, None]
    scale, smoke = _bounded(scatter, floor), np.zeros(x.shape[-1], bool)
    clean = np.zeros(x.shape, bool)
    for _ in range(_ROUNDS):
        before = smoke, clean
        smoke, clean = _masks(x - level, scale, species, smoke, rate_hz, margins, threshold)
        if all(map(np.array_equal, before, (smoke, clean))):
            break
        known = np.flatnonzero(clean.any(axis=-1))
        step = max(_AT_ONCE // x.shape[-1], 1)
        for rows in (known[start : start + step] for start in range(0, len(known), step)):
            level[rows] = running_level(x[rows], clean[rows], window=window)
            scatter[rows] = running_scatter(x[rows] - level[rows], clean[rows], window=window)
        scale = _bounded(scatter, floor)
    return SurroundingAir(level, scale, clean, _masks(x - level, scale, species, smoke, rate_hz, margins, threshold)[0])


def above(
    air: SurroundingAir,
    values: Floats,
    level: Array,
    species: Rows,
    *,
    rate_hz: float,
    margins: Sequence[int],
    threshold: float,
) -> SurroundingAir:
    """The same air above another level (channel, time): its smoke, and what is clean."""
    smoke, clean = _masks(values - level, air.scale, species, air.smoke, rate_hz, margins, threshold)
    return SurroundingAir(level, air.scale, clean, smoke)


def _masks(
    excess: Array, scale: Array, species: Rows, before: Mask, rate_hz: float, margins: Sequence[int], threshold: float
) -> tuple[Mask, Mask]:
    """Smoke (time,) and clean air (channel, time)."""
    z = standardised(excess, scale)
    smoke = joint_smoke(z, species, threshold=threshold, before=before, rate_hz=rate_hz)
    shared = _shared(_votes(z, species), threshold) if species else np.zeros_like(smoke)
    clean = [
        np.isfinite(row) & ~near(smoke, margin)
        & ~_excursions(row, near(shared, margin), threshold, round(DRIFT_S * rate_hz))
        for row, margin in zip(z, margins, strict=True)
    ]  # fmt: skip
    return smoke, np.stack(clean)


def _bounded(scatter: Array, floor: Array) -> Array:
    """Scatter, not below the noise, and not above 2.5 times that of the calmest quarter: the rest is unseen smoke."""
    calm = np.maximum(floor, np.quantile(scatter, 0.25, axis=-1, keepdims=True))
    return np.maximum(floor, np.minimum(scatter, _RANGE * calm))


def standardised(excess: Floats, scale: Floats) -> Array:
    """Excess in standard deviations of clean air; 0 where these are 0."""
    return np.divide(excess, scale, where=np.asarray(scale) > 0, out=np.zeros(np.shape(excess)))


def joint_smoke(z: Floats, species: Rows, *, threshold: float, before: Mask, rate_hz: float) -> Mask:
    """Mask (time,) of the encounters of all species together, from their standardised excess (channel, time).

    z is the mean of a species' sensors, cut at −1 and at the threshold K, and w its mean in the smoke found `before`,
    at least 0. An encounter has J = Σ w z/√Σw² > K for two samples and reaches to where J falls below 0.85 K. A rise of
    one species alone needs 2 K (z not cut) for three samples, and is no encounter if it lasts longer than five minutes
    or the others contradict it. Encounters less than ten seconds apart are one.
    """
    votes = _votes(z, species)
    if not votes:
        return np.zeros(np.shape(z)[-1], bool)
    cut = {name: np.clip(vote, _LOWEST, threshold) for name, vote in votes.items()}
    weight = {name: max(_mean(x[before]), _LEAST_WEIGHT) if before.any() else 1.0 for name, x in cut.items()}
    total = np.sum([weight[name] * np.nan_to_num(x) for name, x in cut.items()], axis=0)
    power = np.sum([weight[name] ** 2 * np.isfinite(x) for name, x in cut.items()], axis=0)
    shared = _shared(votes, threshold)
    found = _held(total / np.sqrt(np.maximum(power, _LEAST_WEIGHT**2)), threshold,
                  shortest=SHORTEST_SHARED if len(votes) > 1 else SHORTEST)  # fmt: skip
    for name, vote in votes.items():
        if name not in AMBIGUOUS or len(votes) == 1:
            for start, stop in runs(_held(vote, alone(len(votes), threshold)) & ~found):
                others = {other: x for other, x in votes.items() if other != name}
                found[start:stop] = not _contradicted(vote, others, slice(start, stop), shared, threshold)
    for start, stop in runs(found & ~shared):
        if stop - start > DRIFT_S * rate_hz:
            found[start:stop] = False
    for start, stop in runs(~found):
        if start > 0 and stop < len(found) and stop - start < GAP_S * rate_hz:
            found[start:stop] = True
    return found


def alone(species: int, threshold: float) -> float:
    """Threshold of a rise that no other species shares, where there are `species` that could."""
    return threshold * (ALONE if species > 1 else 1.0)


def _contradicted(vote: Array, others: dict[str, Array], where: slice, shared: Mask, threshold: float) -> bool:
    """Whether two or more others should show it, by the smoke that several share, and all show less than a third.

    A species that was observed for less than half of the time has nothing to say.
    """
    if not shared.any():
        return False
    usual = max(_mean(vote[shared]), threshold)
    visible = []
    for x in (x for x in others.values() if 2 * np.isfinite(x[where]).sum() > len(x[where])):
        expected = float(np.nanmax(vote[where])) * _mean(x[shared]) / usual
        if expected > threshold:
            visible.append(bool(np.nanmax(x[where]) < expected / 3.0))
    return len(visible) > 1 and all(visible)


def _votes(z: Floats, species: Rows) -> dict[str, Array]:
    """Mean of the sensors of each species that were observing (time,), NaN where none was."""
    votes = {}
    for name, rows in species.items():
        count = np.isfinite(group := z[list(rows)]).sum(axis=0)
        votes[name] = np.divide(np.nansum(group, axis=0), count, where=count > 0, out=np.full(len(count), np.nan))
    return votes


def _mean(x: Array) -> float:
    """Mean of what was observed, 0 if nothing was."""
    return float(np.nanmean(x)) if np.isfinite(x).any() else 0.0


def _shared(votes: dict[str, Array], threshold: float) -> Mask:
    """Where two or more species exceed the threshold."""
    return np.asarray(np.sum([_held(vote, threshold) for vote in votes.values()], axis=0) >= 2)


def _excursions(z: Array, shared: Mask, threshold: float, drift: int) -> Mask:
    """Where a channel leaves its clean air, upwards or downwards, other than by drift."""
    out = _held(z, threshold, shortest=1) | _held(-z, threshold, shortest=1)
    for start, stop in runs(out & ~shared):
        if stop - start > drift:
            out[start:stop] = False
    return out


def _held(series: Array, limit: float, *, shortest: int = SHORTEST) -> Mask:
    found = np.zeros(len(series), bool)
    for start, stop in held(series > limit, series > FOOT * limit, shortest):
        found[start:stop] = True
    return found


def near(mask: Mask, margin: int) -> Mask:
    """The mask widened by `margin` samples on both sides."""
    return np.convolve(mask, np.ones(2 * margin + 1), "full")[margin : margin + len(mask)] > 0.5
