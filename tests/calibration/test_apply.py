"""Calibrations applied to flights: the air comes back, with flags, units and what remains uncertain."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from colocations import CROSS, GAIN, cell_suite, make_flight, make_pairs
from pc2dae.calibration.apply import calibrated
from pc2dae.calibration.budget import budget_of
from pc2dae.calibration.curve import Calibration, Curve
from pc2dae.calibration.inverse import Inverse
from pc2dae.calibration.series import CalibrationSeries
from pc2dae.errors import CalibrationError
from pc2dae.flags import OUTSIDE_CALIBRATION
from pc2dae.flight.schema import suite_of
from pc2dae.flight.store import read_flight, write_flight
from pc2dae.response.payload import ChannelResponse
from pc2dae.response.t90 import cross_terms

DAY = timedelta(days=1)
FIRST = datetime(2025, 6, 1, tzinfo=UTC)
# 12 + 0.5·30 + 0.4·10 + 0.2·18 = 34.6 nA in the middle, and −4 + 0.3·10 = −1 nA.
O3: dict[str, Any] = {
    "units": "ppb",
    "reading_units": "nA",
    "terms": {"gain": 0.5, "zero": 34.6, "temperature": 0.2, "cross:no2": 0.4},
    "covariance": np.diag([0.01**2, 1.0, 0.1**2, 0.02**2]).tolist(),
    "centre": {"air": 30.0, "temperature": 18.0, "cross:no2": 10.0},
    "range": {"air": (0.0, 80.0), "temperature": (0.0, 40.0)},
    "residual": 2.0,
    "slow": 1.0,
    "wander": 0.5,
    "ageing": 0.8,
}
NO2 = O3 | {
    "terms": {"gain": 0.3, "zero": -1.0},
    "covariance": np.diag([0.003**2, 0.25]).tolist(),
    "centre": {"air": 10.0},
    "range": {"air": (0.0, 60.0)},
}


def make(start: datetime = FIRST, *, days: float = 1.0, o3: dict[str, Any] | None = None, **others: Any) -> Calibration:
    curves = {"o3": Curve(**(O3 | (o3 or {}))), "no2": Curve(**NO2)} | others
    return Calibration(method="co-location", period=(start, start + days * DAY), channels=curves)


def flight(*, units: str = "nA", noise: float = 0.0) -> tuple[xr.Dataset, dict[str, np.ndarray]]:
    pairs = make_pairs(count=300, step_s=60.0, noise=noise)
    return make_flight(pairs, suite=cell_suite(units=units)), pairs.air


def test_the_air_comes_back_in_its_units() -> None:
    record, air = flight()
    done = calibrated(record, [make()])
    for name in GAIN:
        np.testing.assert_allclose(done[name].values, air[name], atol=1e-9)
        np.testing.assert_array_equal(done[f"{name}_uncalibrated"].values, record[name].values)
        assert done[f"{name}_uncalibrated"].attrs["units"] == "nA"
        assert done[name].attrs["units"] == "ppb"
        assert (suite_of(done)[name].units, suite_of(done)[name].lower_bound) == ("ppb", 0.0)
    assert done["o3"].attrs["calibration"] == make().label
    assert json.loads(done["o3"].attrs["calibrated_by"]) == [make().facts]
    assert "calibrated o3, no2 with co-location 2025-06-01" in done.attrs["history"]


def test_a_file_keeps_the_budget(tmp_path: Path) -> None:
    done = calibrated(flight()[0], [make()])
    write_flight(done, tmp_path / "f.nc")
    again = read_flight(tmp_path / "f.nc")
    assert budget_of(again, "o3") == budget_of(done, "o3")
    assert cross_terms(again, "o3") == cross_terms(done, "o3")
    assert again["o3"].attrs["calibration"] == done["o3"].attrs["calibration"]
    assert suite_of(again)["o3"].units == "ppb"


def test_the_budget_is_that_of_the_coefficients() -> None:
    inverse = Inverse(make(), ["o3", "no2"])
    at_centre = inverse.budget("o3", {"temperature": np.array([18.0])}, age_days=0)
    # O3 = (r_o3 − 0.4·NO2)/0.5 with NO2 = r_no2/0.3: weights 2 and −8/3 of zeros 1 ⊕ 1 and 0.5 ⊕ 1 nA.
    assert at_centre.zero == pytest.approx(np.sqrt(4 * 2 + (8 / 3) ** 2 * 1.25))
    assert at_centre.drift == pytest.approx(0.5 * np.hypot(2, 8 / 3))
    assert at_centre.gain == pytest.approx(0.02)
    assert at_centre.anchor == 30.0
    assert at_centre.cross == {"no2": pytest.approx(0.04)}
    warm = inverse.budget("o3", {"temperature": np.array([28.0])}, age_days=0)
    assert warm.zero**2 - at_centre.zero**2 == pytest.approx((2 * 10 * 0.1) ** 2)
    unknown = inverse.budget("o3", {"temperature": np.array([np.nan])}, age_days=0)  # anywhere in 40 degC
    assert unknown.zero**2 - at_centre.zero**2 == pytest.approx((2 * 0.2 * 40) ** 2 / 12)


def test_uncertainty_grows_with_the_time_since_the_calibration() -> None:
    record, _ = flight()
    found = [budget_of(calibrated(record, [make(FIRST - d * DAY)]), "o3") for d in (0, 10, 100)]
    zeros, gains = [b.zero for b in found if b], [b.gain for b in found if b]
    assert zeros[0] < zeros[1] < zeros[2]
    assert gains[0] < gains[1] < gains[2]


def test_between_two_calibrations_drift_is_interpolated() -> None:
    record, air = flight()
    moved = make(FIRST + 10 * DAY, o3={"terms": O3["terms"] | {"zero": 39.6}})  # 5 nA, 10 ppb, in 20 days
    both = calibrated(record, [moved, make(FIRST - 10 * DAY)])
    share = 10 / 20 - (0.5 - 5 / 48) / 20  # middles lie half a day after the starts; the record's is at 2.5 h
    np.testing.assert_allclose((air["o3"] - both["o3"].values).mean(), 10 * share, atol=0.02)
    between, beyond = budget_of(both, "o3"), budget_of(calibrated(record, [make(FIRST - 10 * DAY)]), "o3")
    assert between is not None
    assert beyond is not None
    assert between.zero < beyond.zero
    held = calibrated(
        record, [make(FIRST - 10 * DAY), make(FIRST - 20 * DAY, o3={"terms": moved.channels["o3"].terms})]
    )
    np.testing.assert_allclose(held["o3"].values, air["o3"], atol=1e-9)


def test_outside_its_range_a_channel_says_so() -> None:
    record, air = flight()
    narrow = make(o3={"range": {"air": (0.0, 30.0), "temperature": (0.0, 40.0)}})
    flagged = (calibrated(record, [narrow])["qc_o3"].values & OUTSIDE_CALIBRATION) > 0
    np.testing.assert_array_equal(flagged, air["o3"] > 33)
    assert OUTSIDE_CALIBRATION == 4096
    cold = make(o3={"range": {"air": (0.0, 80.0), "temperature": (-30.0, -20.0)}})
    done = calibrated(record, [cold])
    assert (done["qc_o3"].values & OUTSIDE_CALIBRATION).all()
    assert not (done["qc_no2"].values & OUTSIDE_CALIBRATION).any()


def test_a_gap_of_one_cell_does_not_reach_the_other() -> None:
    record, air = flight()
    record["no2"][100:110] = np.nan
    done = calibrated(record, [make()])
    assert np.isnan(done["no2"].values[100:110]).all()
    np.testing.assert_allclose(done["o3"].values, air["o3"], atol=15)
    assert np.isfinite(done["o3"].values).all()


def test_a_dead_cell_leaves_the_others_with_more_uncertainty() -> None:
    record, air = flight()
    alive = budget_of(calibrated(record, [make()]), "o3")
    record["no2"][:] = np.nan
    done = calibrated(record, [make()])
    dead = budget_of(done, "o3")
    # NO2 counts as that of the co-location: O3 is off by 0.4/0.5 of the difference.
    np.testing.assert_allclose(done["o3"].values, air["o3"] + CROSS / GAIN["o3"] * (air["no2"] - 10), atol=1e-9)
    assert alive is not None
    assert dead is not None
    assert dead.zero > np.hypot(0.8 * 10, 2.0) > alive.zero  # NO2 is 10 ± 10 ppb


def test_the_signal_keeps_what_the_sheet_subtracted() -> None:
    record, _ = flight()
    record["o3"].attrs["signal_cross"] = json.dumps({"no2": 1.5})
    # r_o3 + 1.5·r_no2 = 0.5·O3 + (0.4 + 1.5·0.3)·NO2
    assert cross_terms(calibrated(record, [make()]), "o3") == (("no2", pytest.approx(0.85 / 0.5)),)
    alone = Calibration(method="intervals", period=make().period, channels={"o3": Curve(**(O3 | {
        "terms": {"gain": 0.5, "zero": 1.0}, "covariance": [[0.0, 0.0], [0.0, 0.0]]}))})  # fmt: skip
    assert cross_terms(calibrated(record, [alone]), "o3") == (("no2", pytest.approx(3.0)),)


@pytest.mark.parametrize(("stated", "expected"), [({}, 60.0), ({"t90_s": 45.0}, 60.0),
                                                  ({"t90_s": 45.0, "t90_uncertainty_s": 2.0}, 45.0)])  # fmt: skip
def test_the_response_of_a_colocation_is_stated_unless_the_suite_knows_better(
    stated: dict[str, float], expected: float
) -> None:
    response = ChannelResponse(t90_s=60.0, t90_uncertainty_s=4.0, delay_s=3.0, source="co-location")
    suite = cell_suite(t90_limit_s=80.0, **stated)
    record = make_flight(make_pairs(count=300, step_s=60.0), suite=suite)
    o3 = suite_of(calibrated(record, [make(o3={"response": response})]))["o3"]
    assert o3.t90_s == expected
    assert (o3.t90_source, o3.delay_s) == (("co-location", 3.0) if expected == 60.0 else ("suite", 0.0))
    assert o3.t90_limit_s == 80.0
    series = CalibrationSeries([make(o3={"response": response})], suite)  # what a stream uses
    assert series.suite["o3"] == o3


def test_another_payload_or_unit_is_refused() -> None:
    record, _ = flight()
    other = Calibration(method="co-location", period=make().period, channels={"so2": Curve(**NO2)})
    with pytest.raises(CalibrationError, match="of so2, of which 'test' has none; it belongs to another payload"):
        calibrated(record, [other])
    for suite, fits in (("kolibri", False), ("test-2", True), ("test", True), ("", True)):
        made = make().model_copy(update={"suite": suite})
        if fits:
            assert "calibration" in calibrated(record, [made])["o3"].attrs
            continue
        with pytest.raises(CalibrationError, match="the calibration is of payload 'kolibri', not of 'test'; calibrate"):
            calibrated(record, [made])
    with pytest.raises(CalibrationError, match="no2: the calibration is of readings in nA, the flight has mV"):
        calibrated(flight(units="mV")[0], [make()])
    with pytest.raises(CalibrationError, match="o3: the calibrations are in different units, ppb and ppm"):
        calibrated(record, [make(), make(FIRST + DAY, o3={"units": "ppm"})])


def test_another_instrument_is_refused() -> None:
    record, _ = flight()
    suite = cell_suite()
    sheets = {suite.instrument_of("o3"): {"serial": 1}}
    record.attrs["calibration"] = json.dumps(sheets)
    with pytest.raises(CalibrationError, match="o3: the calibration was made with another factory sheet"):
        calibrated(record, [make(o3={"identity": "0123"})])


def test_a_calibrated_flight_is_not_calibrated_again() -> None:
    done = calibrated(flight()[0], [make()])
    with pytest.raises(CalibrationError, match=r"no2 is calibrated already \(co-location .*; pass the flight it was"):
        calibrated(done, [make()])


def test_a_flight_without_the_environment_is_refused() -> None:
    with pytest.raises(CalibrationError, match="o3: its calibration depends on air_temperature, which the flight does"):
        calibrated(flight()[0].drop_vars("air_temperature"), [make()])
