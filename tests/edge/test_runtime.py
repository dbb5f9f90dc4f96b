"""A windowed network as a denoiser: channels are matched by name, absent ones are missing."""

from __future__ import annotations

import numpy as np
import pytest

from pc2dae.edge.runtime import WindowedDenoiser, matching
from pc2dae.errors import ModelError
from pc2dae.suite import parse_suite
from suites import make_suite

SUITE = make_suite({"a": {"x": "ppb", "y": "ppb"}, "b": {"z": "ppm"}}, name="s")
FLIGHT = {"x": 0, "y": 0, "z": 0}
NOWHERE = np.full((3, 40), np.nan)


def echo(seen):
    def network(values, valid, environment, noise):
        seen.append(valid.copy())
        return (np.nan_to_num(values) + np.arange(3, dtype=np.float32)[:, None],)

    return network


def test_rows_go_to_their_channels_and_back():
    seen = []
    denoiser = WindowedDenoiser("net", SUITE, echo(seen))
    values = np.full((1, 40), 5.0)
    estimate = denoiser.prepare(FLIGHT, SUITE.only(["b"]))(values, NOWHERE, np.ones((1, 40), bool))
    assert (estimate.value == 7.0).all()  # row 2 of the network
    assert estimate.value.shape == (1, 40)
    assert not seen[0][:, :2].any()
    assert (estimate.unbounded == estimate.value).all()
    assert estimate.sigma is None


def test_values_that_are_not_finite_or_too_large_are_not_valid():
    seen = []
    values = np.ones((3, 40))
    values[0, 3], values[1, 4], values[2, 5] = np.nan, np.inf, 1e300
    WindowedDenoiser("net", SUITE, echo(seen)).prepare(FLIGHT, SUITE)(values, NOWHERE, np.ones((3, 40), bool))
    window = seen[0][0][:, 64:]
    assert [window[row, t] for row, t in ((0, 3), (1, 4), (2, 5))] == [0, 0, 0]
    assert window[:, :40].sum() == 3 * 40 - 3


def test_latency_is_in_seconds():
    fast = parse_suite(SUITE.model_dump_json().replace('"rate_hz":1.0', '"rate_hz":2.0'), where="test")
    assert WindowedDenoiser("net", SUITE, echo([])).latency_s == 63
    assert WindowedDenoiser("net", fast, echo([])).latency_s == 31.5


def test_another_rate_is_refused():
    fast = parse_suite(SUITE.model_dump_json().replace('"rate_hz":1.0', '"rate_hz":2.0'), where="test")
    with pytest.raises(ModelError, match="is for 1 Hz, but the flight has 2 Hz"):
        matching(fast, SUITE, model="net")


def test_memory_does_not_grow_with_the_record():
    largest = []

    def network(values, valid, environment, noise):
        largest.append(len(values))
        return (values,)

    done = []
    denoiser = WindowedDenoiser("net", SUITE, network, progress=lambda *counts: done.append(counts))
    denoiser.prepare(FLIGHT, SUITE)(np.ones((3, 20_000)), np.zeros((3, 20_000)), np.ones((3, 20_000), bool))
    assert max(largest) == 64
    assert sum(largest) == 1250
    assert (done[0], done[-1]) == ((1024, 20_000), (20_000, 20_000))
