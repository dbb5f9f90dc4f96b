"""What a denoiser returns, and the emit rule: which window gives which samples (numpy only)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Floats, Mask
from pc2dae.errors import ModelError, nearest
from pc2dae.suite import Suite

if TYPE_CHECKING:
    import xarray as xr

    from pc2dae.edge.lag import Lags
    from pc2dae.noise import Noise
    from pc2dae.response.kernels import Response

# Values, valid, environment of (window, row, 128) and noise (window, row) → outputs.
Network = Callable[[Floats, Floats, Floats, Floats], tuple[Floats, ...]]

TARGETS = ("ambient", "response")  # the air, or the noise-free reading
WINDOW = 128  # samples a network of the paper sees
HOP = 16  # windows start this many samples apart, and each gives as many
LEAD = 64  # samples before the first one it gives: the middle of the window, with as much context after as before
LARGEST = 1e30  # a larger number is not a measurement, and sums of squares would overflow float32
RANGE = 1e-8  # smallest scale of a channel relative to its largest value: squares do not overflow float32
WIDENED = 3.0  # σ by which an adaptive estimate may leave the range of the samples it is made from
LATENCY = WINDOW - LEAD - 1  # samples that the first one of a window has to wait for


@dataclass(frozen=True)
class Estimate:
    """Estimates in physical units, each array (channel, time)."""

    value: Floats  # finite and ≥ the bound wherever anything was observed
    unbounded: Floats  # before the bound: for integrals and ratios
    sigma: Floats | None = None  # one-sigma standard uncertainty, where the method gives one
    systematic: Floats | None = None  # its part that does not average out
    response: Floats | None = None  # noise-free reading, where the estimate is that of the air


class Job(Protocol):
    """A denoiser prepared for one flight: physical units in and out, (channel, time); `valid` marks observations."""

    def __call__(self, values: Floats, environment: Floats, valid: Mask) -> Estimate:
        """The estimate; `environment` is (3, time): degC, %, hPa, NaN where unknown."""


class Denoiser(Protocol):
    """The interface of every method: PC²DAE in torch, its ONNX twin, a filter, a baseline."""

    @property
    def name(self) -> str:
        """Its name for `--model`."""

    @property
    def latency_s(self) -> float:
        """How far ahead it looks; infinite for methods that need the whole record."""

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """Look at the flight (noise, staleness, scale) and return the job for `suite.names`, in that order."""


@runtime_checkable
class AirDenoiser(Denoiser, Protocol):
    """A denoiser that estimates the air, by undoing the responses it is given; others estimate the reading."""

    profile: str  # "flight", or "live": as in a stream

    def undoing(self, responses: Mapping[str, Response], left_s: Mapping[str, float]) -> Self:
        """The denoiser that undoes these responses; `left_s` are time constants of lags that are left."""

    def lags(self, suite: Suite) -> Lags:
        """The responses of the channels of `suite`."""

    def lag_attributes(self, suite: Suite, estimate: Estimate, noise: Noise) -> dict[str, dict[str, Any]]:
        """Attributes of each channel whose lag was undone."""


def estimates_air(denoiser: Denoiser, *, target: str | None = None, strength: float = 1.0) -> TypeGuard[AirDenoiser]:
    """Whether the estimate is of the air; an unknown target, or `ambient` from what estimates readings, is refused."""
    can = isinstance(denoiser, AirDenoiser) and strength == 1.0
    if target not in (None, *TARGETS):
        raise ModelError(f"unknown target '{target}'", hint=nearest(str(target), TARGETS))
    if target == "ambient" and not can:
        what = f"'{denoiser.name}'" if strength == 1.0 else f"strength {strength:g}"
        raise ModelError(f"{what} estimates the reading, not the air", hint="leave out --target, or use adaptive")
    return can and target != "response"


def emit(
    network: Network, values: Floats, environment: Floats, valid: Mask, noise: Floats, wanted: slice
) -> tuple[Floats, ...]:
    """Run a windowed network on a stretch of record (row, time) and join what its windows give for samples `wanted`.

    A window covers 64 samples before and 64 from the first sample that it gives on, and gives 16 of them. Whole flights
    and streams use this one rule: the output of a network that normalises over its window depends on its place. The
    noise level of a window is that at its last sample, which a stream knows by then.
    """
    first = np.arange(wanted.start, wanted.stop, HOP)
    level = noise[:, np.minimum(first + LATENCY, noise.shape[1] - 1)].T.astype(np.float32)
    windows = cut(first, values, environment, valid)
    outputs = network(windows[0], windows[1], windows[2], level)
    return tuple(stitch(output)[:, : wanted.stop - wanted.start] for output in outputs)


def cut(first: NDArray[np.integer[Any]], values: Floats, environment: Floats, valid: Mask) -> tuple[Floats, ...]:
    """Windows of a record that give samples from `first` on, as float32 (window, row, 128): values, valid, environment.

    Samples beyond the ends of the record are masked.
    """
    index = np.asarray(first)[:, None] - LEAD + np.arange(WINDOW)
    inside = (index >= 0) & (index < values.shape[1])
    index = np.where(inside, index, 0)
    seen = valid[:, index] & inside
    around = np.where(inside, environment[:, index], np.nan)
    return tuple(np.moveaxis(a, 1, 0).astype(np.float32) for a in (values[:, index], seen, around))


def stitch(outputs: Floats) -> Floats:
    """The samples that consecutive windows (window, row, 128) give, joined to (row, time)."""
    given = outputs[:, :, LEAD : LEAD + HOP]
    return given.transpose(1, 0, 2).reshape(given.shape[1], -1)
