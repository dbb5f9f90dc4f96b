"""Physically impossible spikes are flagged; plumes are kept."""

from __future__ import annotations

import numpy as np

from pc2dae.flags import SPIKE
from pc2dae.qc.spikes import moves, spike


def _quiet(rows: int = 60, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, 1.0, rows)


def _found(values: np.ndarray, **how: object) -> list[int]:
    settings = {"sigma": 1.0, "lower_bound": 0.0} | how
    bits = spike(values, np.isfinite(values), **settings)  # type: ignore[arg-type]
    return [int(i) for i in np.flatnonzero(bits & SPIKE)]


def test_a_slow_cell_cannot_come_back_in_a_second() -> None:
    x = _quiet()
    x[30] = 20.0
    assert _found(x, t90_s=4.0) == [30]


def test_nor_can_it_dip_below_clean_air() -> None:
    x = _quiet() + 12.0
    x[30] = -4.0  # a swing of 16 σ, though not 8 σ under the bound
    assert _found(x, t90_s=4.0) == [30]


def test_a_plume_through_a_slow_cell_stays() -> None:
    puff = np.zeros(60)
    puff[30] = 1.0
    tau = 4.0 / np.log(10)
    response = np.convolve(puff, np.exp(-np.arange(20) / tau))[:60] * 100.0
    assert _found(_quiet() + response, t90_s=4.0) == []
    assert _found(_quiet() + response, t90_s=80.0) == []  # a data sheet's t90 is not believed


def test_one_sample_plumes_of_a_fast_instrument_stay() -> None:
    x = _quiet(300)
    x[[50, 120, 200]] = [40.0, 60.0, 50.0]
    x[[51, 121, 201]] = [25.0, 30.0, 20.0]
    x[250] = 55.0  # this one is alone, but no higher than the channel's plumes
    assert _found(x) == []


def test_an_accompanied_peak_stays_and_a_lonely_one_goes() -> None:
    x = _quiet(100)
    x[50] = 500.0
    with_others = np.zeros(100, bool)
    with_others[48:53] = True
    assert _found(x, accompanied=with_others) == []
    assert _found(x, accompanied=np.zeros(100, bool)) == [50]


def test_an_edge_stays() -> None:
    x = _quiet() + np.where(np.arange(60) < 30, 0.0, 100.0)
    assert _found(x, t90_s=4.0) == []


def test_a_jolt_of_an_aethalometer_shows_twice_and_both_go() -> None:
    x = _quiet()
    x[30], x[31] = 40.0, -38.0
    assert _found(x) == [30, 31]


def test_beside_a_gap_nothing_is_sure() -> None:
    x = _quiet()
    x[30] = 20.0
    x[31:35] = np.nan
    assert _found(x, t90_s=4.0) == []


def test_noise_alone_is_no_spike() -> None:
    rng = np.random.default_rng(5)
    assert _found(rng.normal(0, 1, 20_000), t90_s=4.0) == []
    differenced = np.diff(rng.normal(0, 1, 20_001)) / np.sqrt(2)
    assert _found(differenced) == []
    heavy = rng.standard_t(4, 20_000)
    assert len(_found(heavy, sigma=float(np.std(heavy)), t90_s=4.0)) < 20  # beyond 8 σ even these are suspect


def test_moves_marks_the_samples_around_a_step() -> None:
    x = np.array([0.0, 0, 0, 0, 10, 10, 10, 10])
    np.testing.assert_array_equal(moves(x, np.ones(8, bool), sigma=1.0), [0, 0, 1, 1, 1, 1, 0, 0])


def test_far_above_the_range_a_sample_alone_is_a_spike_and_a_plume_is_not() -> None:
    x = _quiet(300)
    x[150:155] = [60.0, 90.0, 250.0, 120.0, 50.0]  # a plume beyond a range of 100
    x[200:203] = [60.0, 250.0, 70.0]
    moving = np.ones(300, dtype=bool)  # other instruments respond too
    assert _found(x, valid_max=100.0, accompanied=moving) == [201]
    assert _found(x, accompanied=moving) == []
