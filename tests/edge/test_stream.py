"""A stream gives the same result as `denoise --profile live` for any chunking."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pc2dae.arrays import Array
from pc2dae.denoiser import Estimate
from pc2dae.edge.adaptive import AdaptiveDenoiser
from pc2dae.edge.checks import LiveChecks
from pc2dae.edge.engine import Engine
from pc2dae.edge.load import open_network
from pc2dae.edge.messages import Clean, Sample
from pc2dae.edge.ready import Ready
from pc2dae.edge.runtime import WindowedDenoiser
from pc2dae.edge.stream import StreamingDenoiser
from pc2dae.errors import ModelError
from pc2dae.flags import MISSING, OUT_OF_RANGE, SATURATED, SPIKE, STALE
from pc2dae.response.kernels import Kernel, Response
from pc2dae.suite import parse_suite
from suites import make_suite

SUITE = make_suite(
    {
        "gas": {"co": {"units": "ppb", "noise_sigma": 8.0, "valid_max": 5000.0}, "no": "ppb"},
        "co2": {"co2": {"units": "ppm", "lower_bound": 300.0, "native_rate_hz": 0.5}},
    },
    name="small",
    missing=[-9999],
)
START = datetime(2025, 10, 1, 12, tzinfo=UTC)
shipped = cache(open_network)
SCALE = np.array([[100.0], [40.0], [100.0]])
Record = tuple[Array, Array, np.ndarray]


def averaging(back: int, ahead: int) -> AdaptiveDenoiser:
    """A stand-in for the network that depends on every input within its reach: a mean of observations weighted by σ."""

    def network(*inputs: Array) -> tuple[Array, ...]:
        values, valid, noise, lag1, bound, group, reading, gain, tau = inputs
        fine = (np.isfinite(values) & (valid > 0.5)) / noise
        weights = 1.0 / (1 + np.abs(np.arange(-back, ahead + 1)))
        wide = [
            np.pad(x, ((0, 0), (0, 0), (back, ahead)))
            for x in (
                np.where(fine > 0, values + 0.1 * tau / gain * (reading - bound), 0) * fine,
                fine,
                fine * (values - bound),
                fine * group,
            )
        ]
        sums = [np.lib.stride_tricks.sliding_window_view(x, len(weights), axis=-1) @ weights for x in wide]
        mass = np.maximum(sums[1], 1e-9)
        mean = sums[0] / mass * (1 - 0.1 * lag1) + 0.1 * lag1 * values
        return mean, mean, np.nan_to_num(noise + 0.01 * sums[2] / mass + 0.01 * sums[3] / mass)

    reach = {"look_back": back, "look_ahead": ahead, "before": min(back, 20), "after": min(ahead, 20)}
    return AdaptiveDenoiser("stand-in", network, **reach, profile="live")


def windowed() -> WindowedDenoiser:
    """A stand-in for lean: the whole window matters, as with GroupNorm, and so does the environment."""

    def network(values: Array, valid: Array, environment: Array, noise: Array) -> tuple[Array, ...]:
        x = np.where(valid > 0, values, 0)
        mean = x.sum(-1, keepdims=True) / np.maximum(valid.sum(-1, keepdims=True), 1)
        warm = np.nan_to_num(environment).mean((1, 2), keepdims=True)
        ramp = np.linspace(0, 1, 128, dtype=np.float32)
        level = np.nan_to_num(noise)[:, :, None]
        return (
            np.abs(0.5 * mean + 0.5 * x + ramp + 0.01 * warm + 0.01 * level) + np.array([[0], [0], [300]], np.float32),
        )

    return WindowedDenoiser("stand-in", SUITE, network, profile="live")


VARIANTS = {"centred": (40, 70), "short": (40, 6), "causal": (40, 0)}
LAGS = {
    "no lag": {},
    "lag": {"co": Response(Kernel(4.0), 0.6), "co2": Response(Kernel(20.0), 2.0)},
    "lag and delay": {
        "co": Response(Kernel(6.0), 0.6, delay_s=3.0),
        "no": Response(Kernel(3.0), 0.6, delay_s=0.4, cross=(("co", 0.1),)),
        "co2": Response(Kernel(15.0, "two_step", 300.0, 0.1), 2.0, delay_s=1.7),
    },
}


def record(length: int, seed: int = 0) -> Record:
    """Values, environment, validity with plumes, gaps, a channel that sleeps at first, and stale samples."""
    rng = np.random.default_rng(seed)
    t = np.arange(length)
    plume = np.exp(-0.5 * ((t - 70) / 6) ** 2) + np.exp(-0.5 * ((t - 210) / 3) ** 2)
    values = np.stack([100 * plume, 40 * plume, 420 + 30 * plume]) + rng.normal(0, 1, (3, length)) * [[8], [5], [2]]
    values[1, :60] = np.nan
    values[:, 100:170] = np.nan
    valid = np.isfinite(values)
    valid[2, 1::2] = False
    return values, 20 + rng.normal(0, 1, (3, length)), valid


def samples(data: Record, skip: range = range(0)) -> list[Sample]:
    """The record as messages whose sender has screened it; those of `skip` were never sent."""
    values, environment, valid = data
    found = []
    for n in range(values.shape[1]):
        if n in skip:
            continue
        numbers = {c: float(v) for c, v in zip(SUITE.names, values[:, n], strict=True) if np.isfinite(v)}
        qc = {c: 0 if ok else STALE for c, ok in zip(SUITE.names, valid[:, n], strict=True)}
        around = dict(
            zip(("air_temperature", "relative_humidity", "air_pressure"), map(float, environment[:, n]), strict=True)
        )
        found.append(
            Sample(flight="f", seq=n, time=START + timedelta(seconds=n), values=numbers, environment=around, qc=qc)
        )
    return found


def chunks(items: list[Sample], cuts: list[int]) -> list[list[Sample]]:
    edges = [0, *sorted({c for c in cuts if c < len(items)}), len(items)]
    return [items[a:b] for a, b in pairwise(edges)]


def streamed(engine: Engine, parts: list[list[Sample]]) -> list[Ready]:
    stream = StreamingDenoiser(engine)
    return [r for part in parts for r in stream.feed(part)] + stream.flush()


def offline(denoiser: Any, data: Record) -> Estimate:
    job = denoiser.prepare(dict.fromkeys(SUITE.names), SUITE)
    return job(*data)  # type: ignore[no-any-return]


def assert_equal(ready: list[Ready], expected: Estimate) -> None:
    assert [r.index for r in ready] == list(range(expected.value.shape[1]))
    for name in ("value", "unbounded", "sigma", "response"):
        if getattr(expected, name) is not None:
            got = np.stack([getattr(r, name) for r in ready], 1)
            np.testing.assert_allclose(got / SCALE, getattr(expected, name) / SCALE, rtol=0, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("lag", LAGS)
@settings(max_examples=5, deadline=None)
@given(length=st.integers(1, 420), cuts=st.lists(st.integers(1, 400), max_size=20), seed=st.integers(0, 5))
@example(length=254, cuts=[], seed=2)  # a noise level so low that the flight's origin is not the stream's
def test_any_chunking_equals_the_live_profile(variant: str, lag: str, length: int, cuts: list[int], seed: int) -> None:
    denoiser, data = replace(averaging(*VARIANTS[variant]), responses=LAGS[lag]), record(length, seed)
    ready = streamed(denoiser.engine(SUITE), chunks(samples(data), cuts))
    assert_equal(ready, offline(denoiser, data))


@pytest.mark.parametrize(("name", "length"), [("adaptive", 1000), ("adaptive-short", 300), ("adaptive-causal", 300)])
@pytest.mark.parametrize("lag", ["no lag", "lag and delay"])
@settings(max_examples=3, deadline=None)
@given(cuts=st.lists(st.integers(1, 1000), max_size=8), seed=st.integers(0, 5))
def test_the_shipped_networks_stream_what_they_denoise(
    name: str, length: int, lag: str, cuts: list[int], seed: int
) -> None:
    denoiser, _ = shipped(name, profile="live")
    assert isinstance(denoiser, AdaptiveDenoiser)
    denoiser, data = replace(denoiser, responses=LAGS[lag]), record(length, seed)
    ready = streamed(denoiser.engine(SUITE), chunks(samples(data), cuts))
    assert_equal(ready, offline(denoiser, data))


@pytest.mark.parametrize("name", ["adaptive", "adaptive-short", "adaptive-causal"])
@pytest.mark.parametrize(("length", "missing"), [(1, 0), (2, 0), (3, 1), (10, 0), (10, 4), (120, 40), (10, 10)])
def test_short_records_and_those_that_begin_with_nothing(name: str, length: int, missing: int) -> None:
    denoiser, _ = shipped(name, profile="live")
    assert isinstance(denoiser, AdaptiveDenoiser)
    denoiser, data = replace(denoiser, responses=LAGS["lag and delay"]), record(length)
    data[0][:, :missing], data[2][:, :missing] = np.nan, False
    for parts in ([samples(data)], [[s] for s in samples(data)]):
        assert_equal(streamed(denoiser.engine(SUITE), parts), offline(denoiser, data))


@settings(max_examples=8, deadline=None)
@given(length=st.integers(1, 420), cuts=st.lists(st.integers(1, 400), max_size=20), seed=st.integers(0, 5))
def test_any_chunking_equals_the_emit_rule(length: int, cuts: list[int], seed: int) -> None:
    data = record(length, seed)
    ready = streamed(windowed().engine(SUITE), chunks(samples(data), cuts))
    assert_equal(ready, offline(windowed(), data))


@pytest.mark.parametrize("lag", LAGS)
def test_one_by_one_over_many_moves_of_the_memory(lag: str) -> None:
    denoiser, data = replace(averaging(40, 6), responses=LAGS[lag]), record(1100)
    assert_equal(streamed(denoiser.engine(SUITE), [[s] for s in samples(data)]), offline(denoiser, data))


@pytest.mark.parametrize(
    ("variant", "lag", "latency"),
    [("short", "no lag", 6), ("short", "lag", 6), ("short", "lag and delay", 6 + 3), ("causal", "no lag", 0),
     ("causal", "lag", 0), ("causal", "lag and delay", 3)],
)  # fmt: skip
def test_an_estimate_comes_exactly_after_look_ahead_and_delay(variant: str, lag: str, latency: int) -> None:
    stream = StreamingDenoiser(replace(averaging(*VARIANTS[variant]), responses=LAGS[lag]).engine(SUITE))
    assert stream.engine.latency_s == latency
    for n, sample in enumerate(samples(record(60))):
        assert [r.index for r in stream.feed([sample])] == ([n - latency] if n >= latency else [])


def test_a_network_that_waits_long_gives_out_in_groups() -> None:
    stream = StreamingDenoiser(averaging(40, 70).engine(SUITE))
    assert stream.engine.latency_s == 71
    counts = [len(stream.feed([sample])) for sample in samples(record(76))]
    assert [(n, c) for n, c in enumerate(counts) if c] == [(71, 2), (73, 2), (75, 2)]


def test_the_paper_networks_give_out_sixteen_at_a_time() -> None:
    stream = StreamingDenoiser(windowed().engine(SUITE))
    assert stream.engine.latency_s == 63
    counts = [len(stream.feed([sample])) for sample in samples(record(100))]
    assert [(n, c) for n, c in enumerate(counts) if c] == [(63, 16), (79, 16), (95, 16)]


def test_a_missed_second_is_stepped_as_missing() -> None:
    data, hole = record(120), range(30, 45)
    data[0][:, hole], data[1][:, hole], data[2][:, hole] = np.nan, np.nan, False
    denoiser = averaging(40, 6)
    ready = streamed(denoiser.engine(SUITE), [samples(data, skip=hole)])
    assert_equal(ready, offline(denoiser, data))
    assert (np.stack([r.bits for r in ready], 1)[:, hole] == MISSING).all()
    assert ready[30].microseconds - ready[0].microseconds == 30_000_000


def test_a_late_sample_is_placed_while_its_second_is_open_and_reported_after() -> None:
    stream, items = StreamingDenoiser(averaging(40, 6).engine(SUITE)), samples(record(60))
    given = stream.feed(items[:20] + items[21:26])  # 25 is the newest, 19 was given out
    assert given[-1].index == 19
    assert stream.feed([items[20]]) == []
    assert stream.problems == []
    assert stream.feed([items[26]])[0].bits[0] == 0  # second 20 has a sample after all
    assert stream.feed([items[20]]) == []
    assert stream.late == 1
    assert stream.problems[-1].error == "2025-10-01T12:00:20Z: 6 s late: the estimates of its second were sent"


@settings(max_examples=10, deadline=None)
@given(order=st.permutations(range(12)), cuts=st.lists(st.integers(1, 50), max_size=8))
def test_chunks_do_not_matter_when_samples_come_in_disorder(order: list[int], cuts: list[int]) -> None:
    items = samples(record(60))
    shuffled = items[:30] + [items[30 + k] for k in order] + items[42:]
    engine = averaging(20, 4).engine(SUITE)
    one, other = (streamed(engine, parts) for parts in ([[s] for s in shuffled], chunks(shuffled, cuts)))
    np.testing.assert_allclose(np.stack([r.value for r in one]), np.stack([r.value for r in other]), rtol=1e-6)


def test_two_samples_of_one_second_are_averaged() -> None:
    stream = StreamingDenoiser(averaging(40, 6).engine(SUITE))
    first = Sample(flight="f", seq=0, time=START, values={"co": 10.0, "no": None})
    second = Sample(flight="f", seq=1, time=START + timedelta(seconds=0.4), values={"co": 20.0, "no": 7.0})
    stream.feed([first, second])
    assert stream.ring.values[:2, 0].tolist() == [15.0, 7.0]
    assert stream.ring.stop == 1


def test_one_wrong_stamp_does_not_end_a_flight_but_an_outage_is_bridged() -> None:
    items = samples(record(60))
    stream = StreamingDenoiser(averaging(40, 6).engine(SUITE))
    wrong = items[20].model_copy(update={"time": START + timedelta(hours=0.8)})
    given = stream.feed([*items[:20], wrong, *items[21:40]])
    assert [r.index for r in given] == list(range(34))
    assert "s after the previous sample, and the next sample did not confirm" in stream.problems[0].error
    later = [s.model_copy(update={"time": s.time + timedelta(minutes=5)}) for s in items[40:]]
    assert stream.feed(later)[-1].index == 300 + 59 - 6
    far = [s.model_copy(update={"time": s.time + timedelta(days=2), "seq": s.seq + 60}) for s in items[:20]]
    assert stream.feed(far)[-1].index == 300 + 79 - 6  # no gap of two days: the clock was set
    assert "the clock was set from 2025-10-01T12:06:00Z to 2025-10-03T12:00:00Z" in stream.problems[-1].error


@pytest.mark.parametrize("lag", LAGS)
def test_a_restored_stream_goes_on_as_if_nothing_had_happened(lag: str) -> None:
    engine, items = replace(averaging(40, 6), responses=LAGS[lag]).engine(SUITE), samples(record(400))
    whole, ahead = streamed(engine, [items]), engine.look_ahead
    first = StreamingDenoiser(engine)
    ready = first.feed(items[:217])
    second = StreamingDenoiser(engine)
    second.restore(first.state())
    third = StreamingDenoiser(engine)
    third.restore(second.state())
    third.follow((item, None) for item in items[217:303])
    later = third.feed(items[303:]) + third.flush()
    assert [r.index for r in ready + later] == [*range(217 - ahead), *range(303 - ahead, 400)]
    for name in ("value", "sigma", "response"):
        got, expected = (np.stack([getattr(r, name) for r in part]) for part in (later, whole[303 - ahead :]))
        np.testing.assert_allclose(got, expected, rtol=1e-9, err_msg=name)
    with pytest.raises(ModelError, match="another model"):
        StreamingDenoiser(averaging(40, 5).engine(parse_suite(_other(), where="test"))).restore(first.state())


def test_a_state_saved_with_another_lag_is_refused() -> None:
    saved = StreamingDenoiser(averaging(40, 6).engine(SUITE)).state()
    with pytest.raises(ModelError, match="another model"):
        StreamingDenoiser(replace(averaging(40, 6), responses=LAGS["lag"]).engine(SUITE)).restore(saved)


def test_a_message_says_what_is_estimated_and_carries_the_reading() -> None:
    denoiser = replace(averaging(40, 6), responses=LAGS["lag"])
    engine = denoiser.engine(SUITE)
    ready = streamed(engine, [samples(record(90))])[70]
    message = Clean.model_validate_json(ready.message("f", SUITE.names, engine.latency_s, engine.lags.ambient))
    assert message.target == {"co": "ambient", "no": "response", "co2": "ambient"}
    assert message.response == pytest.approx({"co": ready.response[0], "co2": ready.response[2]}, rel=1e-6)
    assert message.latency_s == 6
    plain = Clean.model_validate_json(ready.message("f", SUITE.names, engine.latency_s))
    assert (plain.response, set(plain.target.values())) == ({}, {"response"})


def _other() -> str:
    return 'name="other"\n[[family]]\nname="gas"\n[[family.channel]]\nname="co"\nunits="ppb"\n'


def test_names_nobody_knows_are_reported_once() -> None:
    stream = StreamingDenoiser(averaging(40, 6).engine(SUITE))
    odd = [Sample.model_validate({"flight": "f", "seq": n, "time": START + timedelta(seconds=n), "values": {"c0": 1.0},
                                  "enviroment": {}}) for n in range(5)]  # fmt: skip
    stream.feed(odd)
    assert [p.error for p in stream.problems] == [
        "unknown channel 'c0'; did you mean 'co'?",
        "unknown key 'enviroment'; did you mean 'environment'?",
    ]


def test_live_checks_on_literal_values() -> None:
    checks = LiveChecks(SUITE)
    nan = np.nan
    for values, before, bits in [
        ([1.0, 2.0, 420.0], [1.0, 2.0, 420.0], [0, 0, STALE]),
        ([5000.0, nan, 421.0], [1.0, 2.0, 420.0], [SATURATED, MISSING, 0]),
        ([50_001.0, -9999.0, -9999.0], [nan, nan, -9999.0], [OUT_OF_RANGE, MISSING, MISSING]),
        ([9000.0, 0.0, 0.0], [4000.0, 0.0, 0.0], [SATURATED, 0, 0]),  # a plume; zeros are measured again
        ([10_001.0, 2.0, 420.0], [4000.0, 0.0, 0.0], [SATURATED | SPIKE, 0, 0]),  # nothing above the range before
        ([10_001.0, 2.0, 420.0], [9000.0, 0.0, 0.0], [SATURATED, 0, 0]),
    ]:
        found = checks(np.array(values), np.array(before))
        assert np.where(found & MISSING, found, found | checks.limits(np.array(values))).tolist() == bits


def test_live_checks_find_the_sentinels_that_screening_finds() -> None:
    from pc2dae.flight.schema import new_flight
    from pc2dae.qc import screen

    rng = np.random.default_rng(0)
    co, no = rng.normal(40, 8, 400), np.round(np.abs(rng.normal(20, 5, 400)))
    co2 = 420 + rng.normal(0, 2, 400)
    co[50:70], co[::90], co[200:210] = -999.0, 1e38, 65535.0
    no[[60, 61, 300]] = [65500, 65535, 65493]
    co2[0], co2[399] = -32768.0, 32767.0
    values = np.stack([co, no, co2])
    time = np.datetime64("2025-10-01T12:00:00") + np.arange(400) * np.timedelta64(1, "s")
    screened = screen(new_flight(time, dict(zip(SUITE.names, values, strict=True)), SUITE))
    checks, before = LiveChecks(SUITE), np.full(3, np.nan)
    for n in range(400):
        bits = checks(values[:, n], before)
        absent = bits & MISSING
        assert absent.tolist() == [int(screened[f"qc_{name}"].values[n]) & MISSING for name in SUITE.names], n
        before = np.where(absent, np.nan, values[:, n])


def test_live_checks_keep_a_plume_and_a_level_near_a_listed_number() -> None:
    checks, before = LiveChecks(SUITE), np.full(3, np.nan)
    for value in (100.0, 20_000.0, 50_000.0, 65535.0, 40_000.0):
        bits = checks(np.array([np.nan, value, -998.0 if value == 100.0 else -999.0]), before)
        assert bits[1] == bits[2] & MISSING == 0


def test_live_checks_begin_with_the_last_value_of_a_restored_stream() -> None:
    before = np.array([np.nan, 60_000.0, -5.0])
    assert LiveChecks(SUITE)(np.array([1.0, 65535.0, -9999.0]), before).tolist() == [0, 0, MISSING]


def test_memory_does_not_grow() -> None:
    stream = StreamingDenoiser(windowed().engine(SUITE))
    data = record(800)

    def run(day: int) -> None:
        for sample in samples(data):
            stream.feed([sample.model_copy(update={"time": sample.time + timedelta(seconds=800 * day)})])

    run(0)
    tracemalloc.start()
    run(1)
    gc.collect()  # cycles that earlier tests have left would be counted, or not, by chance
    before = tracemalloc.get_traced_memory()[0]
    run(2)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 100_000


def test_the_drone_needs_neither_torch_nor_pandas_nor_xarray() -> None:
    code = (
        "import sys\n"
        "for m in ('torch', 'pandas', 'xarray', 'scipy', 'netCDF4', 'matplotlib', 'plotly'): sys.modules[m] = None\n"
        "import pc2dae.edge.stream, pc2dae.edge.gateway, pc2dae.edge.mqtt, pc2dae.edge.load\n"
        "import pc2dae.cli.stream\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
