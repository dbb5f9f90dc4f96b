"""Inputs of the benchmark: noise of the stated size, unused seeds, data cut where stated."""

import json

import numpy as np
import pytest

from pc2dae.benchmark import cases as room
from pc2dae.benchmark.cases import _plan as flight_plan  # the fixtures replace it in its module
from pc2dae.benchmark.cases import held_out, known_flights, same_payload, training_flights
from pc2dae.benchmark.denoisers import Truth, denoiser_of
from pc2dae.benchmark.plan import Contender
from pc2dae.simulate import plan_campaign


def test_held_out_flights_come_five_to_a_campaign_from_unused_seeds():
    assert held_out(7) == ["5001-1", "5001-2", "5001-3", "5001-4", "5001-5", "5002-1", "5002-2"]


@pytest.fixture(scope="module")
def short():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_plan", lambda flight_id: plan_campaign(5001, flights=1, minutes=6)[0])
        yield room.simulated_cases.__wrapped__("5001-1")


def test_a_flight_comes_as_flown_and_with_two_levels_of_two_noises(short):
    assert [c.noise for c in short] == ["flight", "inject 0.05", "noisy 0.05", "inject 0.10", "noisy 0.10"]
    assert all(f"ma200_{lamp}_atn{spot}" in short[0].flight for lamp in ("uv", "ir") for spot in (1, 2))


def test_sampling_times_are_those_of_the_rows_within_their_seconds(short):
    offsets = json.loads(short[0].flight.attrs["sampling_offset_s"])
    assert {"afe/a", "afe/b", "li830", "ma200"} <= set(offsets)
    assert all(abs(offset) <= 0.5 for offset in offsets.values())
    assert max(offsets.values()) - min(offsets.values()) > 0.1  # each instrument has its own


def test_injected_noise_is_sigma_times_the_scale_and_nothing_else(short):
    for case, sigma in ((short[1], 0.05), (short[3], 0.10)):
        bound = np.array([c.lower_bound for c in case.suite.channels])
        scale = np.percentile(case.truth, 99.5, axis=1) - bound
        used = case.valid.all(axis=1)
        assert used.tolist() == (scale > 0).tolist()
        assert used.sum() > 10
        spread = (case.values - case.truth)[used].std(axis=1) / scale[used]
        assert spread == pytest.approx(np.full(used.sum(), sigma), rel=0.2)
        assert (case.truth >= bound[:, None]).all()


def test_the_truth_of_a_noisy_record_is_not_that_record(short):
    noisy = short[2]
    answer = denoiser_of(Contender("truth"), noisy, None)
    assert isinstance(answer, Truth)
    assert answer.response is noisy.response
    assert denoiser_of(Contender("ma5", "oracle"), noisy, None) is None


def test_an_eighth_of_a_campaign_is_its_first_eighth():
    ((part, truth),) = training_flights(0.125)
    whole = sum(plan.samples for plan in plan_campaign(1))
    assert part.sizes["time"] == round(whole / 8)
    assert truth["time"].values[0] == part["time"].values[0]


def test_flights_of_the_same_payload_are_not_those_trained_on():
    known, unseen = ([flight_plan(f) for f in ids] for ids in (known_flights(), same_payload()))
    assert known == plan_campaign(1)
    assert {plan.seed for plan in unseen} == {1}
    assert not {plan.number for plan in unseen} & {plan.number for plan in known}
