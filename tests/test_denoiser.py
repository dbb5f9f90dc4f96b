"""The emit rule: stitch(cut(x)) = x, the ends are masked, and pieces change nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pc2dae.denoiser import HOP, LATENCY, cut, emit


def record(length, channels=2):
    values = np.arange(channels * length, dtype=np.float64).reshape(channels, length)
    return values, np.zeros((3, length)), np.ones((channels, length), dtype=bool)


@given(st.integers(1, 700), st.integers(0, 20))
@settings(deadline=None)
def test_a_network_that_changes_nothing_gives_the_record_back(length, windows):
    data, split = record(length), min(HOP * windows, length)
    parts = [emit(lambda v, m, e, s: (v,), *data, data[0], part)[0] for part in (slice(0, split), slice(split, length))
             if part.start < part.stop]  # fmt: skip
    assert np.array_equal(np.concatenate(parts, axis=1), data[0])


def test_window_k_covers_16k_minus_64_to_16k_plus_63():
    values, environment, valid = record(300, channels=1)
    v, m, e = cut(16 * np.array([0, 5, 18]), values, environment, valid)
    assert v.shape == (3, 1, 128)
    assert e.shape == (3, 3, 128)
    assert v[1, 0, 0] == 16 * 5 - 64
    assert v[1, 0, -1] == 16 * 5 + 63
    assert m[0, 0].tolist() == [0.0] * 64 + [1.0] * 64
    assert m[2, 0].tolist() == [1.0] * 76 + [0.0] * 52  # samples 224 … 299
    assert np.isnan(e[0, :, :64]).all()


def test_each_sample_comes_from_its_own_window():
    values, environment, valid = record(100, channels=1)
    numbered = []

    def network(v, m, e, s):
        numbered.append(len(v))
        return (np.arange(len(v))[:, None, None] + np.zeros_like(v),)

    (out,) = emit(network, values, environment, valid, values, slice(0, 100))
    assert out[0].tolist() == [i // 16 for i in range(100)]
    assert numbered == [7]


def test_the_latency_is_what_the_first_sample_waits_for():
    assert LATENCY == 63
