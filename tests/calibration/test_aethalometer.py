"""Attenuation to carbon and back from loading, by hand and by a filter that loads."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pc2dae.calibration.aethalometer import black_carbon, correct_loading, loading_factor, unloaded
from pc2dae.flight.schema import new_flight
from pc2dae.suite import load_suite


def test_black_carbon_by_hand() -> None:
    # A = π·1.5² mm² = 7.0686e-6 m2; σ·C = 10.12 · 1.3 = 13.156 m2/g; F = 100 mL/min = 1.6667e-6 m3/s.
    # ΔATN 0.01 in one second: 7.0686e-6 · 0.01 / (100 · 13.156 · 1.6667e-6) g/m3 = 3.2237e-5 g/m3 = 32,237 ng/m3.
    carbon = black_carbon([1.00, 1.01, 1.01, 1.005], 100.0, wavelength_nm=880.0)
    np.testing.assert_allclose(carbon[1:], [32_237, 0, -16_119], rtol=1e-3)
    assert np.isnan(carbon[0])


def test_no_carbon_across_a_tape_advance() -> None:
    carbon = black_carbon([20.0, 20.01, 0.02, 0.03], 100.0, wavelength_nm=375.0)
    assert np.isnan(carbon[2])
    assert carbon[3] == pytest.approx(carbon[1])


def _two_spots(k: float, rows: int = 1200) -> tuple[np.ndarray, np.ndarray]:
    """Two spots under one air, the second with half the flow: ATN = (1 − exp(−k·load))/k."""
    load = np.cumsum(np.full(rows, 0.02))
    return -np.expm1(-k * load) / k, -np.expm1(-k * load / 2) / k


@pytest.mark.parametrize("k", [0.002, 0.005, 0.01])
def test_two_spots_tell_the_loading(k: float) -> None:
    atn1, atn2 = _two_spots(k)
    noise = np.random.default_rng(0).normal(0, 0.003, (2, len(atn1)))
    flows = np.full(len(atn1), 100.0), np.full(len(atn1), 50.0)
    assert loading_factor(atn1 + noise[0], atn2 + noise[1], *flows) == pytest.approx(k, rel=0.05)


def test_a_clean_filter_tells_nothing() -> None:
    assert np.isnan(loading_factor(np.full(50, 1.0), np.full(50, 0.5), np.full(50, 100.0), np.full(50, 50.0)))


def test_unloaded_by_hand() -> None:
    np.testing.assert_allclose(unloaded([900.0, 800.0], [20.0, 40.0], 0.005), [1000.0, 1000.0])
    assert np.isnan(unloaded(1.0, 200.0, 0.005))


def test_both_spots_agree_after_the_correction() -> None:
    k = 0.006
    atn1, atn2 = _two_spots(k)
    rows = len(atn1)
    suite = load_suite("black-kite")
    values = {"bc_uv_1": 1000 * (1 - k * atn1), "bc_uv_2": 1000 * (1 - k * atn2), "ma200_uv_atn1": atn1}
    values |= {"ma200_uv_atn2": atn2, "ma200_flow1": np.full(rows, 100.0), "ma200_flow2": np.full(rows, 50.0)}
    time = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(rows) * np.timedelta64(1, "s")
    flight = new_flight(time, values, suite)
    corrected = correct_loading(flight)
    np.testing.assert_allclose(corrected["bc_uv_1"], 1000.0, rtol=2e-3)
    np.testing.assert_allclose(corrected["bc_uv_2"], 1000.0, rtol=2e-3)
    assert json.loads(corrected.attrs["history"].rsplit("k = ", 1)[1]) == {"uv": pytest.approx(k, abs=1e-4)}
    assert flight["bc_uv_1"].values[-1] < 900.0
