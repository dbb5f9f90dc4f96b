"""Figures per flight, and when a lead is significant: literal numbers."""

import numpy as np
import pandas as pd
import pytest

from pc2dae.benchmark.compare import goodness, label, leaders, mean_of, order, per_flight, with_common_seeds

A, B, T = ("rts", "plain"), ("rts", "clip"), ("truth", "plain")


def rows(**flights):
    return pd.DataFrame(
        [
            ("m", "plain", "all", "all", flight, seed, "mae_improvement", value)
            for flight, values in flights.items()
            for seed, value in enumerate(values)
        ],
        columns=["method", "dress", "family", "channel", "flight", "seed", "metric", "value"],
    )


def test_seeds_are_averaged_within_a_flight_before_flights_are_compared():
    figures = per_flight(rows(one=[1.0, 3.0], two=[10.0]), "mae_improvement")
    assert figures[("m", "plain")].tolist() == [2.0, 10.0]
    assert mean_of(figures, ("m", "plain")) == 6.0
    assert np.isnan(mean_of(figures, ("x", "plain")))


@pytest.mark.parametrize(
    ("metric", "better"), [("snr_improvement", 2.0), ("edge_error", 1.0), ("peak_bias", -1.0), ("coverage_90", 88.0)]
)
def test_more_goodness_is_better(metric, better):
    worse = {"snr_improvement": 1.0, "edge_error": 2.0, "peak_bias": 3.0, "coverage_90": 99.0}[metric]
    first, second = goodness(np.array([better, worse]), metric)
    assert first > second


def test_a_lead_is_one_only_when_it_holds_flight_by_flight():
    steady = {A: np.array([5.0, 6, 7, 8, 9]), B: np.array([4.0, 5, 6, 7, 8.5]), T: np.full(5, 100.0)}
    assert leaders(steady, "mae_improvement") == {A}
    noisy = {A: np.array([5.0, 6, 7, 8, 9]), B: np.array([4.0, 9, 2, 9, 8.5])}
    assert leaders(noisy, "mae_improvement") == set()


def test_four_flights_are_too_few_for_a_lead_and_equals_lead_together():
    assert leaders({A: np.arange(4.0) + 1, B: np.arange(4.0)}, "mae_improvement") == set()
    c = ("tv", "plain")
    assert leaders({A: np.arange(5.0) + 1, B: np.arange(5.0) + 1, c: np.arange(5.0)}, "mae_improvement") == {A, B}


def test_smoothness_has_no_leader():
    assert leaders({A: np.full(6, 99.0), B: np.full(6, 10.0)}, "smoothness") == set()


def test_yardsticks_stand_first_and_the_tuned_last():
    keys = [("rts", "oracle"), ("rts", "clip"), ("unet", "softplus"), ("lean", "plain"), ("raw", "plain")]
    assert order(keys) == keys[::-1]
    assert [label(k) for k in keys] == ["rts †", "rts, clipped", "U-Net 1D, softplus", "PC²DAE-Lean", "raw"]


def test_points_along_a_curve_are_means_of_the_same_seeds():
    rows = pd.DataFrame({"method": ["lean"] * 3, "campaigns": [0.5, 1.0, 1.0], "seed": [0, 0, 1]})
    assert with_common_seeds(rows, "campaigns").seed.tolist() == [0, 0]
