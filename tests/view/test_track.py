from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from pc2dae.view.flight_view import FlightView
from pc2dae.view.track import metres


def test_degrees_become_metres_from_the_first_fix(measured: xr.Dataset) -> None:
    position = metres(measured)
    assert position is not None
    east, north = position
    assert np.all(east == 0)
    assert north[[0, 100]] == pytest.approx([0.0, 111.195], abs=0.01)  # a millidegree of latitude


def test_the_track_has_time_position_and_altitude(measured: xr.Dataset) -> None:
    track = json.loads(FlightView(measured).track())
    assert {key: len(values) for key, values in track.items()} == dict.fromkeys(
        ("time", "east", "north", "altitude"), 600
    )


def test_a_flight_without_position_has_no_track(measured: xr.Dataset) -> None:
    assert FlightView(measured.drop_vars(["latitude", "longitude"])).track() == "null"
    assert metres(measured.assign_coords(latitude=("time", np.full(600, np.nan)))) is None
