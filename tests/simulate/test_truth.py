import json
from pathlib import Path

import numpy as np
import xarray as xr

from pc2dae.simulate import SimulatedFlight
from pc2dae.simulate.truth import write_truth
from pc2dae.suite import load_suite


def test_truth_knows_every_channel(flown: SimulatedFlight) -> None:
    for channel in load_suite("black-kite").channels:
        for kind in ("ambient", "background", "response", "fault"):
            values = flown.truth[f"{channel.name}_{kind}"].values
            assert np.isfinite(values).all()
        assert flown.truth[f"{channel.name}_ambient"].attrs["units"] == channel.units
    assert set(json.loads(flown.truth.attrs["t90_s"])) >= {"co_a", "bc_ir_1", "co2_scd30", "pm25_1"}


def test_encounters_are_where_the_smoke_is(flown: SimulatedFlight) -> None:
    encounters = json.loads(flown.truth.attrs["encounters"])
    excess = (flown.truth["co_a_ambient"] - flown.truth["co_a_background"]).values
    assert encounters
    for one in encounters:
        inside = excess[one["start_s"] : one["end_s"]]
        assert len(inside) >= 3
        assert inside.min() > 30
        assert one["peak_co_ppb"] == inside.max()
        assert 0.8 < one["mce"] < 0.97
        assert 1 < one["bc_per_co_ng_m3_ppb"] < 20


def test_truth_file_gives_back_the_same(flown: SimulatedFlight, tmp_path: Path) -> None:
    write_truth(flown.truth, tmp_path / "a.nc")
    write_truth(flown.truth, tmp_path / "b.nc")
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()
    back = xr.load_dataset(tmp_path / "a.nc")
    assert np.array_equal(back["time"].values, flown.truth["time"].values)
    for name in flown.truth.data_vars:
        assert np.array_equal(back[name].values, flown.truth[name].values)
    assert back.attrs["encounters"] == flown.truth.attrs["encounters"]
