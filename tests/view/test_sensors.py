"""Sensors of one species against each other, and what each channel was calibrated with."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from pc2dae.calibration.budget import Budget
from pc2dae.flags import FILTER_LOADED, OUTSIDE_CALIBRATION
from pc2dae.flight.schema import suite_of
from pc2dae.suite import Suite
from pc2dae.view.calibration_state import FILES, calibration_tables
from pc2dae.view.flight_view import FlightView


@pytest.fixture(scope="module")
def twins(clean: xr.Dataset) -> xr.Dataset:
    """The CO of a flight, and a second cell that reads 1.25 times it plus 40 ppb, in ppm."""
    suite = suite_of(clean)
    (gas,) = (family for family in suite.family if family.name == "gas")
    other = suite["co"].model_copy(update={"name": "co_b", "units": "ppm", "valid_max": None})
    family = gas.model_copy(update={"channel": (*gas.channel, other)})
    both = suite.model_copy(update={"family": tuple(family if f is gas else f for f in suite.family)})
    added = {str(n).replace("co", "co_b", 1): clean[n] for n in clean.data_vars if str(n) in ("co", "qc_co")}
    for kind in ("", "_raw", "_unbounded"):
        if f"co{kind}" in clean:
            added[f"co_b{kind}"] = ((1.25 * clean[f"co{kind}"] + 40) / 1000).assign_attrs(
                clean["co"].attrs, units="ppm"
            )
    added["co_b_uncertainty"] = (1.25 * clean["co_uncertainty"] / 1000).assign_attrs(units="ppm")
    added["qc_co_b"] = clean["qc_co"]
    return clean.assign(added).assign_attrs(suite=both.model_dump_json(exclude_defaults=True))


def test_two_sensors_give_the_line_between_them(twins: xr.Dataset) -> None:
    (pair,) = FlightView(twins).sensors
    assert (pair["species"], pair["x"], pair["y"], pair["units"]) == ("co", "co", "co_b", "ppb")
    assert pair["slope"] == pytest.approx(1.25, rel=1e-3)
    assert pair["intercept"] == pytest.approx(40, abs=1)
    points = {key: np.array(values) for key, values in pair["points"].items()}
    np.testing.assert_allclose(points["y"], 1.25 * points["x"] + 40, rtol=1e-3)
    assert points["x"][points["smoke"] == 1].max() > 2 * points["x"][points["smoke"] == 0].mean()
    assert np.all(np.diff(points["time"]) > 0)
    assert pair["n"] >= len(points["x"])


def test_a_single_sensor_has_no_pair(clean: xr.Dataset) -> None:
    assert FlightView(clean).sensors == []


def test_calibration_state_of_each_channel(clean: xr.Dataset, suite: Suite) -> None:
    day = np.datetime_as_string(clean["time"].values[0] - np.timedelta64(3, "D"), unit="m")
    curve = {"method": "co-location", "start": "2020-01-01T00:00Z", "end": f"{day}Z", "sha256": "0123456789ab"}
    facts = {"calibration": "a label", "calibrated_by": json.dumps([curve]), "zero_checked": 1}
    bits = clean["qc_co"].values.copy()
    bits[300:450] |= OUTSIDE_CALIBRATION
    bits[300:330] |= FILTER_LOADED
    about = clean["co"].attrs | facts | Budget(1.0, 0.0, 0.02).attributes()
    flight = clean.assign(co=clean["co"].assign_attrs(about), qc_co=clean["qc_co"].copy(data=bits))
    flight.attrs[FILES] = '{"0123456789ab": "payload.json"}'
    (table,) = calibration_tables(flight, suite)
    rows = {row.cells[0]: list(row.cells) for row in table.rows}
    assert rows["co"][1:6] == ["calibrated", "co-location payload.json, zero check", day[:10], "3.0", "2.0 %"]
    outside, loaded = (float(cell.split(" ")[0]) for cell in rows["co"][6:])
    assert outside == pytest.approx(5 * loaded, rel=0.02)
    assert rows["no2"][1:] == ["not calibrated", "", "–", "–", "15 % assumed", "–", "–"]
