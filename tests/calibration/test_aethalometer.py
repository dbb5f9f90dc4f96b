"""Black carbon back from loading, by hand and by a filter that loads."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from pc2dae.calibration.aethalometer import (
    correct_loading,
    loading_factor,
    unloaded,
    unloaded_single_spot,
)
from pc2dae.errors import FlightError
from pc2dae.flags import FILTER_LOADED
from pc2dae.flight.schema import new_flight
from pc2dae.flight.stream import Stream
from pc2dae.logs.infer_suite import declared_suite
from pc2dae.qc import loaded_filters, screen
from pc2dae.suite import load_suite

TIME = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(1200) * np.timedelta64(1, "s")


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
    flight = new_flight(TIME, values, suite)
    corrected = correct_loading(flight)
    np.testing.assert_allclose(corrected["bc_uv_1"], 1000.0, rtol=2e-3)
    np.testing.assert_allclose(corrected["bc_uv_2"], 1000.0, rtol=2e-3)
    assert corrected["bc_uv_1"].attrs["loading_correction"] == "BC / (1 - 0.00600 ATN)"
    assert "bc_uv_1 = BC / (1 - 0.00600 ATN)" in corrected.attrs["history"]
    assert flight["bc_uv_1"].values[-1] < 900.0


def single_spot(atn: np.ndarray) -> xr.Dataset:
    """An AE51 in air of 2,000 ng m-3 that reads less and less of it."""
    suite = declared_suite([Stream("ae51", "", TIME[: len(atn)], {"bc": np.ones(len(atn))}, {"bc": "ng m-3"})])
    return new_flight(TIME[: len(atn)], {"bc": 2000 * (0.88 * np.exp(-atn / 100) + 0.12), "ae51_atn": atn}, suite)


def test_a_single_spot_is_flagged_when_spent_and_corrected_once_asked() -> None:
    flight = single_spot(np.linspace(0.0, 120.0, 121))
    screened = screen(flight)
    np.testing.assert_array_equal((screened["qc_bc"].values & FILTER_LOADED) != 0, flight["ae51_atn"].values > 84)
    np.testing.assert_array_equal(screened["bc"], flight["bc"])
    assert loaded_filters(screened) == "bc 30 %"
    corrected = correct_loading(screened)
    np.testing.assert_allclose(corrected["bc"], 2000.0)
    np.testing.assert_array_equal(corrected["bc_uncalibrated"], flight["bc"])
    np.testing.assert_allclose(corrected["bc_calibration_uncertainty"], (2000 - flight["bc"]) / 2)
    assert loaded_filters(corrected) == ""
    with pytest.raises(FlightError, match="loading of bc is corrected already"):
        correct_loading(corrected)


def test_a_new_filter_below_zero_is_not_corrected() -> None:
    np.testing.assert_array_equal(unloaded_single_spot([500.0, 500.0], [-4.0, 0.0]), 500.0)


def test_two_clean_spots_are_left_as_they_are() -> None:
    spots = {"ma200_uv_atn1": np.full(1200, 1.0), "ma200_uv_atn2": np.full(1200, 0.5)}
    flows = {"ma200_flow1": np.full(1200, 100.0), "ma200_flow2": np.full(1200, 50.0)}
    flight = new_flight(TIME, {"bc_uv_1": np.full(1200, 900.0)} | spots | flows, load_suite("black-kite"))
    done = correct_loading(flight)
    np.testing.assert_array_equal(done["bc_uv_1"], flight["bc_uv_1"])
    assert "bc_uv_1, bc_uv_2 not corrected (too little to determine)" in done.attrs["history"]


def test_no_attenuation_no_correction() -> None:
    with pytest.raises(FlightError, match="no filter loading to correct"):
        correct_loading(single_spot(np.zeros(5)).drop_vars("ae51_atn"))


def test_the_difference_of_two_wavelengths_follows_their_correction() -> None:
    k = 0.006
    atn1, atn2 = _two_spots(k)
    flows = {"ma200_flow1": np.full(len(atn1), 100.0), "ma200_flow2": np.full(len(atn1), 50.0)}
    spots = {f"ma200_{lamp}_atn{s}": atn for lamp in ("uv", "ir") for s, atn in ((1, atn1), (2, atn2))}
    read = {"bc_uv_1": 1500 * (1 - k * atn1), "bc_ir_1": 1000 * (1 - k * atn1)}
    flight = new_flight(TIME, read | spots | flows, load_suite("black-kite"))
    difference = next(c.name for c in load_suite("black-kite").channels if c.difference_of == ("bc_uv_1", "bc_ir_1"))
    np.testing.assert_allclose(correct_loading(flight)[difference], 500.0, rtol=2e-3)
