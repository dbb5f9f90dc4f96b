from __future__ import annotations

import numpy as np
import pytest

from pc2dae.errors import LogError
from pc2dae.flight.unit_checks import check_units, checked_position, in_expected_units
from pc2dae.suite import Channel

RNG = np.random.default_rng(1)
BASE = {"units": "ppb", "valid_min": -500.0, "valid_max": 50_000.0}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("air_temperature", 296.15, 23.0),
        ("air_temperature", 23.0, 23.0),
        ("air_temperature", 55.0, 55.0),
        ("air_pressure", 97500.0, 975.0),
        ("air_pressure", 97.5, 975.0),
        ("air_pressure", 55.0, 550.0),
        ("air_pressure", 975.0, 975.0),
        ("relative_humidity", 0.42, 42.0),
    ],
)
def test_weather_in_a_unit_that_its_range_shows_is_put_right_and_listed(name, value, expected):
    values, line = in_expected_units(name, np.array([value]), source="x.csv")
    assert values == pytest.approx([expected])
    assert (line is None) == (value == expected)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("air_temperature", 75.0, "x.csv: an air temperature around 75 degC is not possible; write the unit"),
        ("air_temperature", -150.0, "around -150 degC"),
        ("air_pressure", 29.0, "x.csv: an air pressure around 29.0 may be in inHg or kPa; write the unit"),
        ("air_pressure", 14.7, "around 14.7 hPa is not possible"),
        ("relative_humidity", 143.0, "humidity of 143 %"),
    ],
)
def test_weather_that_fits_no_unit_or_two_is_refused(name, value, words):
    with pytest.raises(LogError) as refused:
        in_expected_units(name, np.array([value]), source="x.csv")
    assert words in str(refused.value)


def noisy(level: float, sigma: float) -> np.ndarray:
    """Ten minutes around a level with a plume a hundred times as high in the middle."""
    plume = np.exp(-0.5 * ((np.arange(600) - 300) / 20.0) ** 2)
    return level + 100 * abs(level) * plume + RNG.normal(0, sigma, 600)


@pytest.mark.parametrize(
    ("channel", "values", "unit"),
    [
        (Channel(name="co2", units="ppm"), np.full(20, 412_000.0), "ppb"),
        (Channel(name="co2", units="ppm"), np.full(20, 0.0412), "%"),
        (Channel(name="co", units="ppb"), noisy(0.15, 0.01), "ppm"),
        (Channel(name="ch4_a", units="ppb"), noisy(1.9, 0.01), "ppm"),
        (Channel(name="ch4_a", units="ppm"), noisy(1900, 10), "ppb"),
        (Channel(name="no", **BASE, noise_sigma=40.0), noisy(0.02, 0.04), "ppm"),
        (Channel(name="bc", units="ng m-3", noise_sigma=1000.0), noisy(0.5, 0.8), "ug m-3"),
        (Channel(name="pm", units="ug m-3", noise_sigma=2.0), noisy(12_000, 2000), "ng m-3"),
        (Channel(name="pm", units="ug m-3", detection_limit=7.5), noisy(0.012, 0.001), "mg m-3"),
        (Channel(name="no", **BASE), RNG.normal(0, 0.05, 600), "ppm"),
    ],
)
def test_a_channel_a_thousandfold_off_is_refused(channel, values, unit):
    with pytest.raises(
        LogError, match=rf"x\.csv: '{channel.name}' around .* is not {channel.units}, but would fit {unit}"
    ):
        check_units(channel, values, source="x.csv")


@pytest.mark.parametrize(
    ("channel", "values"),
    [
        (Channel(name="co2", units="ppm"), np.full(20, 412.0)),
        (Channel(name="co", units="ppb"), noisy(150, 10)),
        (Channel(name="co", units="ppb"), noisy(0.2, 10)),
        (Channel(name="co", units="ppb"), np.zeros(600)),
        (Channel(name="co_excess", units="ppb"), noisy(0.2, 0.01)),
        (Channel(name="co", units="ppm"), noisy(150, 1)),
        (Channel(name="ch4", units="ppb", lower_bound=-2000), noisy(-200, 5)),
        (Channel(name="no", **BASE, noise_sigma=40.0), noisy(0.02, 4)),
        (Channel(name="no", **BASE, noise_sigma=40.0), np.full(600, 3.0)),
        (Channel(name="bc", units="ng m-3", noise_sigma=1000.0, detection_limit=30.0), noisy(500, 100)),
        (Channel(name="bc", units="ng m-3", noise_sigma=1000.0), np.where(np.arange(600) % 60, np.nan, noisy(500, 2))),
        (Channel(name="pm", units="ug m-3", detection_limit=7.5), np.rint(RNG.uniform(0, 1, 600))),
        (Channel(name="oxygen", units="%"), noisy(20, 0.1)),
    ],
)
def test_a_channel_that_may_be_right_is_kept(channel, values):
    check_units(channel, values, source="x.csv")


LATITUDE, LONGITUDE = np.linspace(39.0, 39.1, 20), np.linspace(-96.5, -96.6, 20)


def test_good_positions_stay_as_they_are():
    latitude, longitude, lines = checked_position(LATITUDE, LONGITUDE, source="x.csv")
    assert np.array_equal(latitude, LATITUDE)
    assert np.array_equal(longitude, LONGITUDE)
    assert lines == []


def test_a_flight_across_the_equator_and_greenwich_keeps_its_signs():
    way = np.linspace(-6.0, 3.0, 50)
    latitude, longitude, lines = checked_position(way, way, source="x.csv")
    assert np.array_equal(latitude, way)
    assert np.array_equal(longitude, way)
    assert lines == []


def test_swapped_and_full_circle_positions_are_put_right():
    latitude, longitude, lines = checked_position(LONGITUDE, LATITUDE, source="x.csv")
    assert (latitude[0], longitude[0], lines) == (39.0, -96.5, ["latitude and longitude were swapped: corrected"])
    _, longitude, lines = checked_position(LATITUDE, LONGITUDE + 360.0, source="x.csv")
    np.testing.assert_allclose(longitude, LONGITUDE)
    assert lines == ["longitude from 0 to 360 converted to -180 to 180"]


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ((0.0, 0.0), "2 positions of 0/0 (no GPS fix) taken as missing"),
        ((95.0, -96.5), "2 positions that are not on Earth (first: latitude 95, longitude -96.5) taken as missing"),
        ((39.0, 96.5), "2 positions with the other sign of longitude (96.5 among -96.55) taken as missing"),
        ((-39.0, -96.5), "2 positions with the other sign of latitude (-39 among 39.05) taken as missing"),
    ],
)
def test_positions_that_no_receiver_measured_are_missing(row, line):
    latitude, longitude = LATITUDE.copy(), LONGITUDE.copy()
    latitude[[3, 7]], longitude[[3, 7]] = row
    latitude, longitude, lines = checked_position(latitude, longitude, source="x.csv")
    assert np.flatnonzero(np.isnan(latitude) & np.isnan(longitude)).tolist() == [3, 7]
    assert lines == [line]


def test_positions_all_off_the_earth_are_refused():
    with pytest.raises(LogError, match=r"x\.csv: no position is on Earth \(latitude 3904\.5, longitude -9633"):
        checked_position(np.full(5, 3904.5), np.full(5, -9633.0), source="x.csv")
