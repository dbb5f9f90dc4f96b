"""Records of any length are processed in pieces: memory grows only with input and output."""

from __future__ import annotations

import tracemalloc

import numpy as np
import xarray as xr

from pc2dae.arrays import Array
from pc2dae.edge.adaptive import PIECE, AdaptiveDenoiser
from pc2dae.suite import Channel, Family, Suite

CHANNELS = tuple(Channel(name=f"c{n}", units="ppb") for n in range(3))
SUITE = Suite(name="three", family=(Family(name="gas", channel=CHANNELS),))


def peak_of(length: int, seen: set[int]) -> int:
    """Peak memory while a record is denoised by an identity network."""

    def network(values: Array, *others: Array) -> tuple[Array, ...]:
        seen.add(values.shape[-1])
        return values, values, values

    denoiser = AdaptiveDenoiser("echo", network, look_back=300, look_ahead=200, before=100, after=100)
    values = np.random.default_rng(0).normal(100.0, 1.0, (3, length))
    job = denoiser.prepare(xr.Dataset(), SUITE)
    tracemalloc.start()
    job(values, np.empty((3, 0)), np.isfinite(values))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_grows_by_the_answer_alone() -> None:
    seen: set[int] = set()
    short, long = (peak_of(length, seen) for length in (100_000, 300_000))
    assert max(seen) == PIECE // len(CHANNELS) + 500
    growth = (long - short) / (200_000 * len(CHANNELS))
    assert growth < 24 + 24  # bytes per sample and channel: value, unbounded, sigma; and one channel's noise at a time
