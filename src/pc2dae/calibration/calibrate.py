"""From a co-location to a calibration: fit, what it is worth on data it has not seen, and what it leaves uncertain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from pc2dae.arrays import Array, Mask
from pc2dae.calibration.apply import sheet_identity
from pc2dae.calibration.curve import Calibration, Curve
from pc2dae.calibration.fit import (
    Fit,
    Terms,
    check_follows,
    choose_plain,
    choose_terms,
    concentrations,
    fit_channel,
    held_out,
    held_out_readings,
    is_as_stated,
    plain_fits,
    shrunk,
    with_covariance,
)
from pc2dae.calibration.intervals import check_gain, utc
from pc2dae.calibration.inverse import Inverse
from pc2dae.calibration.pairs import Pairs
from pc2dae.calibration.residuals import ageing, hourly, spread, trend, wander
from pc2dae.calibration.scores import held_out_scores
from pc2dae.calibration.terms import CROSS
from pc2dae.errors import CalibrationError
from pc2dae.flight.schema import suite_of
from pc2dae.suite import Suite, conversion

_REFERENCE = 0.01  # relative standard uncertainty of a reference analyser's gain
_DAY_S = 86_400.0
_SHEET_GAIN = 0.15  # relative: a factory's gain in use, whatever the sensor; a co-location decides
_SHEET_CROSS = 0.1  # interference of another gas, relative: a few per cent on data sheets, three times that in use
_SIGNIFICANT = 4.0  # σ by which a coefficient must differ from 0: a week of weather is few independent days
_NOWHERE = (np.inf, -np.inf)


@dataclass(frozen=True)
class Colocation:
    """A calibration with the data behind it, for figures."""

    calibration: Calibration
    pairs: Pairs  # what it was fitted to
    scored: Pairs  # what it was scored on: the same without its own block, or the part after `test_from`
    estimate: dict[str, Array]  # of the scored part, before the lower bound as integrals use it
    sigma: dict[str, Array]  # its stated standard uncertainty


def fit_colocation(
    record: xr.Dataset,
    pairs: Pairs,
    *,
    test: Pairs | None = None,
    like: Sequence[Calibration] = (),
    data: Mapping[str, str] | None = None,
) -> Colocation:
    """Fit curves to a co-location and score them on `test`, or on blocks of it that were left out.

    `like` are calibrations of other payloads of the same kind, towards which coefficients are shrunk; gains of
    concentrations are shrunk towards 1, the factory's.
    """
    suite = suite_of(record)
    fits = _fitted(pairs)
    chosen = {name: fit.terms for name, fit in fits.items()}
    for name, fit in fits.items():
        check_follows(pairs, name, fit)
        if _is_air(suite, pairs, name) and not is_as_stated(fit):
            against = f"'{pairs.gas[name]}' measures in {pairs.units[name]}"
            check_gain(float(fit.values[0]), name, against, "check the columns and units of --pair")

    def with_prior(some: Pairs, name: str, terms: Terms) -> Fit:
        return _with_prior(_with_covariance(some, name, terms), suite, some, name, like)

    plain = () if like else choose_plain(pairs, chosen)
    fits = {name: _with_prior(fit, suite, pairs, name, like) for name, fit in fits.items()}
    fits = plain_fits(fits, pairs, plain)
    out = held_out(pairs, chosen, with_prior, plain=plain)
    curves = {name: _curve(record, suite, pairs, name, fit, out[name]) for name, fit in fits.items()}
    calibration = Calibration(
        method="co-location", suite=suite.name, period=(utc(pairs.time[0]), utc(pairs.time[-1])),
        data=dict(data or {}), channels=curves,
    )  # fmt: skip
    scored = pairs if test is None else test
    estimate = out if test is None else concentrations(fits, test)
    sigma = _stated(calibration, scored, estimate, age_days=_age_days(pairs, scored))
    rows = tuple(
        # Of blocks that were left out the residuals themselves are stated: that they hold 90 % says nothing.
        held_out_scores(
            n, species_name(n), pairs.units[n], x, None if test is None else sigma[n], scored.air[n],
            step_s=scored.step_s, bound=_bound(suite, pairs, n),
        )
        for n, x in estimate.items()
    )  # fmt: skip
    scores = tuple(_without_nan(row) for row in rows)
    return Colocation(calibration.model_copy(update={"scores": scores}), pairs, scored, estimate, sigma)


def _with_covariance(pairs: Pairs, name: str, terms: Terms) -> Fit:
    return with_covariance(pairs, name, fit_channel(pairs, name, terms), reference_uncertainty=_REFERENCE)


def _fitted(pairs: Pairs) -> dict[str, Fit]:
    """The fit of each channel with the terms it needs and those that are worth it and significant."""
    without: set[tuple[str, str]] = set()
    while True:
        fits = {n: _with_covariance(pairs, n, terms) for n, terms in choose_terms(pairs, without).items()}
        weak = {
            (n, t): s
            for n, fit in fits.items()
            for t, s in zip(fit.terms, np.abs(fit.values[2:]) / np.sqrt(np.diag(fit.covariance)[2:]), strict=True)
            if s < _SIGNIFICANT and t not in pairs.needed.get(n, ())
        }
        if not weak:
            return fits
        without.add(min(weak, key=lambda key: weak[key]))


def species_name(channel: str) -> str:
    """The gas a channel's name begins with: "o3" of "o3_a"."""
    return channel.lower().split("_")[0]


def pooled(calibrations: Sequence[Calibration]) -> Calibration:
    """What calibrations of several payloads of one kind say about another one: their mean and their spread."""
    if len(calibrations) < 2:
        raise CalibrationError("one payload says nothing about another", hint="pass --like for at least two")
    shared = [n for n in calibrations[0].channels if all(n in c.channels for c in calibrations)]
    if not shared:
        raise CalibrationError("the calibrations share no channel", hint="they are of different kinds of payload")
    curves = {name: _pooled([c.channels[name] for c in calibrations]) for name in shared}
    period = min(c.period[0] for c in calibrations), max(c.period[1] for c in calibrations)
    sources = {f"calibration {k}": c.digest for k, c in enumerate(calibrations, 1)}
    names = {c.suite for c in calibrations}
    suite = names.pop() if len(names) == 1 else ""
    return Calibration(method="pooled", suite=suite, period=period, data=sources, channels=curves)


def _pooled(curves: Sequence[Curve]) -> Curve:
    units = {(c.units, c.reading_units) for c in curves}
    if len(units) > 1:
        raise CalibrationError(f"the calibrations have different units: {sorted(units)}")
    terms = list(dict.fromkeys(term for c in curves for term in c.terms))
    centre = {t: float(np.mean([c.centre[t] for c in curves if t in c.centre])) for t in ("air", *terms[2:])}
    rows = np.array([[_about(c, centre).get(t, 0.0) for t in terms] for c in curves])
    covariance = np.atleast_2d(np.cov(rows.T)) * (1 + 1 / len(curves))
    low_high = {
        key: (min(c.range.get(key, _NOWHERE)[0] for c in curves), max(c.range.get(key, _NOWHERE)[1] for c in curves))
        for key in dict.fromkeys(k for c in curves for k in c.range)
    }
    residual, slow, wander, ageing = (
        float(np.median([getattr(c, k) for c in curves])) for k in ("residual", "slow", "wander", "ageing")
    )
    return Curve(
        units=curves[0].units, reading_units=curves[0].reading_units,
        terms=dict(zip(terms, rows.mean(axis=0).tolist(), strict=True)),
        covariance=covariance.tolist(), centre=centre, range=low_high, residual=residual,
        slow=slow, wander=wander, ageing=ageing,
    )  # fmt: skip


def _about(curve: Curve, centre: Mapping[str, float]) -> dict[str, float]:
    """A curve's coefficients counted from other centres."""
    own = {"air": curve.terms["gain"]} | {t: value for t, value in curve.terms.items() if t in curve.centre}
    moved = sum(value * (centre[t] - curve.centre[t]) for t, value in own.items())
    return curve.terms | {"zero": curve.terms["zero"] + moved}


def _without_nan(row: dict[str, Any]) -> dict[str, Any]:
    """Non-finite figures as None, since JSON has no NaN."""
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in row.items()}


def _is_air(suite: Suite, pairs: Pairs, name: str) -> bool:
    """Whether a channel's reading is a concentration already."""
    return conversion(suite[name].units, pairs.units[name]) is not None


def _bound(suite: Suite, pairs: Pairs, name: str) -> float:
    return suite[name].lower_bound if _is_air(suite, pairs, name) else 0.0


def _with_prior(fit: Fit, suite: Suite, pairs: Pairs, name: str, like: Sequence[Calibration]) -> Fit:
    others = [c.channels[name] for c in like if name in c.channels]
    if len(others) > 1:
        shared = [t for t in ("gain", *fit.terms) if all(t in c.terms for c in others)]
        mean = {t: float(np.mean([c.terms[t] for c in others])) for t in shared}
        spread = {t: float(np.std([c.terms[t] for c in others], ddof=1)) for t in shared}
        own = {t: float(np.mean([c.sigma(t) for c in others])) for t in shared}  # two may agree by chance
        return shrunk(fit, mean, {t: max(spread[t], own[t]) for t in shared})
    if _is_air(suite, pairs, name):
        interferences = [t for t in fit.terms if t.startswith(CROSS) and t not in pairs.needed.get(name, ())]
        mean, sigma = dict.fromkeys(interferences, 0.0), dict.fromkeys(interferences, _SHEET_CROSS)
        return shrunk(fit, mean | {"gain": 1.0}, sigma | {"gain": _SHEET_GAIN})
    return fit


def _curve(record: xr.Dataset, suite: Suite, pairs: Pairs, name: str, fit: Fit, estimate: Array) -> Curve:
    """The file's entry of a channel; environment terms are counted from their mean."""
    columns = pairs.with_ones(name, fit.terms, CROSS)
    means = columns[~np.isnan(columns).any(axis=1)].mean(axis=0)
    centre = {t: float(m) for t, m in zip(("air", "", *fit.terms), means, strict=True) if t}
    shift = np.eye(len(fit.values))  # zero at the centre = zero + Σ coefficient · centre
    shift[1] = means
    values, covariance = shift @ fit.values, shift @ fit.covariance @ shift.T
    residual = held_out_readings(pairs, name, fit.terms)
    error = estimate - pairs.air[name]
    used: Mask = np.asarray(np.isfinite(pairs.air[name]) & np.isfinite(pairs.readings[name]))
    limits = {"air": pairs.air[name][used]}
    limits |= {t: pairs.terms[t][np.isfinite(pairs.terms[t])] for t in centre if t in pairs.terms}
    return Curve(
        units=pairs.units[name],
        reading_units=suite[name].units,
        terms=dict(zip(("gain", "zero", *fit.terms), values.tolist(), strict=True)),
        covariance=covariance.tolist(),
        centre=centre,
        range={key: (float(x.min()), float(x.max())) for key, x in limits.items()},
        residual=spread(error),
        slow=hourly(residual, pairs.step_s),
        wander=wander(residual, pairs.step_s),
        ageing=ageing(residual, pairs.step_s),
        drift_per_day=trend(error, pairs.step_s),
        identity=sheet_identity(record, suite, name),
        response=pairs.responses.get(name),
    )


def _stated(calibration: Calibration, pairs: Pairs, air: Mapping[str, Array], *, age_days: Array) -> dict[str, Array]:
    """Standard uncertainty of means of a step: calibration, and the scatter of held-out residuals."""
    inverse = Inverse(calibration, list(air))
    found = {}
    for name in air:
        budget = inverse.budget(name, pairs.terms, age_days=0.0)
        parts = budget.parts(air[name], dict(air))
        curve = calibration.channels[name]
        aged: Array = inverse.own_ageing(name) ** 2 * age_days
        within = np.maximum(parts["gain"] ** 2 + parts["cross"] ** 2, curve.residual**2)  # residuals contain both
        found[name] = np.sqrt(within + aged)
    return found


def _age_days(fitted: Pairs, scored: Pairs) -> Array:
    late = (scored.time - fitted.time[-1]) / np.timedelta64(1, "s") / _DAY_S
    return np.asarray(np.maximum(late, 0.0))
