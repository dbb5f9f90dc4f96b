"""Environment terms of records and of streams."""

from __future__ import annotations

import numpy as np

from pc2dae.calibration.terms import LiveTerms, environment_of, environment_terms


def test_a_change_fades_with_its_time_constant() -> None:
    humidity = np.where(np.arange(200) < 100, 50.0, 60.0)
    unknown = np.full(200, np.nan)
    terms = environment_terms(np.stack([unknown, humidity, unknown]), 1.0)
    np.testing.assert_array_equal(terms["humidity_change"][:100], 0.0)
    # A step of 10 % decays as exp(−t/60 s): after one minute 10/e.
    assert abs(terms["humidity_change"][160] - 10 / np.e) < 0.1
    assert np.isnan(terms["temperature"]).all()


def test_gaps_hold_the_last_value() -> None:
    row = np.array([np.nan, 1.0, np.nan, 3.0])
    terms = environment_terms(np.stack([row, row, row]), 1.0)
    np.testing.assert_array_equal(terms["temperature"], [1.0, 1.0, 1.0, 3.0])


def test_a_stream_has_the_same_terms_as_the_record() -> None:
    rng = np.random.default_rng(0)
    environment = np.array([[20.0], [50.0], [1000.0]]) + rng.normal(0, 1, (3, 300)).cumsum(axis=1)
    environment[0, 40:60] = np.nan
    whole = environment_terms(environment, 1.0)
    live = LiveTerms(1.0)
    each = [live(column) for column in environment.T]
    for term, series in whole.items():
        np.testing.assert_allclose([now[term] for now in each], series, atol=1e-9, err_msg=term)


def test_each_term_names_its_variable() -> None:
    assert environment_of("humidity_change") == "relative_humidity"
    assert environment_of("pressure") == "air_pressure"
