from __future__ import annotations

import json
import re

import numpy as np
import pytest
import xarray as xr

from pc2dae.view.assets import STATIC
from pc2dae.view.flight_view import FlightView
from pc2dae.view.profile import profile
from pc2dae.view.track import heights, mean_wind, metres


def test_degrees_become_metres_from_the_first_fix(measured: xr.Dataset) -> None:
    position = metres(measured)
    assert position is not None
    east, north = position
    assert np.all(east == 0)
    assert north[[0, 100]] == pytest.approx([0.0, 111.195], abs=0.01)  # a millidegree of latitude


def at(measured: xr.Dataset, latitude: np.ndarray, longitude: np.ndarray) -> xr.Dataset:
    return measured.assign_coords(latitude=("time", latitude), longitude=("time", longitude))


def test_east_is_measured_at_the_middle_latitude_and_over_the_date_line(measured: xr.Dataset) -> None:
    longitude = (np.linspace(179.9, 180.1, 600) + 180) % 360 - 180
    position = metres(at(measured, np.linspace(59.0, 61.0, 600), longitude))
    assert position is not None
    assert position[0][-1] == pytest.approx(0.2 * 111_195 * 0.5)  # cos 60 degrees


def test_a_receiver_at_rest_has_no_map_and_no_fix_no_place(measured: xr.Dataset) -> None:
    rest = np.random.default_rng(5).normal(0, 3 / 111_195, (2, 600))  # wanders by metres
    assert metres(at(measured, 46 + rest[0], 8 + rest[1])) is None
    latitude, longitude = (measured[name].values.copy() for name in ("latitude", "longitude"))
    latitude[300], longitude[300] = 0.0, 0.0
    position = metres(at(measured, latitude, longitude))
    assert position is not None
    assert np.flatnonzero(np.isnan(position[1])).tolist() == [300]


def test_the_track_has_time_position_and_altitude(measured: xr.Dataset) -> None:
    track = json.loads(FlightView(measured).track())
    assert {key: len(values) for key, values in track.items()} == dict.fromkeys(
        ("time", "east", "north", "altitude"), 600
    )


def test_a_flight_without_position_has_its_height_alone(measured: xr.Dataset) -> None:
    here = FlightView(measured.drop_vars(["latitude", "longitude"]))
    track = json.loads(here.track())
    assert track["east"] is None
    assert len(track["altitude"]) == 600
    assert FlightView(measured.drop_vars(["latitude", "longitude", "altitude"])).track() == "null"
    assert metres(measured.assign_coords(latitude=("time", np.full(600, np.nan)))) is None


def test_height_comes_from_the_pressure_where_no_altitude_is_known(measured: xr.Dataset) -> None:
    balloon = measured.drop_vars("altitude").assign(air_pressure=("time", np.linspace(1013.25, 898.75, 600)))
    found = heights(balloon, 1.0)
    assert found is not None
    assert found[0][[0, -1]] == pytest.approx([0.0, 1000.0], abs=0.5)  # 898.75 hPa: ICAO standard atmosphere, 1 km
    assert "pressure" in found[1]


def test_weather_is_no_climb(measured: xr.Dataset) -> None:
    day = xr.Dataset({"air_pressure": ("time", np.linspace(1015, 985, 86_400))})  # a deep low passes: 260 m
    assert heights(day, 1.0) is None


def test_layers_hold_the_median_and_the_spread() -> None:
    height = np.repeat([10.0, 95.0], 11)
    flight = xr.Dataset({"co": ("time", np.r_[np.arange(11.0), np.full(11, 7.0)])})
    flight["co"][-8:] = np.nan  # three samples of the upper layer are too few
    found = profile(flight, ["co"], height)
    assert (found["depth"], found["height"][0], found["height"][-1]) == (5.0, 12.5, 97.5)
    assert [found["channels"]["co"][key][0] for key in ("low", "median", "high")] == [1.0, 5.0, 9.0]
    assert np.isnan(found["channels"]["co"]["median"][1:]).all()


def test_the_mean_wind_is_that_of_the_vector(measured: xr.Dataset) -> None:
    assert mean_wind(measured) is None
    knots = ("time", np.full(600, 10.0), {"units": "kn", "instrument": "icartt"})
    turning = np.r_[np.full(300, 350.0), np.full(300, 10.0)]  # about north: the mean of the angles would be south
    origin = ("time", turning, {"units": "Degs", "instrument": "icartt"})
    found = mean_wind(measured.assign(icartt_wind_speed=knots, icartt_wind_from_direction=origin))
    assert found == pytest.approx((0.0, -5.1444 * np.cos(np.radians(10))), abs=1e-3)
    u, v = (("time", np.full(600, x), {"units": "m s-1", "standard_name": n}) for x, n in
            ((3.0, "eastward_wind"), (-4.0, "northward_wind")))  # fmt: skip
    assert mean_wind(measured.assign(u=u, v=v)) == (3.0, -4.0)


def test_the_page_has_the_colours_of_the_paper() -> None:
    from matplotlib import colormaps

    found = re.search(r"const MAGMA = (\[\[.*?\]\]);", (STATIC / "colours.js").read_text("utf-8"))
    assert found is not None
    magma = colormaps["magma"](np.linspace(0.2, 0.9, 10))[:, :3]
    np.testing.assert_allclose(json.loads(found[1]), 255 * magma, atol=0.51)
