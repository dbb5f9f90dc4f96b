"""What a denoiser gives, and the emit rule: which sample of which window is given out (numpy only)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Floats, Mask
from pc2dae.suite import Suite

if TYPE_CHECKING:
    import xarray as xr

Network = Callable[
    [Floats, Floats, Floats], tuple[Floats, ...]
]  # values, valid, environment of (window, row, 128) → outputs

WINDOW = 128  # samples a network of the paper sees
HOP = 16  # windows start this many samples apart, and each gives out as many
LEAD = 64  # samples before the first one given out: the middle of the window, where it sees as much after as before
LARGEST = 1e30  # beyond it a number is no measurement, and sums of squares would leave float32
WIDENED = 3.0  # σ by which an adaptive estimate may leave the range of the samples it is made from
LATENCY = WINDOW - LEAD - 1  # samples the first one given out has to wait for


@dataclass(frozen=True)
class Estimate:
    """A denoiser's answer in physical units, each array shaped (channel, time)."""

    value: Floats  # finite and ≥ the bound wherever anything was observed
    unbounded: Floats  # before the bound: for integrals and ratios
    sigma: Floats | None = None  # one-sigma standard uncertainty, where the method gives one


class Job(Protocol):
    """A denoiser made ready for one flight: physical units in and out, (channel, time); `valid` marks observations."""

    def __call__(self, values: Floats, environment: Floats, valid: Mask) -> Estimate:
        """The estimate; `environment` is (3, time): degC, %, hPa, NaN where unknown."""


class Denoiser(Protocol):
    """What every method is to the rest of the house: PC²DAE in torch, its ONNX twin, a filter, a baseline."""

    @property
    def name(self) -> str:
        """What `--model` calls it."""

    @property
    def latency_s(self) -> float:
        """How far ahead it looks; infinite for methods that need the whole record."""

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """Look at the flight (noise, staleness, scale) and return the job for `suite.names`, in that order."""


def emit(
    network: Network,
    values: Floats,
    environment: Floats,
    valid: Mask,
    *,
    batch: int = 64,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Floats, ...]:
    """Run a windowed network over a record (row, time) of any length and put together what its windows give out.

    Window k covers samples 16k − 64 … 16k + 63 and gives out 16k … 16k + 15; samples beyond the ends are masked.
    Offline, stitched and streaming use this one rule: a network that normalises over its window depends on its place.
    `batch` windows at a time are in memory; `progress` is told how many samples of how many are done.
    """
    length = values.shape[1]
    pieces: list[tuple[Floats, ...]] = []
    for first in range(0, window_count(length), batch):
        k = np.arange(first, min(first + batch, window_count(length)))
        outputs = network(*cut(k, values, environment, valid))
        pieces.append(tuple(stitch(output) for output in outputs))
        if progress is not None:
            progress(min((first + batch) * HOP, length), length)
    return tuple(np.concatenate(parts, axis=1)[:, :length] for parts in zip(*pieces, strict=True))


def window_count(length: int) -> int:
    """How many windows give out a record of `length` samples."""
    return -(-length // HOP)


def cut(k: NDArray[np.integer[Any]], values: Floats, environment: Floats, valid: Mask) -> tuple[Floats, Floats, Floats]:
    """Windows number `k` of a record as float32 (window, row, 128): values, valid (1 or 0), environment."""
    index = HOP * np.asarray(k)[:, None] - LEAD + np.arange(WINDOW)
    length = values.shape[1]
    inside = (index >= 0) & (index < length)
    index = np.where(inside, index, 0)
    seen = valid[:, index] & inside
    around = np.where(inside, environment[:, index], np.nan)
    windows = [np.moveaxis(a, 1, 0).astype(np.float32) for a in (values[:, index], seen, around)]
    return windows[0], windows[1], windows[2]


def stitch(outputs: Floats) -> Floats:
    """The samples that consecutive windows (window, row, 128) give out, joined to (row, time)."""
    given = outputs[:, :, LEAD : LEAD + HOP]
    return given.transpose(1, 0, 2).reshape(given.shape[1], -1)
