"""Flights as arrays, and which parts of them train and which judge."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.arrays import Array, Array32, Mask
from pc2dae.errors import FlightError
from pc2dae.flight.schema import environment_array, observed
from pc2dae.flight.truth import truth_at
from pc2dae.noise import Noise, noise_level
from pc2dae.suite import Suite

WINDOW = 128  # samples, the paper's; also the guard gap between what trains and what judges


@dataclass(frozen=True)
class Record:
    """One flight's arrays in physical units, channels in the order of the suite."""

    values: Array32  # (channel, time)
    valid: Mask  # (channel, time)
    environment: Array32  # (3, time)
    target: Array32 | None = None  # (channel, time): simulated truth, where a flight has one

    def __len__(self) -> int:
        return int(self.values.shape[1])

    @cached_property
    def noise(self) -> Noise:
        """Noise of each channel in this flight."""
        return noise_level(self.values, self.valid)


@dataclass(frozen=True)
class Segment:
    """Samples start … stop − 1 of record number `record`."""

    record: int
    start: int
    stop: int


@dataclass(frozen=True)
class Crops:
    """Windows of records: (window, row, time); where a window reaches beyond its segment nothing is valid."""

    values: Array32
    valid: Mask
    environment: Array32
    target: Array32  # the record's target, or its values where it has none
    sigma: Array  # noise of each channel in the window's flight, (window, channel); 0 if unknown
    lag1: Array  # and its lag-1 correlation


def record_of(flight: xr.Dataset, suite: Suite, *, truth: xr.Dataset | None = None) -> Record:
    """A flight's channels, their validity and its environment; with `truth`, max(response, bound) as target."""
    values = np.stack([flight[name].values for name in suite.names]).astype(np.float32)
    valid = np.stack([observed(flight, name) for name in suite.names])
    target = None
    if truth is not None:
        aligned = truth_at(truth, flight, of_samples=True)
        wanted = [f"{name}_response" for name in suite.names]
        absent = [name for name in wanted if name not in aligned]
        if absent:
            raise FlightError(f"the truth has no '{absent[0]}'", hint="pass the truth file of the same suite")
        bounds = np.array([channel.lower_bound for channel in suite.channels])[:, None]
        target = np.maximum(np.stack([aligned[name].values for name in wanted]), bounds).astype(np.float32)
    return Record(values, valid, environment_array(flight).astype(np.float32), target)


def split(lengths: Sequence[int], *, seed: int, share: float = 0.2) -> tuple[list[Segment], list[Segment]]:
    """Training and held-out segments, never from the same stretch of air.

    From three flights on, whole flights are held out; with fewer, one block of each with a guard gap of a window.
    """
    rng = np.random.default_rng([seed, 0x5EED])
    short = [i for i, n in enumerate(lengths) if n < 3 * WINDOW]
    if len(lengths) - len(short) < 1:
        raise FlightError(
            f"the longest flight has {max(lengths, default=0)} samples, but training needs {3 * WINDOW}",
            hint="add longer flights",
        )
    whole = [Segment(i, 0, n) for i, n in enumerate(lengths)]
    if len(lengths) - len(short) >= 3:
        long = [segment for segment in whole if segment.record not in short]
        chosen = rng.permutation(len(long))[: max(1, round(share * len(long)))]
        held = [long[i] for i in sorted(chosen)]
        return [segment for segment in whole if segment not in held], held
    train, held = [segment for segment in whole if segment.record in short], []
    for segment in whole:
        if segment.record in short:
            continue
        length = max(WINDOW, round(share * segment.stop))
        room = segment.stop - length
        start = int(rng.integers(0, room + 1)) if room >= 4 * WINDOW else room
        held.append(Segment(segment.record, start, start + length))
        sides = ((0, start - WINDOW), (start + length + WINDOW, segment.stop))
        train += [Segment(segment.record, a, b) for a, b in sides if b - a >= WINDOW]
    return train, held


def random_crops(
    records: Sequence[Record],
    segments: Sequence[Segment],
    rng: np.random.Generator,
    *,
    count: int,
    length: int = WINDOW,
) -> Crops:
    """`count` windows at random offsets, each sample of the segments equally likely to be a window's middle."""
    return crops_at(records, random_places(segments, rng, count=count, length=length), length)


def tiled_crops(records: Sequence[Record], segments: Sequence[Segment], *, length: int = WINDOW) -> Crops:
    """Segments cut into consecutive windows, the last partly empty: a held-out loss looks at every sample once."""
    return crops_at(records, tiled_places(segments, length=length), length)


def random_places(
    segments: Sequence[Segment], rng: np.random.Generator, *, count: int, length: int
) -> list[tuple[Segment, int]]:
    """Segment and first sample of each window of `random_crops`."""
    sizes = np.array([segment.stop - segment.start for segment in segments])
    middles = rng.integers(0, sizes.sum(), size=count)
    which = np.searchsorted(np.cumsum(sizes), middles, side="right")
    starts = middles - (np.cumsum(sizes) - sizes)[which] - length // 2
    return [(segments[i], segments[i].start + int(s)) for i, s in zip(which, starts, strict=True)]


def tiled_places(segments: Sequence[Segment], *, length: int) -> list[tuple[Segment, int]]:
    """Segment and first sample of each window of `tiled_crops`."""
    return [(s, at) for s in segments for at in range(s.start, s.stop, length)]


def crops_at(records: Sequence[Record], places: Sequence[tuple[Segment, int]], length: int) -> Crops:
    """Windows starting at given samples of given segments."""
    values, valid, environment, target, noise = [], [], [], [], []
    for segment, start in places:
        record = records[segment.record]
        low, high = max(start, segment.start), min(start + length, segment.stop)
        pad = ((0, 0), (low - start, start + length - high))
        wanted = record.values if record.target is None else record.target
        values.append(np.pad(record.values[:, low:high], pad, constant_values=np.nan))
        valid.append(np.pad(record.valid[:, low:high], pad))
        environment.append(np.pad(record.environment[:, low:high], pad, constant_values=np.nan))
        target.append(np.pad(wanted[:, low:high], pad, constant_values=np.nan))
        noise.append(np.nan_to_num([record.noise.sigma, record.noise.lag1]))
    sigma, lag1 = np.stack(noise, axis=1)
    return Crops(np.stack(values), np.stack(valid), np.stack(environment), np.stack(target), sigma, lag1)


def data_hash(records: Sequence[Record]) -> str:
    """SHA-256 of everything a training run sees."""
    digest = hashlib.sha256()
    for record in records:
        arrays: list[NDArray[Any]] = [record.values, record.valid, record.environment]
        for array in arrays if record.target is None else [*arrays, record.target]:
            digest.update(str(array.shape).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
