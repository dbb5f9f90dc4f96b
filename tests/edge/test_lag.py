"""The lag of a record's channels: delays, differences, and a stream's readings second by second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from pc2dae.edge.lag import Lags, LiveResponse, shifted, within
from pc2dae.edge.levels import of_flight, trailing
from pc2dae.registry import load_model
from pc2dae.response.kernels import Kernel, Response, respond
from pc2dae.response.stated import stated_responses
from suites import make_suite

SUITE = make_suite({"gas": {"a": "ppb", "b": "ppb", "c": "ppb"}})
T = np.arange(600)


def lags(responses: Mapping[str, Response], *, live: bool = False) -> Lags:
    return Lags(SUITE, responses, live=live)


def delayed(*delays: float) -> Lags:
    return lags({name: Response(Kernel(0.0), 0.0, delay) for name, delay in zip("abc", delays, strict=True)})


def smooth(t: np.ndarray = T) -> np.ndarray:
    return 20 + 5 * np.sin(t / 25) + 80 * np.exp(-0.5 * ((t - 300) / 5) ** 2)


def test_readings_are_put_in_step_with_the_air() -> None:
    """Whole delays exactly, fractions by a cubic, negative ones (a clock ahead) likewise."""
    late = np.stack([smooth(T - d) for d in (3.0, 2.4, -1.5)])
    known = delayed(3.0, 2.4, -1.5)
    values, new, between = known.in_step(late, np.ones(late.shape, bool))
    assert np.array_equal(values[0, :-3], smooth()[:-3])
    assert values[1:, 4:-5] == pytest.approx(np.stack([smooth()] * 2)[:, 4:-5], abs=0.02)
    assert new[0].tolist() == [True] * 597 + [False] * 3  # not yet logged
    assert not between[0].any()
    assert between[1, 2:-5].all()
    assert (known.look_back, known.look_ahead) == (2 + 2, 2 + 3)


def test_next_to_a_gap_the_nearest_sample_is_taken() -> None:
    late, new = np.stack([smooth(T - d) for d in (3.0, 2.4, 2.6)]), np.ones((3, 600), bool)
    new[:, 100:110] = False
    late[:, 100:110] = 1e9  # not looked at
    values, known, between = delayed(3.0, 2.4, 2.6).in_step(late, new)
    assert values[known].max() < 110
    assert np.flatnonzero(~known[0])[:10].tolist() == list(range(97, 107))
    assert np.flatnonzero(~known[1])[:10].tolist() == list(range(98, 108))  # sample t + 2, at 0.4 s
    assert np.flatnonzero(~known[2])[:10].tolist() == list(range(97, 107))  # sample t + 3, at 0.4 s
    assert values[1, 97] == late[1, 99]
    assert not between[1, 97]


def test_between_samples_the_noise_is_what_a_cubic_leaves_of_it() -> None:
    noise = np.random.default_rng(0).standard_normal((3, 20_000))
    new = np.ones(noise.shape, bool)
    levels, _ = of_flight(noise, new, np.full(3, -10.0))
    values, _, moved = delayed(0.0, 0.5, 0.2).all_in_step(noise, new, levels)
    assert moved.sigma[:, 100] == pytest.approx(values.std(axis=1), rel=0.03)
    along = [np.corrcoef(x[:-1], x[1:])[0, 1] for x in values]
    assert moved.lag1[:, 100] == pytest.approx(along, abs=0.06)


@pytest.mark.parametrize("delay", [0.0, 2.0, 3.4])
def test_as_logged_is_the_reverse(delay: float) -> None:
    known = delayed(delay, delay, delay)
    late = known.as_logged(np.stack([smooth()] * 3))
    first = int(np.ceil(delay))
    assert np.isnan(late[:, :first]).all()
    assert late[0, first:] == pytest.approx(smooth(T - delay)[first:], abs=0.5)
    back, new, _ = known.in_step(late, np.isfinite(late))
    inner = slice(2, -8)
    assert new[:, inner].all()
    assert back[:, inner] == pytest.approx(np.stack([smooth()] * 3)[:, inner], abs=0.5)


def test_the_response_holds_the_air_over_a_gap() -> None:
    air = np.stack([smooth(), smooth(), smooth()])
    air[0, 290:300] = np.nan
    air[1, :40] = np.nan
    found = lags({"a": Response(Kernel(8.0), 1.0), "b": Response(Kernel(8.0), 1.0)}).response(air)
    held = air[0].copy()
    held[290:300] = air[0, 289]
    assert found[0, 300:] == pytest.approx(respond(held, Kernel(8.0))[300:])
    assert found[1, 40:] == pytest.approx(respond(air[1, 40:], Kernel(8.0)))
    assert np.array_equal(np.isnan(found[:2]), np.isnan(air[:2]))
    assert np.isnan(found[2]).all()  # no response known


def test_a_wrong_t90_and_a_wrong_delay_are_covered_by_the_systematic_uncertainty() -> None:
    """It is the change of the estimate if t90 or delay change by that much, and that of the air within a sample."""
    air = smooth(T)
    known = lags({"a": Response(Kernel(10.0), 0.5, 0.0, 0.0), "b": Response(Kernel(0.0), 0.0, 0.0, 0.3)})
    _, stated = known.answer(np.stack([air, air, air]))
    reading = respond(air, Kernel(10.0))[None].repeat(3, axis=0)
    new, lag1 = np.ones(reading.shape, bool), np.zeros(reading.shape)
    wrong = lags({"a": Response(Kernel(10.5), 0.5)}).undo(reading, new, lag1).values[0]
    steep = np.abs(np.gradient(air)) > 5
    inside = known.delay_doubt[0] * np.diff(air, prepend=air[0])  # of a channel whose delay is known exactly
    for row, change in enumerate((wrong - air, smooth(T - 0.3) - air)):
        assert stated[row, steep] == pytest.approx(np.hypot(change, inside)[steep], rel=0.2, abs=0.4)
    assert not stated[2].any()


RESPONSES = {
    "lag": {"a": Response(Kernel(6.0), 1.0), "b": Response(Kernel(25.0), 3.0)},
    "whole delay": {"a": Response(Kernel(6.0), 1.0, 3.0), "b": Response(Kernel(25.0), 3.0, 1.0)},
    "fractional delay": {"a": Response(Kernel(6.0), 1.0, 2.3), "b": Response(Kernel(25.0), 3.0, 0.6)},
    "delay alone": {"a": Response(Kernel(0.0), 0.0, 2.5), "c": Response(Kernel(5.0), 0.5)},
}


@pytest.mark.parametrize("case", RESPONSES)
@pytest.mark.parametrize("chunk", [1, 7, 600])
def test_a_stream_reads_what_a_record_reads(case: str, chunk: int) -> None:
    known = lags(RESPONSES[case], live=True)
    air = np.random.default_rng(4).normal(20, 5, (3, 600)).cumsum(axis=1)
    air[0, :25] = air[1, 200:230] = air[:, 400:403] = np.nan
    response, systematic = known.answer(air)
    live = LiveResponse(known)
    parts = [live(air[:, k : k + chunk]) for k in range(0, 600, chunk)]
    streamed = [np.concatenate(x, axis=1) for x in zip(*parts, strict=True)]
    np.testing.assert_allclose(streamed[0], known.as_logged(response), rtol=1e-9)
    np.testing.assert_allclose(streamed[1], systematic, rtol=1e-9, atol=1e-9)
    early = shifted(known.as_logged(response), known.whole, np.nan)
    ends = known.look_ahead + 1
    np.testing.assert_allclose(streamed[2][:, :-ends], early[:, :-ends], rtol=1e-9)


def test_a_difference_of_two_lagging_channels_leaves_no_dipole() -> None:
    """c = s − 0.5 b, its signal s lagging by 20 s and b by 4 s: ozone from a cell that also sees nitrogen dioxide."""
    ozone, other = 30 - 0.1 * smooth(), smooth()
    kernels = Kernel(20.0), Kernel(4.0)
    b = respond(other, kernels[1])
    c = respond(ozone + 0.5 * other, kernels[0]) - 0.5 * b
    reading, new = np.stack([np.zeros(600), b, c]), np.ones((3, 600), bool)
    new[:, 200:205] = new[1, 300:302] = False
    known = {"b": Response(kernels[1], 0.4), "c": Response(kernels[0], 2.0, cross=(("b", 0.5),))}
    free = lags(known).undo(reading, new, np.zeros(reading.shape))
    both = new[1] & new[2]
    both[[205, 302]] = False  # means over a gap
    assert free.values[2, both] == pytest.approx(ozone[both], abs=1e-6)
    alone = lags(known | {"c": Response(kernels[0], 2.0)}).undo(reading, new, np.zeros(reading.shape))
    assert np.abs(alone.values[2, both] - ozone[both]).max() > 20


def test_readings_remain_in_the_range_of_the_samples_before_them() -> None:
    values = np.array([[np.nan, 5.0, 7.0, np.nan, np.nan, np.nan, 6.0]])
    limited = within(np.full((1, 7), 20.0), values, np.isfinite(values), np.full((1, 7), 0.5), 3)
    np.testing.assert_allclose(limited, [[np.nan, 6.5, 8.5, 8.5, 8.5, np.nan, 7.5]])


@pytest.fixture(scope="module")
def model():
    return load_model("adaptive")


@pytest.mark.parametrize("profile", ["flight", "live"])
def test_estimates_of_the_air_are_in_the_range_of_the_inverted_samples(model, profile: str) -> None:
    rng = np.random.default_rng(6)
    air = np.stack([10 + 60 * (T % 120 < 15), smooth(), smooth()])
    known = {"a": Response(Kernel(8.0), 1.0, 2.0), "b": Response(Kernel(30.0), 3.0)}
    values = np.stack([respond(np.roll(air[0], 2), Kernel(8.0)), respond(air[1], Kernel(30.0)), air[2]])
    values += rng.normal(0, 1, values.shape)
    values[:, 150:190] = values[1, :400:7] = np.nan
    engine = replace(model, profile=profile, responses=known).engine(SUITE)
    estimate = engine(values, np.full((3, 600), np.nan), np.isfinite(values))
    seen, bound = np.isfinite(values), np.zeros(3)
    levels, new = (
        of_flight(values, seen, bound) if profile == "flight" else trailing(values, seen, bound, np.full(3, np.nan))
    )
    values, new, levels = engine.lags.all_in_step(values, new, levels)
    free = engine.lags.undo(values, new, levels.lag1)
    slack = np.nan_to_num(3 * levels.sigma * free.gain + 1e-3, nan=100.0)  # unknown at the first sample
    for row, t in np.ndindex(3, 600):
        part = slice(max(t - model.before, 0), t + model.after + 1)
        u = free.values[row, part][new[row, part]]
        assert u.min() - slack[row, t] <= estimate.unbounded[row, t] <= u.max() + slack[row, t]
    error, lag = (np.abs(x[0] - air[0])[20:-20].mean() for x in (estimate.unbounded, estimate.response))
    assert error < 0.5 * lag
    assert np.isnan(estimate.response[2]).all()


def test_a_finer_grid_does_not_change_the_estimate(model) -> None:
    """Samples that are k apart are inverted at their own rate."""
    known = {"a": Response(Kernel(8.0), 1.0, 2.0)}
    suite = make_suite({"gas": {"a": "ppb"}})
    reading = respond(smooth(), Kernel(8.0)) + np.random.default_rng(7).normal(0, 1, 600)
    fine = np.full(1800, np.nan)
    fine[::3] = reading
    one, three = (
        replace(model, responses=known).engine(suite.model_copy(update={"rate_hz": rate}))(
            x[None], np.full((3, len(x)), np.nan), np.isfinite(x)[None]
        )
        for x, rate in ((reading, 1.0), (fine, 3.0))
    )
    for name in ("unbounded", "sigma", "response"):
        np.testing.assert_allclose(getattr(three, name)[:, ::3], getattr(one, name), rtol=1e-5)


def test_only_what_a_suite_states_well_is_used_live() -> None:
    suite = make_suite({
        "gas": {
            "a": {"units": "ppb", "t90_s": 4.0, "delay_s": 1.5, "delay_uncertainty_s": 0.2},
            "b": {"units": "ppb", "t90_s": 10.0, "t90_uncertainty_s": 5.0},
            "c": "ppb",
            "d": {"units": "ppb", "t90_s": 6.0, "kernel": "two_step", "slow_t90_s": 300.0, "slow_share": 0.1},
            "e": {"units": "ppb", "t90_s": 6.0, "kernel": "gaussian"},
            "f": {"units": "ppb", "difference_of": ("a", "d")},
            "g": {"units": "ppb", "difference_of": ("a", "c")},
            "h": {"units": "ppb", "t90_s": 0.0},
        }
    })  # fmt: skip
    responses, reasons = stated_responses(suite)
    assert responses["a"] == Response(Kernel(4.0), 0.6, 1.5, 0.2)
    assert responses["f"] == replace(responses["a"], cross=(("d", 1.0),))
    assert responses["h"].kernel == Kernel(0.0)
    assert set(reasons) == {"b", "c", "g"}
    assert reasons["b"] == "t90 10 ± 5 s is known only to 50 %"
    assert reasons["c"] == "t90 unknown: not in the suite"
    live = Lags(suite, responses, live=True)
    assert live.ambient == ("a", "d", "f", "h")  # the inverse of a Gaussian looks ahead
    assert live.kernels[3] == Kernel(6.0)  # the slow part would need the whole past
