"""Known air: parsing, and gain and zero from span gas and zero air."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from pc2dae.calibration.intervals import Interval, fit_intervals, parse_interval, read_intervals
from pc2dae.errors import CalibrationError
from pc2dae.flight.schema import new_flight
from pc2dae.response.kernels import Kernel, respond
from suites import make_suite

START = np.datetime64("2025-10-06T16:00:00", "ns")
LEVELS = np.repeat([0.0, 400.0, 100.0, 0.0], 150)  # what the cylinder gave, 150 s each


def record(gain: float = 0.8, zero: float = 20.0, *, units: str = "ppb", noise: float = 3.0) -> xr.Dataset:
    values = gain * LEVELS + zero + np.random.default_rng(0).normal(0, noise, len(LEVELS))
    suite = make_suite({"gas": {"co": {"units": units, "lower_bound": -1e3}, "no2": "ppb"}})
    time = START + np.arange(len(LEVELS)) * np.timedelta64(1, "s")
    return new_flight(time, {"co": values, "no2": values}, suite)


def interval(first: int, last: int, value: float, uncertainty: float = 0.0, channel: str = "co") -> Interval:
    return Interval(START + np.timedelta64(first, "s"), START + np.timedelta64(last, "s"), channel, value, uncertainty)


ALL = [interval(0, 149, 0), interval(150, 299, 400), interval(300, 449, 100), interval(450, 599, 0)]


@pytest.mark.parametrize("units", ["ppb", "mV"])
def test_span_gas_gives_gain_and_zero(units: str) -> None:
    curve = fit_intervals(record(units=units), ALL, {"co": "ppb"}).calibration.channels["co"]
    assert curve.terms["gain"] == pytest.approx(0.8, abs=0.01)
    assert curve.terms["zero"] - curve.terms["gain"] * curve.centre["air"] == pytest.approx(20, abs=1)
    assert 0 < curve.sigma("gain") < 0.01
    assert curve.range["air"] == (0, 400)
    assert (curve.units, curve.reading_units) == ("ppb", units)


def test_stated_uncertainty_of_the_gas_counts() -> None:
    doubtful = [interval(0, 149, 0), interval(150, 299, 400, 40.0)]
    curve = fit_intervals(record(), doubtful, {}).calibration.channels["co"]
    # 10 % of the gas against 15 % of the sheet: (0.8/0.08² + 1/0.15²)/(1/0.08² + 1/0.15²) = 0.84 ± 0.07
    assert curve.terms["gain"] == pytest.approx(0.84, abs=0.02)
    assert curve.sigma("gain") == pytest.approx(0.07, abs=0.01)


def test_one_concentration_keeps_the_factory_gain() -> None:
    curve = fit_intervals(record(), [interval(0, 149, 0)], {}).calibration.channels["co"]
    assert curve.terms["gain"] == 1
    assert curve.sigma("gain") == pytest.approx(0.15)
    assert curve.terms["zero"] == pytest.approx(20, abs=1)
    with pytest.raises(CalibrationError, match="co: one concentration, 0 ppb, does not give a gain; add zero air"):
        fit_intervals(record(units="mV"), [interval(0, 149, 0)], {"co": "ppb"})


def test_plateaus_that_scatter_widen_the_uncertainty() -> None:
    drifted = [interval(0, 149, 0), interval(150, 299, 400), interval(300, 449, 100), interval(450, 599, 60)]
    good, bad = (fit_intervals(record(), some, {}).calibration.channels["co"] for some in (ALL, drifted))
    assert bad.sigma("gain") > 3 * good.sigma("gain")
    assert bad.residual > 10 * good.residual


def approach(t90_s: float, late_s: int) -> xr.Dataset:
    """400 ppb reach the sensor `late_s` after the start of their interval, which begins 150 s into the record."""
    slow = respond(np.roll(LEVELS, late_s), Kernel(t90_s), 1.0)
    values = 0.8 * slow + 20 + np.random.default_rng(0).normal(0, 0.3, len(LEVELS))
    time = START + np.arange(len(LEVELS)) * np.timedelta64(1, "s")
    suite = make_suite({"gas": {"co": {"units": "ppb", "lower_bound": -1e3}}})
    return new_flight(time, {"co": values}, suite)


def test_a_plateau_that_still_rises_is_fitted_as_an_approach() -> None:
    # 0.8·400 + 20 = 340; the mean of the interval reads 317.
    found = fit_intervals(approach(60.0, 5), [interval(170, 299, 400), interval(560, 599, 0)], {})
    assert found.plateaus["co"][0].reading == pytest.approx(340, abs=2)
    assert found.calibration.channels["co"].terms["gain"] == pytest.approx(0.8, abs=0.02)


def test_a_plateau_that_settles_within_its_interval_counts_from_there_on() -> None:
    # A zero that wanders by 15 ppb and then stays: no exponential, but its last third reads 20.
    wandering = record()
    at = np.arange(150.0)
    wandering["co"].values[450:] = 20 + np.where(at < 60, 15.0, 0.0) + np.random.default_rng(0).normal(0, 1, 150)
    found = fit_intervals(wandering, [interval(170, 299, 400), interval(450, 599, 0)], {})
    assert found.plateaus["co"][1].reading == pytest.approx(20, abs=0.5)


def test_a_plateau_that_ends_on_its_way_is_refused_with_its_slope() -> None:
    # 150 s into the gas a sensor of t90 400 s has 320·exp(−150/174)/174 = 0.8 ppb per second to go.
    with pytest.raises(CalibrationError, match=r"co: in known gas from 2025-10-06T16:02:50Z on the reading still "
                                               r"changes by \+0\.[789]\d* ppb per second at the end; let"):  # fmt: skip
        fit_intervals(approach(400.0, 0), [interval(170, 299, 400), interval(560, 599, 0)], {})


def test_a_value_in_another_unit_is_refused() -> None:
    ppm = [interval(0, 149, 0), interval(150, 299, 0.4)]
    with pytest.raises(CalibrationError, match=r"co reads .* times what the intervals state in ppb; check the unit"):
        fit_intervals(record(), ppm, {})


def test_unknown_channels_and_times_are_named() -> None:
    with pytest.raises(CalibrationError, match="the flight has no channel 'cc'"):
        fit_intervals(record(), [interval(0, 149, 0, channel="cc")], {})
    with pytest.raises(CalibrationError, match=r"co: 0 usable samples .* the record covers 2025-10-06T16:00:00Z to"):
        fit_intervals(record(), [interval(6000, 6149, 0)], {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("co=5", "is not CHANNEL=VALUE@START/END"),
        ("co=5@2025-10-06T16:00/2025-10-06T16:03Z", "'2025-10-06T16:00' has no time zone; add Z for UTC"),
        ("co=5@2025-10-06T16:03Z/2025-10-06T16:00Z", "it ends before it starts"),
        ("co=x@2025-10-06T16:00Z/2025-10-06T16:03Z", "'x' is not a number"),
        ("co=nan@2025-10-06T16:00Z/2025-10-06T16:03Z", "'nan' is not a number"),
        ("co=5±-1@2025-10-06T16:00Z/2025-10-06T16:03Z", "uncertainty -1 is negative"),
        ("co=5@noon/2025-10-06T16:03Z", "'noon' is not a time"),
    ],
)
def test_options_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(CalibrationError, match=message):
        parse_interval(text)


def test_an_option_with_another_zone() -> None:
    found = parse_interval("o3_a=34±2@2025-10-06T10:00-06:00/2025-10-06T10:03-06:00")
    assert found == Interval(START, START + np.timedelta64(180, "s"), "o3_a", 34.0, 2.0)


def test_a_file_of_intervals(tmp_path: Path) -> None:
    path = tmp_path / "gas.csv"
    path.write_text(
        "# cylinder 7\nstart, end, channel, value, uncertainty\n"
        "2025-10-06T16:00Z,2025-10-06T16:02:30Z,co,0,\n\n2025-10-06T16:02:30Z,2025-10-06T16:05Z,co,400,4\n"
    )
    assert read_intervals(path) == [interval(0, 150, 0), interval(150, 300, 400, 4)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("start,end,value\n", r"gas.csv has no column 'channel'; columns are start,end,channel,value,uncertainty"),
        ("start,end,channel,value\n", "gas.csv has no interval"),
        (
            "start,end,channel,value\n2025-10-06T16:00Z,2025-10-06T16:02,co,0\n",
            "row 1: '2025-10-06T16:02' has no",
        ),
        ("start,end,channel,value\n2025-10-06T16:00Z\n", "gas.csv, row 1: 'None' is not a time"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "gas.csv").write_text(text)
    with pytest.raises(CalibrationError, match=message):
        read_intervals(tmp_path / "gas.csv")


def test_a_missing_or_binary_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "gas.csv").write_bytes(b"\xff\xfe\x00start")
    for name in ("gas.csv", "none.csv"):
        with pytest.raises(CalibrationError, match=f"{name} cannot be read"):
            read_intervals(tmp_path / name)
