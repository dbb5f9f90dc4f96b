from __future__ import annotations

import base64

import numpy as np
import pytest
import xarray as xr

from pc2dae.flags import BELOW_DETECTION, INTERPOLATED, MISSING, SPIKE, STALE
from pc2dae.plumes import survey
from pc2dae.report.panels import channel_figure, flag_counts, kinds
from pc2dae.suite import Suite


def test_the_gravest_kind_of_flag_wins() -> None:
    bits = np.array(
        [0, MISSING | SPIKE, SPIKE | STALE, STALE | BELOW_DETECTION, BELOW_DETECTION, INTERPOLATED], np.int32
    )
    assert kinds(bits).tolist() == [0, 1, 2, 3, 4, 1]
    assert flag_counts(bits) == {"missing": 1, "stale": 2, "spike": 2, "below detection": 2, "interpolated": 1}


def test_a_panel_shows_raw_estimate_band_flags_and_plumes(clean: xr.Dataset, suite: Suite) -> None:
    encounters = survey(clean).encounters
    mine = encounters[encounters["channel"] == "co"]
    figure = channel_figure(clean, suite["co"], mine, truth=np.full(600, 120.0))
    roles = [trace["meta"]["role"] for trace in figure.data]
    assert roles == ["flags", "flags", "plume", "raw", "edge", "band", "truth", "estimate"]
    by_role = dict(zip(roles, figure.data, strict=True))
    drawn = np.frombuffer(base64.b64decode(by_role["estimate"]["y"]["bdata"]), "<f4")
    np.testing.assert_array_equal(drawn, clean["co"].values.astype("<f4"))
    low, high = (np.frombuffer(base64.b64decode(by_role[r]["y"]["bdata"]), "<f4") for r in ("edge", "band"))
    assert np.all(low >= 0)
    np.testing.assert_allclose(high - drawn, 1.645 * clean["co_uncertainty"].values, rtol=1e-3)
    assert len(by_role["plume"]["x"]) == 3 * 2


def test_a_flight_that_is_not_denoised_has_no_estimate(measured: xr.Dataset, suite: Suite) -> None:
    none = survey(measured).encounters.iloc[:0]
    roles = [trace["meta"]["role"] for trace in channel_figure(measured, suite["no2"], none).data]
    assert roles == ["plume", "raw"]


def test_plotly_knows_every_property(clean: xr.Dataset, suite: Suite) -> None:
    import plotly.graph_objects as go

    from pc2dae.report.spectra import spectrum_figure
    from pc2dae.report.track import track_figure

    encounters = survey(clean).encounters
    figures = [channel_figure(clean, suite["co2"], encounters[encounters["channel"] == "co2"])]
    figures += [f for f in (spectrum_figure(clean, suite["co"], 1.0), track_figure(clean)) if f is not None]
    assert len(figures) == 3
    for figure in figures:
        go.Figure(figure.data, figure.layout)  # raises ValueError for a name or value plotly does not have


@pytest.mark.parametrize(("scale", "form"), [(1e-3, ""), (1.0, "~s")])
def test_ticks_are_read_without_knowing_milli(measured: xr.Dataset, suite: Suite, scale: float, form: str) -> None:
    """0.5 ug m-3 is not to be written 500m; 20,000 may be 20k."""
    small = measured.assign(co=measured["co"] * scale)
    figure = channel_figure(small, suite["co"], survey(measured).encounters.iloc[:0])
    assert figure.layout["yaxis2"]["tickformat"] == form
