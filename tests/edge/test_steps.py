"""A live network that continues from its state gives what it gives from its whole look-back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from pc2dae.denoiser import Estimate
from pc2dae.edge.adaptive import AdaptiveDenoiser, AdaptiveEngine
from pc2dae.edge.clusters import ALL, LARGEST_CLUSTER, chosen_at, clusters_of
from pc2dae.edge.engine import Runs, Stretch
from pc2dae.edge.load import open_network
from pc2dae.edge.messages import Sample
from pc2dae.edge.protobuf import Malformed, field, fields
from pc2dae.edge.step_graph import step_graphs
from pc2dae.edge.steps import SteppedNetwork, Steps
from pc2dae.edge.stream import StreamingDenoiser
from pc2dae.response.kernels import Kernel, Response
from pc2dae.suite import Suite
from suites import make_suite

SUITE = make_suite({
    "gas": {"co": "ppb", "no": "ppb", "far": {"units": "1", "lower_bound": 0.0}},
    "co2": {"co2": {"units": "ppm", "lower_bound": 300.0, "native_rate_hz": 0.5}},
})  # fmt: skip
LAGS = {
    "co": Response(Kernel(6.0), 0.6, delay_s=3.0),
    "no": Response(Kernel(3.0), 0.6, delay_s=0.4, cross=(("co", 0.1),)),
    "co2": Response(Kernel(15.0), 2.0, delay_s=1.7),
}
START = datetime(2026, 6, 1, 12, tzinfo=UTC)
SCALE = np.array([100.0, 40.0, 5.0, 30.0])[:, None]
LIVE = ("adaptive-short", "adaptive-causal")
shipped = cache(open_network)


def plumes(length: int, centres: tuple[int, ...]) -> np.ndarray:
    return sum(np.exp(-0.5 * ((np.arange(length) - c) / 7) ** 2) for c in centres)  # type: ignore[return-value]


def record(length: int = 460) -> np.ndarray:
    """Plumes, gaps of all lengths, a channel that starts late, one far above its bound, an absurd value."""
    rng = np.random.default_rng(0)
    smoke = plumes(length, (70, 210, 380))
    values = np.stack([100 * smoke, 40 * smoke, 1e7 + 5 * smoke, 420 + 30 * smoke])
    values += rng.normal(0, 1, values.shape) * [[4], [3], [1], [2]]
    values[rng.random(values.shape) < 0.05] = np.nan
    values[1, :50] = values[0, 130:150] = values[:, 240:260] = np.nan
    values[0, 420] = 1e25
    values[3, 1::2] = np.nan
    return values


def engine_of(name: str, suite: Suite = SUITE, **changes: Any) -> AdaptiveEngine:
    denoiser, _ = shipped(name, profile="live")
    assert isinstance(denoiser, AdaptiveDenoiser)
    return replace(denoiser, **changes).engine(suite)


def messages(values: np.ndarray, suite: Suite = SUITE) -> list[Sample]:
    return [
        Sample(flight="f", seq=n, time=START + timedelta(seconds=n), qc={},
               values={name: float(x) for name, x in zip(suite.names, column, strict=True) if np.isfinite(x)})
        for n, column in enumerate(values.T)
    ]  # fmt: skip


class Compared(Steps):
    """Runs of which one in seven is compared with a run from the look-back."""

    count = 0

    def __call__(self, stretch: Stretch) -> Estimate:
        found = super().__call__(stretch)
        self.count += 1
        if self.count % 7 == 0:
            expected = self.engine.run(stretch)
            for name in ("unbounded", "sigma"):
                here, there = (getattr(each, name) / SCALE for each in (found, expected))
                np.testing.assert_allclose(here, there, rtol=0, atol=1e-6, err_msg=f"{name}, run {self.count}")
        return found


def streamed(engine: AdaptiveEngine, samples: list[Sample], runs: type[Steps] = Steps) -> np.ndarray:
    """Estimates and uncertainties of a stream, sample by sample."""
    stream, network = StreamingDenoiser(engine), engine.denoiser.network
    assert isinstance(network, SteppedNetwork)
    stream.runs = steps = runs(engine, network)
    found = [ready for sample in samples for ready in stream.feed([sample])]
    assert steps.state is not None
    return np.stack([np.stack([ready.unbounded, ready.sigma]) for ready in found], axis=2)


@pytest.mark.parametrize("name", LIVE)
@pytest.mark.parametrize("responses", [{}, LAGS], ids=["no lag", "lag"])
def test_state_replaces_the_look_back(name: str, responses: dict[str, Response]) -> None:
    streamed(engine_of(name, responses=responses), messages(record()), Compared)


@pytest.mark.parametrize("name", LIVE)
def test_a_late_sample_changes_what_a_delay_moves_before_it(name: str) -> None:
    engine, samples = engine_of(name, responses=LAGS), messages(record()[:, :160])
    for n in range(40, 150, 7):
        samples[n], samples[n + 1] = samples[n + 1], samples[n]
    streamed(engine, samples, Compared)


def test_a_tick_runs_the_graph_that_continues_on_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, lengths = engine_of("adaptive-causal"), []
    network = engine.denoiser.network
    assert isinstance(network, SteppedNetwork)
    begin, step = network.begin, network.step
    monkeypatch.setattr(network, "begin", lambda x, skip: lengths.append(-x[0].shape[2]) or begin(x, skip))
    monkeypatch.setattr(network, "step", lambda x, skip, state: lengths.append(x[0].shape[2]) or step(x, skip, state))
    streamed(engine, messages(np.random.default_rng(1).normal(500, 1, (4, 100))))
    assert lengths == [-n for n in range(1, 8)] + [8] * 93


def test_a_stream_of_many_channels_runs_on_clusters_as_a_flight_does() -> None:
    count, length = ALL + 4, 620
    suite = make_suite({"f": {f"c{n}": "ppb" for n in range(count)}})
    rng, centres = np.random.default_rng(2), ((90, 300, 420, 590), (150, 340, 500))
    clean = np.stack([30 * rng.gamma(3.0, 0.3) * plumes(length, centres[n % 2]) for n in range(count)])
    values = 20 + clean + rng.normal(0, 1, clean.shape)
    engine = engine_of("adaptive-causal", suite)
    offline = engine(values, np.full((3, length), np.nan), np.isfinite(values))
    found = streamed(engine, messages(values, suite))
    np.testing.assert_allclose(found[0], offline.unbounded, rtol=0, atol=1e-4)
    np.testing.assert_allclose(found[1], offline.sigma, rtol=0, atol=1e-4)


def test_clusters_hold_channels_that_rise_together_and_not_copies_of_one_noise() -> None:
    rng, count = np.random.default_rng(3), 40
    common = np.repeat(rng.gamma(0.5, 9.0, (4, 60)), 8, axis=1)
    values = common[np.arange(count) % 4] + rng.normal(size=(count, 480))
    new, group = np.ones(values.shape, bool), np.arange(float(count))
    found = clusters_of(values, new, group)
    assert sorted(row for rows in found for row in rows) == list(range(count))
    assert max(map(len, found)) <= LARGEST_CLUSTER
    for kind in range(4):
        assert any(set(range(kind, count, 4)) <= set(rows) for rows in found)
    alone = clusters_of(values, new, np.where(np.arange(count) % 4 == 0, 0.0, group))
    assert not any(set(range(0, count, 4)) <= set(rows) for rows in alone)
    assert clusters_of(values[:ALL], new[:ALL], group[:ALL]) == (tuple(range(ALL)),)


def test_channels_without_samples_do_not_change_the_clusters_of_others() -> None:
    values, group = np.random.default_rng(4).normal(size=(ALL + 2, 400)), np.arange(ALL + 2.0)
    new = np.ones(values.shape, bool)
    new[[3, 7]] = False
    assert clusters_of(values, new, group) == (tuple(n for n in range(ALL + 2) if n not in (3, 7)), (3, 7))
    assert [len(rows) for rows in clusters_of(values, new & False, group)] == [16, 6]


def test_clusters_of_a_stream_are_chosen_at_fixed_samples() -> None:
    assert [chosen_at(n) for n in (0, 63, 64, 255, 256, 511, 512)] == [0, 0, 64, 64, 256, 256, 512]


def test_what_is_written_can_be_read() -> None:
    written = field(1, 300) + field(2, "name") + field(3, -1)
    (_, number), (_, text), (_, negative) = fields(memoryview(written))
    assert (number, bytes(text), negative) == (300, b"name", (1 << 64) - 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", LIVE)
def test_all_that_reaches_back_becomes_state(name: str) -> None:
    graphs = step_graphs((files("pc2dae.weights") / f"{name}.onnx").read_bytes())
    sums = {"adaptive-short": 28, "adaptive-causal": 29}[name]
    assert len(set(graphs.state)) == len(graphs.state) == sums + 5  # convolutions


def test_a_graph_of_another_form_runs_from_its_look_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: bytes) -> None:
        raise Malformed

    monkeypatch.setattr("pc2dae.edge.steps.step_graphs", refuse)
    found = open_network("adaptive-causal", profile="live")
    assert found is not None
    assert type(found[0].engine(SUITE).runs()) is Runs
