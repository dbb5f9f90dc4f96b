from __future__ import annotations

import json

import numpy as np
import xarray as xr

from pc2dae.pipeline import evaluate
from pc2dae.view.flight_view import FlightView, plain


def test_a_view_is_json_and_holds_what_is_drawn(clean: xr.Dataset) -> None:
    view = FlightView(clean, scores=evaluate(clean))
    data = json.loads(json.dumps(view.as_json(), allow_nan=False))
    assert [c["name"] for c in data["channels"]] == ["co", "no2", "co2"]
    assert data["families"] == [{"name": "gas", "is_open": True}, {"name": "co2", "is_open": True}]
    assert (data["end"] - data["start"], data["step_ms"], len(data["intervals"])) == (599_000, 1000, 2)
    assert data["first"] == "co"
    assert list(data["spectra"]) == ["co", "no2", "co2"]
    assert [t["title"] for t in data["tables"]["quality"]] == ["Families", "Flight", "Channels"]
    assert [t["title"] for t in data["tables"]["uncertainty"]] == ["Calibration", "Uncertainty budget"]
    assert [row["plume"] for row in data["tables"]["plumes"][0]["rows"]] == [0, 1]
    assert data["metrics"]["peak_bias"][1] == 0
    assert data["metrics"]["smoothness"][1] is None  # more may be damage


def test_series_hold_the_estimate_inside_its_band(clean: xr.Dataset) -> None:
    truth = xr.Dataset({"co_response": ("time", clean["co"].values - 500)}, {"time": clean["time"]})
    series = json.loads(FlightView(clean, truth).series())
    curve = {key: np.array(values) for key, values in series["channels"]["co"].items() if key != "flags"}
    np.testing.assert_allclose(curve["estimate"], clean["co"].values, rtol=1e-5)
    np.testing.assert_allclose(curve["high"] - curve["estimate"], 1.645 * clean["co_uncertainty"].values, atol=0.01)
    assert np.all(curve["low"] >= 0)
    assert curve["truth"].min() == 0  # at the bound, as the estimate
    assert series["channels"]["co2"]["truth"] is None
    assert series["channels"]["co"]["flags"][0][2:] == [1, "startup", 1.0]
    assert not series["thinned"]


def test_what_each_channel_estimates_is_shown(clean: xr.Dataset) -> None:
    known = {"target": "ambient", "t90_s": 4.0, "t90_uncertainty_s": 0.6, "t90_source": "suite", "delay_s": 0.5,
             "delay_uncertainty_s": 0.2, "effective_resolution_s": 1.2, "t90_note": "poor fit"}  # fmt: skip
    both = clean.assign(co=clean["co"].assign_attrs(known), co_response=clean["co"] + 7)
    for name in ("no2", "co2"):
        both[name].attrs["lag_not_corrected"] = "t90 unknown: not in the suite"
    view = FlightView(both)
    data = view.as_json()
    assert {c["name"]: c["target"] for c in data["channels"]} == {"co": "ambient", "no2": "response", "co2": "response"}
    (lag,) = (t for t in data["tables"]["quality"] if t["title"] == "Lag")
    assert [row["cells"] for row in lag["rows"][:2]] == [
        ["co", "air (ambient)", "4.00 ± 0.60", "0.50 ± 0.20", "1.2", "suite", "poor fit"],
        ["no2", "reading (response)", "–", "–", "–", "", "t90 unknown: not in the suite"],
    ]
    shown = json.loads(view.series(100))["channels"]
    assert max(shown["co"]["response"]) == max(shown["co"]["estimate"]) + 7
    assert shown["no2"]["response"] is None


def test_a_flight_that_is_not_denoised_has_no_estimate(measured: xr.Dataset) -> None:
    view = FlightView(measured)
    assert json.loads(view.series())["channels"]["no2"]["estimate"] is None
    assert view.as_json()["tables"]["scores"] == []
    assert view.spectra == {}


def test_json_knows_no_nan() -> None:
    assert plain({"a": np.float64(np.nan), "b": (np.int64(3), float("inf"))}) == {"a": None, "b": [3, None]}
