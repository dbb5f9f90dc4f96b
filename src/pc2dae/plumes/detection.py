"""Smoke and clean air, decided by all species together.

A species rises where it exceeds its local background by a number of standard deviations of the air outside plumes,
noise included. Smoke is what several species share, or one shows clearly; a long rise that no other species shares is
drift.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pc2dae.arrays import Array, Floats, Mask, finite_mean, near
from pc2dae.plumes.background import RunningMedian, first_estimate, running_level, running_scatter, window_of
from pc2dae.plumes.cleanest import Rows, cleanest_parts, follows_smoke, lowest_level
from pc2dae.plumes.encounters import SHORTEST, held_mask, long_runs, runs, without_gaps

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
_LEAST_WEIGHT = 1e-3  # of a species that does not answer to smoke
_USUAL = 0.4  # share of a record in smoke from which the air between is looked at more closely …
_APART_S = 600.0  # … if its cleanest parts are not farther apart
_WINDOWS = 5  # of the running level, in that of the cleanest parts: tails of smoke must be the lesser part of them
RUNNING, CLEANEST, UNCLEAN = "running", "cleanest", "no clean air"  # how a level was found


@dataclass(frozen=True)
class SurroundingAir:
    """What is known of the air of a record; (channel, time) unless stated otherwise."""

    level: Array  # of clean air, beneath plumes interpolated
    scale: Array  # standard deviation of clean air around it, noise included
    clean: Mask
    smoke: Mask  # (time,): encounters from foot to foot
    background: str = RUNNING  # how the level was found
    rising: Mask | None = None  # encounters before they were extended to where the air is clean
    other_level: Array | None = None  # another admissible level: of the cleanest parts, or their lower end


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
    clean, levels, scatters = np.zeros(x.shape, bool), RunningMedian(window), RunningMedian(window)
    for _ in range(_ROUNDS):
        before = smoke, clean
        smoke, clean = _masks(x - level, scale, species, smoke, rate_hz, margins, threshold)
        if all(map(np.array_equal, before, (smoke, clean))):
            break
        known = clean.any(axis=-1, keepdims=True)
        level = np.where(known, levels(x, clean), level)
        scatter = np.where(known, running_scatter(x - level, clean, scatters), scatter)
        scale = _bounded(scatter, floor)
    return SurroundingAir(level, scale, clean, _masks(x - level, scale, species, smoke, rate_hz, margins, threshold)[0])


def among_smoke(
    air: SurroundingAir,
    values: Floats,
    noise: Floats,
    species: Rows,
    spans: Floats,
    *,
    rate_hz: float,
    margins: Sequence[int],
    threshold: float,
) -> SurroundingAir:
    """The same air above the cleanest parts of the record, where smoke is its normal state; otherwise as it is.

    It is where the level rises as outdoor air cannot, `spans` being how much that varies, or where most of the record
    is in smoke and clean air in between is never far. Elsewhere, if it is never far, they are another admissible level.
    """
    if len(species) < 2:
        return air
    window, x = window_of(rate_hz), np.asarray(values, np.float64)
    parts, is_clean = cleanest_parts(x, species, window=window)
    gaps = np.diff(np.flatnonzero(np.pad(parts, 1, constant_values=True)))
    is_near = is_clean and bool(gaps.max() < _APART_S * rate_hz)
    is_usual = is_near and air.smoke.mean() > _USUAL
    is_usual = is_usual or follows_smoke(air.level, x, parts, species, spans, window=window)
    if not (is_usual or is_near):
        return air
    everywhere = np.broadcast_to(parts, x.shape)
    level = running_level(x, everywhere, window=_WINDOWS * window)
    level = np.where(np.isfinite(level), level, air.level)  # of a channel that was not observed in clean air
    if not is_usual:
        return replace(air, other_level=level)
    scatter = running_scatter(x - level, everywhere, RunningMedian(_WINDOWS * window))
    air = replace(air, scale=_bounded(scatter, np.asarray(noise, np.float64)[:, None]), smoke=~parts)
    air = above(air, x, level, species, rate_hz=rate_hz, margins=margins, threshold=threshold)
    smoke = held_mask(air.smoke, ~parts | air.smoke, 1)  # an encounter ends where the air is clean
    kind, lowest = CLEANEST if is_clean else UNCLEAN, lowest_level(x, window=window)
    return replace(air, clean=air.clean & parts, smoke=smoke, background=kind, rising=air.smoke, other_level=lowest)


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
    return replace(air, level=level, clean=clean, smoke=smoke)


def _masks(
    excess: Array, scale: Array, species: Rows, before: Mask, rate_hz: float, margins: Sequence[int], threshold: float
) -> tuple[Mask, Mask]:
    """Smoke (time,) and clean air (channel, time)."""
    z = standardised(excess, scale)
    votes = _votes(z, species)
    shared = _shared(votes, threshold) if votes else np.zeros_like(before)
    smoke = joint_smoke(votes, shared, threshold=threshold, before=before, rate_hz=rate_hz)
    around = {margin: (near(smoke, margin, margin), near(shared, margin, margin)) for margin in set(margins)}
    near_smoke, near_shared = (np.stack(masks) for masks in zip(*(around[margin] for margin in margins), strict=True))
    excursion = _held(z, threshold, shortest=1) | _held(-z, threshold, shortest=1)
    drift = long_runs(excursion & ~near_shared, DRIFT_S * rate_hz)
    return smoke, np.isfinite(z) & ~near_smoke & (drift | ~excursion)


def _bounded(scatter: Array, floor: Array) -> Array:
    """Scatter, not below the noise, and not above 2.5 times that of the calmest quarter: the rest is unseen smoke."""
    calm = np.maximum(floor, np.quantile(scatter, 0.25, axis=-1, keepdims=True))
    return np.maximum(floor, np.minimum(scatter, _RANGE * calm))


def standardised(excess: Floats, scale: Floats) -> Array:
    """Excess in standard deviations of clean air; 0 where these are 0."""
    return np.divide(excess, scale, where=np.asarray(scale) > 0, out=np.zeros(np.shape(excess)))


def joint_smoke(votes: Mapping[str, Array], shared: Mask, *, threshold: float, before: Mask, rate_hz: float) -> Mask:
    """Mask (time,) of the encounters of all species together, from the standardised excess z (time,) of each.

    z is cut at −1 and at the threshold K, and w its mean in the smoke found `before`, at least 0. An encounter has
    J = Σ w z/√Σw² > K for two samples and reaches to where J falls below 0.85 K. A rise of one species alone needs 2 K
    (z not cut) for three samples, and is no encounter if it lasts longer than five minutes or the others contradict it.
    Encounters less than ten seconds apart are one. `shared` is where two species or more rise.
    """
    if not votes:
        return np.zeros_like(before)
    cut = {name: np.clip(vote, _LOWEST, threshold) for name, vote in votes.items()}
    weight = {name: max(_mean(x[before]), _LEAST_WEIGHT) if before.any() else 1.0 for name, x in cut.items()}
    total = np.sum([weight[name] * np.nan_to_num(x) for name, x in cut.items()], axis=0)
    power = np.sum([weight[name] ** 2 * np.isfinite(x) for name, x in cut.items()], axis=0)
    found = _held(total / np.sqrt(np.maximum(power, _LEAST_WEIGHT**2)), threshold,
                  shortest=SHORTEST_SHARED if len(votes) > 1 else SHORTEST)  # fmt: skip
    usual = {name: _mean(vote[shared]) for name, vote in votes.items()}
    for name, vote in votes.items():
        if name not in AMBIGUOUS or len(votes) == 1:
            rises = _held(vote, alone(len(votes), threshold)) & ~found
            for start, stop in runs(rises) if len(votes) > 2 else ():  # two others are needed to contradict it
                rises[start:stop] = not _contradicted(name, votes, slice(start, stop), usual, threshold)
            found |= rises
    found &= ~long_runs(found & ~shared, DRIFT_S * rate_hz)
    return without_gaps(found, GAP_S * rate_hz)


def alone(species: int, threshold: float) -> float:
    """Threshold of a rise that no other species shares, where there are `species` that could."""
    return threshold * (ALONE if species > 1 else 1.0)


def _contradicted(
    name: str, votes: Mapping[str, Array], where: slice, usual: Mapping[str, float], threshold: float
) -> bool:
    """Whether two or more others should show a rise, by their `usual` mean in shared smoke, and all show under a third.

    A species that was observed for less than half of the time has nothing to say.
    """
    high = float(np.nanmax(votes[name][where])) / max(usual[name], threshold)
    visible = []
    for other, x in ((other, x[where]) for other, x in votes.items() if other != name):
        expected = high * usual[other]
        if expected > threshold and 2 * np.isfinite(x).sum() > len(x):
            visible.append(bool(np.nanmax(x) < expected / 3.0))
    return len(visible) > 1 and all(visible)


def _votes(z: Floats, species: Rows) -> dict[str, Array]:
    """Mean of the sensors of each species that were observing (time,), NaN where none was."""
    return {name: finite_mean(z[list(rows)], axis=0) for name, rows in species.items()}


def _mean(x: Array) -> float:
    """Mean of what was observed, 0 if nothing was."""
    return float(np.nanmean(x)) if np.isfinite(x).any() else 0.0


def _shared(votes: Mapping[str, Array], threshold: float) -> Mask:
    """Where two or more species exceed the threshold."""
    return np.asarray(_held(np.stack(list(votes.values())), threshold).sum(axis=0) >= 2)


def _held(series: Array, limit: float, *, shortest: int = SHORTEST) -> Mask:
    return held_mask(series > limit, series > FOOT * limit, shortest)
