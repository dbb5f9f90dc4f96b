from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from pc2dae.report.track import metres, track_colours, track_figure
from pc2dae.suite import Suite


def test_degrees_become_metres_from_the_first_fix(measured: xr.Dataset) -> None:
    position = metres(measured)
    assert position is not None
    east, north = position
    assert np.all(east == 0)
    assert north[[0, 100]] == pytest.approx([0.0, 111.195], abs=0.01)  # a millidegree of latitude


def test_a_flight_without_position_has_no_track(measured: xr.Dataset) -> None:
    assert track_figure(measured.drop_vars(["latitude", "longitude"])) is None
    assert track_figure(measured.assign_coords(latitude=("time", np.full(600, np.nan)))) is None


def test_a_channel_without_values_cannot_colour(measured: xr.Dataset, suite: Suite) -> None:
    empty = measured.assign(no2=("time", np.full(600, np.nan)))
    assert [c["name"] for c in track_colours(empty, suite)] == ["co", "co2"]


def test_the_colour_bar_has_plain_numbers(measured: xr.Dataset) -> None:
    figure = track_figure(measured)
    assert figure is not None
    marker = figure.data[1]["marker"]
    assert "s" not in marker["colorbar"]["tickformat"]  # SI prefixes: 500m for 0.5
