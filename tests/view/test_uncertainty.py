"""The uncertainty budget of a flight's channels, calibrated or not."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from pc2dae.calibration.budget import Budget
from pc2dae.inspection import inspect_flight
from pc2dae.suite import Suite
from pc2dae.view.flight_view import FlightView
from pc2dae.view.uncertainty import uncertainty_tables


@pytest.fixture(scope="module")
def calibrated(clean: xr.Dataset) -> xr.Dataset:
    """The CO of a flight calibrated: noise 2 ppb, lag 4, zero 3 ppb, and a gain of 1 % that was fixed at 120 ppb."""
    value = np.full(600, 120.0)
    value[190:210] = 1120.0
    gain = 0.01 * (value - 120)
    systematic = np.sqrt(4.0**2 + 3.0**2 + gain**2)
    about = clean["co"].attrs | {"target": "ambient", "t90_s": 2.0, "t90_uncertainty_s": 0.2, "delay_s": 0.0,
                                 "delay_uncertainty_s": 0.1, "effective_resolution_s": 1.0, "t90_source": "suite",
                                 "calibration": "co-location A"}  # fmt: skip
    return clean.assign({
        "co": ("time", value, about | Budget(3.0, 0.0, 0.01, 120.0).attributes()),
        "co_random_uncertainty": ("time", np.full(600, 2.0)),
        "co_systematic_uncertainty": ("time", systematic),
        "co_uncertainty": ("time", np.hypot(2.0, systematic)),
    })  # fmt: skip


def test_parts_in_clean_air_and_in_plumes(calibrated: xr.Dataset, suite: Suite) -> None:
    (table,) = uncertainty_tables(calibrated, suite, [(190, 210)])
    rows = {row.cells[0]: list(row.cells) for row in table.rows}
    # √(2² + 4² + 3²) = 5.4; with 10 of the gain 11.4
    assert rows["co"] == ["co", "ppb", "2.0", "4.0", "3.0", "0", "0 / 10", "0", "5.4 / 11", "co-location A"]
    assert rows["no2"][3:8] == ["–"] * 5
    assert rows["no2"][-1] == "calibration not included"


def test_the_view_and_the_inspection_name_it(calibrated: xr.Dataset) -> None:
    view = FlightView(calibrated)
    assert "Uncertainty budget" in [table.title for table in view.tables["uncertainty"]]
    co, no2 = view.channels[:2]
    assert "uncertainty 5.4 ppb · calibrated" in co.summary
    assert "calibrated" not in no2.summary
    seen = inspect_flight(calibrated)["channels"]
    assert (seen["co"]["calibration"], seen["no2"]["calibration"]) == ("co-location A", None)


def test_measured_only_has_none(measured: xr.Dataset, suite: Suite) -> None:
    assert uncertainty_tables(measured, suite, []) == []
