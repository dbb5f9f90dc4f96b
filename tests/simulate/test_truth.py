import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from pc2dae.flags import MISSING
from pc2dae.response.kernels import Kernel, respond
from pc2dae.simulate import SimulatedFlight, aethalometer, electrochemical, fly_plan, instruments
from pc2dae.simulate.clocks import Sampling, sampling
from pc2dae.simulate.payload import T90 as GASES
from pc2dae.simulate.processes import lagged
from pc2dae.simulate.truth import write_truth
from pc2dae.suite import load_suite


def test_truth_knows_every_channel(flown: SimulatedFlight) -> None:
    for channel in load_suite("black-kite").channels:
        for kind in ("ambient", "background", "response", "instant", "fault"):
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


def test_a_dropout_in_a_plume_does_not_change_what_the_sensors_read(
    perfect: SimulatedFlight, monkeypatch: pytest.MonkeyPatch
) -> None:
    air = perfect.truth["co_b_ambient"].values
    begin = int(np.argmax(air)) - 4
    lost = slice(begin, begin + 12)

    def dropping(rng: np.random.Generator, samples: int, **options: float) -> Sampling:
        rows = sampling(rng, samples, **options)
        return replace(rows, lost=[*rows.lost, (lost.start, lost.stop)])

    for module in (aethalometer, electrochemical, instruments):
        monkeypatch.setattr(module, "sampling", dropping)
    truth = fly_plan(perfect.plan).truth
    for channel in load_suite("black-kite").channels:
        fault, reading = truth[f"{channel.name}_fault"].values, truth[f"{channel.name}_response"].values
        assert np.all(fault[lost] & MISSING)
        assert reading[lost] == pytest.approx(perfect.truth[f"{channel.name}_response"].values[lost], rel=1e-9)
    a, b = (truth[f"co_{unit}_response"].values[lost] for unit in "ab")
    assert np.corrcoef(a, b)[0, 1] > 0.9
    t90_s = json.loads(truth.attrs["t90_s"])["co_b"]
    assert np.corrcoef(b, lagged(air, t90_s=t90_s, dt_s=1.0)[lost])[0, 1] > 0.9


@pytest.mark.parametrize("name", [n for n in load_suite("black-kite").names if not n.startswith("o3")])
def test_the_instant_reading_through_the_sensors_kernel_is_its_response(perfect: SimulatedFlight, name: str) -> None:
    truth, t90_s = perfect.truth, json.loads(perfect.truth.attrs["t90_s"])
    instant, response = (truth[f"{name}_{kind}"].values[1:] for kind in ("instant", "response"))
    good = truth[f"{name}_fault"].values[1:] == 0
    late = respond(truth[f"{name}_instant"].values, Kernel(t90_s[name.replace("brc", "bc_ir")]))
    # A reading is taken within its second, the kernel answers for the end of it.
    phases = (np.abs(s * late[:-1] + (1 - s) * late[1:] - response) for s in np.linspace(0, 1, 21))
    assert min(error[good].mean() for error in phases) < 0.2 * np.abs(instant - response)[good].mean()


def test_with_perfect_sheets_the_instant_reading_of_a_cell_is_the_air(perfect: SimulatedFlight) -> None:
    for name in GASES:  # O3 included: the NO2 signal of the OX cell is removed without the dipoles of unequal lags
        assert perfect.truth[f"{name}_instant"].values == pytest.approx(perfect.truth[f"{name}_ambient"].values)


@pytest.mark.parametrize("name", ["no_b", "no2_b", "o3_a", "co2_scd30", "pm25_1", "bc_ir_2"])
def test_the_instant_reading_keeps_calibration_errors(flown: SimulatedFlight, name: str) -> None:
    air, instant, response = (flown.truth[f"{name}_{kind}"].values for kind in ("ambient", "instant", "response"))
    assert abs(np.mean(instant - response)) < 0.2 * abs(np.mean(instant - air))


def test_truth_file_gives_back_the_same(flown: SimulatedFlight, tmp_path: Path) -> None:
    write_truth(flown.truth, tmp_path / "a.nc")
    write_truth(flown.truth, tmp_path / "b.nc")
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()
    back = xr.load_dataset(tmp_path / "a.nc")
    assert np.array_equal(back["time"].values, flown.truth["time"].values)
    for name in flown.truth.data_vars:
        assert np.array_equal(back[name].values, flown.truth[name].values)
    assert back.attrs["encounters"] == flown.truth.attrs["encounters"]
