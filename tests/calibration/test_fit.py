"""Fits to two coupled, noisy cells whose coefficients are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from colocations import CROSS, GAIN, TEMPERATURE, ZERO, make_pairs
from pc2dae.calibration.fit import (
    Fit,
    check_follows,
    choose_plain,
    choose_terms,
    concentrations,
    fit_channel,
    held_out,
    plain_fits,
    rms,
    shrunk,
    with_covariance,
)
from pc2dae.errors import CalibrationError

TERMS = {"o3": ("cross:no2", "temperature"), "no2": ()}
TRUTH = {"o3": [GAIN["o3"], ZERO["o3"], CROSS, TEMPERATURE], "no2": [GAIN["no2"], ZERO["no2"]]}


def test_noise_does_not_lower_the_gain() -> None:
    pairs = make_pairs(count=3000)
    fit = fit_channel(pairs, "no2", ())
    assert fit.values[0] == pytest.approx(GAIN["no2"], rel=0.05)
    inverse = np.polyfit(pairs.readings["no2"], pairs.air["no2"], 1)[0]
    assert 1 / inverse > 2 * GAIN["no2"]  # regression of the air on the reading would have halved every plume


def test_coupled_cells_are_separated_without_bias() -> None:
    pairs = make_pairs(count=3000)
    fits = {name: fit_channel(pairs, name, terms) for name, terms in TERMS.items()}
    np.testing.assert_allclose(fits["o3"].values, TRUTH["o3"], rtol=0.1)
    found = concentrations(fits, pairs)
    for name in TERMS:
        error = found[name] - pairs.air[name]
        assert abs(error.mean()) < 0.5
        # and no error that is proportional to the concentration
        assert abs(np.polyfit(pairs.air[name], error, 1)[0]) < 0.05


def test_real_terms_are_chosen_and_useless_ones_are_not() -> None:
    chosen = choose_terms(make_pairs(count=1500, noise=0.5))
    assert set(chosen["o3"]) == {"cross:no2", "temperature"}
    assert chosen["no2"] == ()


def test_a_plain_fit_wins_where_noise_takes_little() -> None:
    """NO2 at 0.3 nA/ppb varies by 8 ppb: noise of 1 nA takes a tenth of a plain fit's response, 3 nA more than half."""
    for noise, wins in ((1.0, True), (3.0, False)):
        pairs = make_pairs(count=3000, noise=noise)
        assert ("no2" in choose_plain(pairs, TERMS)) is wins
        assert choose_plain(replace(pairs, needed=dict.fromkeys(TERMS, ())), TERMS) == ()  # concentrations


def test_a_plain_fit_is_the_ordinary_regression_and_states_what_it_loses() -> None:
    pairs = make_pairs(count=3000, noise=1.0)
    pairs = replace(pairs, rivals={"o3": (), "no2": ()})
    fits = {"no2": with_covariance(pairs, "no2", fit_channel(pairs, "no2", ()), reference_uncertainty=0.0)}
    plain = plain_fits(fits, pairs, ["no2"])["no2"]
    slope, intercept = np.polyfit(pairs.readings["no2"], pairs.air["no2"], 1)
    assert plain.values == pytest.approx([1 / slope, -intercept / slope], rel=0.02, abs=0.1)
    lost = plain.values[0] - fits["no2"].values[0]
    assert lost > 0
    assert plain.covariance[0, 0] >= lost**2
    before, after = (concentrations(f, pairs)["no2"] - pairs.air["no2"] for f in (fits, {"no2": plain}))
    assert rms(after) < rms(before)


def test_a_term_that_is_left_out_is_not_chosen() -> None:
    chosen = choose_terms(make_pairs(count=1500, noise=0.5), {("o3", "temperature")})
    assert chosen["o3"] == ("cross:no2",)


def test_a_cell_that_is_not_measured_does_not_blank_those_that_do_not_depend_on_it() -> None:
    pairs = make_pairs(count=300)
    fits = {name: fit_channel(pairs, name, terms) for name, terms in TERMS.items()}
    blank = replace(pairs, readings=pairs.readings | {"o3": np.full(300, np.nan)})
    found = concentrations(fits, blank)
    assert np.isfinite(found["no2"]).all()
    assert np.isnan(found["o3"]).all()


def test_a_constant_or_missing_covariate_is_not_considered() -> None:
    pairs = make_pairs()
    pairs = replace(pairs, terms={"temperature": np.full(600, 20.0), "pressure": np.full(600, np.nan)})
    assert not {"temperature", "pressure"} & {term for terms in choose_terms(pairs).values() for term in terms}


def test_outliers_do_not_move_the_fit() -> None:
    pairs = make_pairs(count=3000)
    spoilt = dict(pairs.readings)
    spoilt["no2"] = np.where(np.arange(3000) % 50 == 7, spoilt["no2"] + 400, spoilt["no2"])
    before, after = (fit_channel(p, "no2", ()) for p in (pairs, replace(pairs, readings=spoilt)))
    np.testing.assert_allclose(after.values, before.values, rtol=0.06)


def test_held_out_errors_are_not_below_those_of_the_fit_itself() -> None:
    pairs = make_pairs(count=120)
    everything = dict.fromkeys(TERMS, ("temperature", "humidity"))
    own = concentrations({n: fit_channel(pairs, n, t) for n, t in everything.items()}, pairs)
    out = held_out(pairs, everything)
    for name in TERMS:
        assert rms(out[name] - pairs.air[name]) > rms(own[name] - pairs.air[name])


def test_stated_uncertainty_covers_the_truth() -> None:
    # 68 % of normal errors lie within one standard uncertainty, 95 % within two.
    scores = []
    for seed in range(40):
        pairs = make_pairs(seed)
        for name, terms in TERMS.items():
            fit = with_covariance(pairs, name, fit_channel(pairs, name, terms), reference_uncertainty=0.0)
            assert fit.covariance is not None
            scores.append((fit.values - TRUTH[name]) / np.sqrt(np.diag(fit.covariance)))
    score = np.abs(np.concatenate(scores))
    assert 0.58 < np.mean(score < 1) < 0.78
    assert np.mean(score < 2) > 0.88


def test_the_reference_adds_its_own_uncertainty_to_the_gain() -> None:
    pairs = make_pairs()
    fit = fit_channel(pairs, "no2", ())
    alone, with_reference = (with_covariance(pairs, "no2", fit, reference_uncertainty=u) for u in (0.0, 0.1))
    assert alone.covariance is not None
    assert with_reference.covariance is not None
    added = with_reference.covariance[0, 0] - alone.covariance[0, 0]
    assert np.sqrt(added) == pytest.approx(0.1 * fit.values[0])


def test_a_reading_that_follows_nothing_is_refused() -> None:
    pairs = make_pairs()
    noise = np.random.default_rng(1).normal(0, 1, 600)
    pairs = replace(pairs, readings=pairs.readings | {"no2": noise})
    fit = fit_channel(pairs, "no2", ())
    with pytest.raises(CalibrationError, match="no2 does not follow 'ref_no2'"):
        check_follows(pairs, "no2", with_covariance(pairs, "no2", fit, reference_uncertainty=0.01))


def test_shrinkage_weighs_by_uncertainty() -> None:
    # Gain 2 ± 0.1 and prior 1 ± 0.1 meet half way; the zero follows its correlation with the gain, −0.5.
    fit = Fit((), np.array([2.0, 5.0]), np.array([[0.01, -0.01], [-0.01, 0.04]]))
    moved = shrunk(fit, {"gain": 1.0}, {"gain": 0.1})
    np.testing.assert_allclose(moved.values, [1.5, 5.5])
    assert moved.covariance is not None
    np.testing.assert_allclose(moved.covariance, [[0.005, -0.005], [-0.005, 0.035]])
    np.testing.assert_allclose(shrunk(fit, {"gain": 1.0}, {"gain": 1e6}).values, fit.values, rtol=1e-6)
