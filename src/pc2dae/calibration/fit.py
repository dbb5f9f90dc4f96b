"""Fit of calibration curves to readings beside a reference.

Each cell's reading is regressed on the gases in the air (not the air on the reading): the reference is the variable
without error, so gains are not reduced by the sensor's noise and hold in plumes far above the air of the co-location.
Concentrations follow from all cells together, since each answers to several gases. Which terms a cell has, and whether
a raw signal is better served by the plain regression of the air on it, is decided on blocks of time that were left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from pc2dae.arrays import Array, Index
from pc2dae.calibration.inverse import inverted
from pc2dae.calibration.pairs import Pairs
from pc2dae.calibration.terms import CROSS
from pc2dae.errors import CalibrationError

FOLDS = 6  # blocks of time, each predicted from the others
_WORTH = 0.05  # a term must lower the held-out errors by this share
_WINS = 0.02  # share by which a plain fit must lower the held-out errors of a channel
_REDUCED = 0.75  # least response of a plain fit to the air: noise may take a quarter of it
_HUBER = 1.345  # σ: residuals beyond it count linearly
_ROUNDS = 10
_DRAWS = 300  # of the block bootstrap
_BLOCKS = 12
_STATED = 3.0  # σ within which a gain of 1 is not contradicted
_LEAST_GAIN = 2.0  # σ by which a gain must differ from 0

Terms = tuple[str, ...]


@dataclass(frozen=True)
class Fit:
    """Coefficients of one cell: gain, zero, then its terms."""

    terms: Terms
    values: Array
    covariance: Array = field(default_factory=lambda: np.empty((0, 0)))  # empty until it is estimated


def choose_terms(pairs: Pairs, without: Collection[tuple[str, str]] = ()) -> dict[str, Terms]:
    """The terms each channel needs, and more while the errors of held-out blocks fall with each.

    By 5 % or more, and by one standard error (jackknife) over the blocks. `without` are channels and terms left out.
    """
    names = list(pairs.readings)
    options = {
        n: [t for t in (*pairs.varying, *(CROSS + other for other in pairs.rivals[n])) if (n, t) not in without]
        for n in names
    }
    chosen: dict[str, Terms] = {name: pairs.needed.get(name, ()) for name in names}
    cache: dict[tuple[str, Terms, int], Fit] = {}
    best = _squares(pairs, chosen, cache)
    improved = True
    while improved:
        improved = False
        for name in names:
            trials = {t: _squares(pairs, chosen | {name: (*chosen[name], t)}, cache) for t in options[name]
                      if t not in chosen[name]}  # fmt: skip
            worth = {t: _fall(best, squares) for t, squares in trials.items()}
            if trials and worth[most := max(worth, key=lambda t: worth[t])] > 0:
                best, chosen[name], improved = trials[most], (*chosen[name], most), True
    return chosen


def _squares(pairs: Pairs, terms: Mapping[str, Terms], cache: dict[tuple[str, Terms, int], Fit]) -> Array:
    """Sum of squared errors of each held-out block (block, channel)."""
    rows = []
    for k, part in enumerate(_folds(len(pairs.time))):
        for n, own in terms.items():
            if (n, own, k) not in cache:
                cache[n, own, k] = fit_channel(_rest(pairs, part), n, own)
        held = pairs.rows(part)
        air = concentrations({n: cache[n, own, k] for n, own in terms.items()}, held)
        rows.append([np.nansum((air[n] - held.air[n]) ** 2) for n in terms])
    return np.array(rows)


def _fall(before: Array, after: Array) -> float:
    """By how much the logarithms of the errors fall, summed over channels, beyond what counts."""
    some, other = (np.log(x.sum(axis=0) + 1e-30).sum() / 2 for x in (before, after))
    left_out = [np.log(x.sum(axis=0) - x + 1e-30).sum(axis=1) / 2 for x in (before, after)]
    error = np.sqrt((FOLDS - 1) * np.var(left_out[0] - left_out[1]))
    return float(some - other - max(-np.log(1 - _WORTH), error))


def fit_channel(pairs: Pairs, name: str, terms: Terms) -> Fit:
    """Robust regression (Huber) of a channel's reading on its gas and its terms."""
    x, y, _ = _design(pairs, name, terms)
    if len(y) < 3 * (len(terms) + 2):
        return Fit(terms, np.full(len(terms) + 2, np.nan))
    return Fit(terms, _solve(x, y, _robust_weights(x, y)))


def with_covariance(pairs: Pairs, name: str, fit: Fit, *, reference_uncertainty: float) -> Fit:
    """The fit with the covariance of its coefficients, from resampled twelfths of the record.

    Blocks keep the correlation of residuals over hours, which is what limits a calibration. The reference's own
    relative uncertainty is added to the gain.
    """
    x, y, at = _design(pairs, name, fit.terms)
    weights = _robust_weights(x, y)
    centre = x.mean(axis=0) * (np.arange(x.shape[1]) != 1)  # not of the ones
    x = x - centre  # the zero is best known in the middle of the record
    which = (at * _BLOCKS) // len(pairs.time)
    size = x.shape[1]
    left, right = np.zeros((_BLOCKS, size, size)), np.zeros((_BLOCKS, size))
    np.add.at(left, which, weights[:, None, None] * x[:, :, None] * x[:, None, :])
    np.add.at(right, which, weights[:, None] * x * y[:, None])
    filled = np.flatnonzero(np.bincount(which, minlength=_BLOCKS))
    draws = np.random.default_rng(0).choice(filled, (_DRAWS, len(filled)))
    small = 1e-9 * np.diag(np.diag(left.sum(axis=0)))  # a draw may lack what determines a term
    found = np.linalg.solve(left[draws].sum(axis=1) + small, right[draws].sum(axis=1)[..., None])[..., 0]
    low, high = np.percentile(found, [15.865, 84.135], axis=0)
    scatter = found.std(axis=0)
    robust = (high - low) / 2 / np.where(scatter > 0, scatter, 1.0)  # the draws' middle: single poor ones do not count
    back = np.eye(size)
    back[1] -= centre
    few = len(filled) / max(len(filled) - size, 1)  # degrees of freedom that the coefficients take
    covariance = few * back @ (np.cov(found.T) * np.outer(robust, robust)) @ back.T
    covariance[0, 0] += (reference_uncertainty * fit.values[0]) ** 2
    return Fit(fit.terms, fit.values, covariance)


def check_follows(pairs: Pairs, name: str, fit: Fit) -> None:
    """Refuse a reading that has nothing to do with its reference; a concentration may keep the factory's gain."""
    gain, doubt = fit.values[0], np.sqrt(fit.covariance[0, 0])
    if gain < 0 and name in pairs.needed:
        raise CalibrationError(
            f"{name} falls where '{pairs.gas[name]}' rises: gain {gain:.3g} ± {doubt:.2g}",
            hint="check the column of --pair, or take a longer record",
        )
    if not abs(gain) > _LEAST_GAIN * doubt and not (name in pairs.needed and is_as_stated(fit)):
        raise CalibrationError(
            f"{name} does not follow '{pairs.gas[name]}': gain {gain:.3g} ± {doubt:.2g}",
            hint="check --pair and the period, or take a longer record",
        )


def is_as_stated(fit: Fit) -> bool:
    """Whether the gain of a concentration does not contradict that of the factory, 1."""
    return abs(float(fit.values[0]) - 1) < _STATED * float(np.sqrt(fit.covariance[0, 0]))


def shrunk(fit: Fit, mean: Mapping[str, float], sigma: Mapping[str, float]) -> Fit:
    """The fit combined with what is known of some of its coefficients, each weighed by its uncertainty."""
    at = [["gain", "zero", *fit.terms].index(name) for name in mean]
    known, prior = fit.covariance[at], np.diag([sigma[name] ** 2 for name in mean])
    share = np.linalg.solve(known[:, at] + prior, known).T
    covariance = fit.covariance - share @ known
    moved = fit.values + share @ (np.array(list(mean.values())) - fit.values[at])
    return Fit(fit.terms, moved, (covariance + covariance.T) / 2)


def concentrations(fits: Mapping[str, Fit], pairs: Pairs) -> dict[str, Array]:
    """The air that all cells together have seen: the solution of their equations, sample by sample."""
    names = list(fits)
    matrix, rest = np.zeros((len(names), len(names))), []
    for row, (name, fit) in enumerate(fits.items()):
        known = pairs.readings[name] - fit.values[1]
        matrix[row, row] = fit.values[0]
        for term, value in zip(fit.terms, fit.values[2:], strict=True):
            if term.startswith(CROSS):
                matrix[row, names.index(term.removeprefix(CROSS))] = value
            else:
                known = known - value * pairs.terms[term]
        rest.append(known)
    if not np.isfinite(matrix).all() or np.linalg.matrix_rank(matrix) < len(names):
        return {name: np.full(len(pairs.time), np.nan) for name in names}
    inverse = inverted(matrix)
    return {name: sum(w * r for w, r in zip(row, rest, strict=True) if w != 0) for name, row in
            zip(names, inverse, strict=True)}  # fmt: skip


def choose_plain(pairs: Pairs, chosen: Mapping[str, Terms]) -> tuple[str, ...]:
    """Raw signals whose held-out errors a plain fit lowers, those that others depend on first."""
    plain: tuple[str, ...] = ()
    whole = {n: fit_channel(pairs, n, t) for n, t in chosen.items()}
    for name in sorted(chosen, key=lambda n: sum(t.startswith(CROSS) for t in chosen[n])):
        if name in pairs.needed:
            continue
        reduced = plain_fits(whole, pairs, (*plain, name))[name].values[0]
        before, after = (held_out(pairs, chosen, plain=some)[name] for some in (plain, (*plain, name)))
        wins = rms(after - pairs.air[name]) < (1 - _WINS) * rms(before - pairs.air[name])
        if wins and whole[name].values[0] / reduced > _REDUCED:
            plain = (*plain, name)
    return plain


def plain_fits(fits: Mapping[str, Fit], pairs: Pairs, plain: Sequence[str]) -> dict[str, Fit]:
    """The fits, those of `plain` by regression of the air on the reading, and on other gases as their cells see them.

    air = b·reading + a + Σ d·x is reading = (air − a − Σ d·x)/b. Noise reduces such a gain: by how much is added to the
    uncertainty.
    """
    done = dict(fits)
    for name in plain:
        fit, air = done[name], concentrations(done, pairs)
        others = {t.removeprefix(CROSS): air[t.removeprefix(CROSS)] for t in fit.terms if t.startswith(CROSS)}
        x, y, _ = _design(replace(pairs, air=pairs.air | others), name, fit.terms)
        x, y = np.column_stack([y, x[:, 1:]]), x[:, 0]
        if len(y) < 3 * x.shape[1]:
            continue
        line = _solve(x, y, _robust_weights(x, y))
        values = np.append(1.0, -line[1:]) / line[0]
        covariance = fit.covariance * (values[0] / fit.values[0]) ** 2
        covariance[:1, :1] += (values[0] - fit.values[0]) ** 2
        done[name] = Fit(fit.terms, values, covariance)
    return done


def held_out(
    pairs: Pairs,
    chosen: Mapping[str, Terms],
    fitted: Callable[[Pairs, str, Terms], Fit] = fit_channel,
    *,
    plain: Sequence[str] = (),
) -> dict[str, Array]:
    """Concentrations of each block, from the fit to others."""
    found = {name: np.full(len(pairs.time), np.nan) for name in chosen}
    for part in _folds(len(pairs.time)):
        rest = _rest(pairs, part)
        fits = plain_fits({n: fitted(rest, n, t) for n, t in chosen.items()}, rest, plain)
        for name, values in concentrations(fits, pairs.rows(part)).items():
            found[name][part] = values
    return found


def held_out_readings(pairs: Pairs, name: str, terms: Terms) -> Array:
    """Residuals of a channel's reading in each block, from the fit to others."""
    residual = np.full(len(pairs.time), np.nan)
    for part in _folds(len(pairs.time)):
        fit = fit_channel(_rest(pairs, part), name, terms)
        held = pairs.rows(part)
        residual[part] = held.readings[name] - held.with_ones(name, terms, CROSS) @ fit.values
    return residual


def rms(errors: Array) -> float:
    """Root mean square of the finite values; NaN without any."""
    finite = errors[np.isfinite(errors)]
    return float(np.sqrt(np.mean(finite**2))) if len(finite) else np.nan


def _design(pairs: Pairs, name: str, terms: Terms) -> tuple[Array, Array, Index]:
    x, y = pairs.with_ones(name, terms, CROSS), pairs.readings[name]
    some = np.isfinite(x).all(axis=1) & np.isfinite(y)
    return x[some], y[some], np.flatnonzero(some)


def _solve(x: Array, y: Array, weights: Array) -> Array:
    root = np.sqrt(weights)
    return np.asarray(np.linalg.lstsq(x * root[:, None], y * root, rcond=None)[0])


def _robust_weights(x: Array, y: Array) -> Array:
    weights = np.ones(len(y))
    for _ in range(_ROUNDS):
        residual = y - x @ _solve(x, y, weights)
        scale = 1.4826 * np.median(np.abs(residual - np.median(residual)))
        if scale == 0:
            break
        weights = np.minimum(1.0, _HUBER * scale / np.maximum(np.abs(residual), 1e-12 * scale))
    return weights


def _folds(count: int) -> list[slice]:
    edges = np.linspace(0, count, FOLDS + 1).astype(int)
    return [slice(a, b) for a, b in pairwise(edges)]


def _rest(pairs: Pairs, part: slice) -> Pairs:
    """What a block is predicted from: in the later half all that came before it, as in use; else all other blocks."""
    count = len(pairs.time)
    used = np.ones(count, bool)
    used[part.start : count if 2 * part.start >= count else part.stop] = False
    return pairs.rows(used)
