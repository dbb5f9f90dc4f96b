"""What a denoiser gives, and the emit rule: which sample of which window is given out (numpy only)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pc2dae.suite import Suite

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Estimate:
    """A denoiser's answer in physical units, each array shaped (channel, time)."""

    value: Array  # finite and ≥ the bound wherever anything was observed
    unbounded: Array  # before the bound: for integrals and ratios
    sigma: Array | None = None  # one-sigma standard uncertainty, where the method gives one


class Job(Protocol):
    """A denoiser made ready for one flight: physical units in and out, shape (channel, time); `valid` marks observations."""

    def __call__(self, values: Array, environment: Array, valid: NDArray[np.bool_]) -> Estimate:
        """The estimate; `environment` is (3, time): degC, %, hPa, NaN where unknown."""


class Denoiser(Protocol):
    """What every method is to the rest of the house: PC²DAE in torch, its ONNX twin, a filter, a baseline."""

    name: str
    latency_s: float  # how far ahead it looks; infinite for methods that need the whole record

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """Look at the flight (noise, staleness, scale) and return the job for its channels, in the order of `suite.names`."""
