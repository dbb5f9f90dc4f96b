"""A network prepared for the channels of a suite: whole flights and live streams both call its `run`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pc2dae.arrays import Floats, Mask
from pc2dae.calibration.series import CalibrationSeries
from pc2dae.denoiser import Estimate
from pc2dae.edge.clusters import Clusters
from pc2dae.edge.lag import LagFree, Lags
from pc2dae.edge.levels import Levels, of_flight, trailing
from pc2dae.suite import Suite

Progress = Callable[[int, int], None]  # samples done, samples in total


@dataclass(frozen=True)
class Stretch:
    """Consecutive samples of a record, each array (row, time): those to be estimated and their context."""

    values: Floats
    seen: Mask  # observed
    new: Mask  # observed, and not the repeated value of a slow sensor
    levels: Levels
    environment: Floats
    wanted: slice  # the samples to be estimated
    free: LagFree | None = None  # without the lag, if that was undone for the whole record
    first: int = 0  # number of the first sample in the record
    clusters: Clusters | None = None  # channels for the network, if they were chosen for the whole record

    def part(self, start: int, stop: int, *, back: int, ahead: int) -> Stretch:
        """Samples `start` … `stop` − 1 with their context, as far as there is any."""
        first = max(start - back, 0)
        at = slice(first, stop + ahead)
        return Stretch(
            self.values[:, at],
            self.seen[:, at],
            self.new[:, at],
            self.levels.each(lambda x: x[:, at]),
            self.environment[:, at],
            slice(start - first, stop - first),
            None if self.free is None else LagFree(*(x[:, at] for x in self.free)),
            self.first + first,
            self.clusters,
        )


def range_end(suite: Suite) -> Floats:
    """`valid_max` of the channels of `suite`, infinite where there is none."""
    return np.array([np.inf if c.valid_max is None else c.valid_max for c in suite.channels])


class Engine(ABC):
    """A network, the channels it estimates, and how many samples around an estimate it needs."""

    suite: Suite  # channels, in order
    ignored: frozenset[str] = frozenset()  # channels of the payload that are not used
    calibration: CalibrationSeries | None = None  # of the payload's readings, which a stream applies first
    look_back: int
    look_ahead: int
    hop: int  # samples between two runs of the network in a stream
    needs_noise: bool
    lags: Lags  # of its channels, as far as they are undone
    before: int  # samples before an estimate that it can be made from
    identity: str  # of the model

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self.bound: Floats = np.array([channel.lower_bound for channel in suite.channels])
        self.prior: Floats = np.array([channel.noise_sigma or np.nan for channel in suite.channels])
        self.high = range_end(suite)

    def levels(self, values: Floats, seen: Mask, profile: str) -> tuple[Levels, Mask]:
        """Levels of a record, in profile `live` as in a stream, and which of its samples are new measurements."""
        if profile == "live":
            return trailing(values, seen, self.bound, self.prior, self.high)
        return of_flight(values, seen, self.bound, self.high)

    @property
    def key(self) -> str:
        """Model and channels, to match a saved state."""
        return f"{self.identity} {','.join(self.suite.names)}"

    @property
    def latency_s(self) -> float:
        """Longest delay between a sample and its estimate in a stream."""
        return (self.look_ahead + self.hop - 1) / self.suite.rate_hz

    @abstractmethod
    def run(self, stretch: Stretch) -> Estimate:
        """Estimates of the wanted samples of a stretch."""

    def runs(self) -> Runs:
        """The runs along a new stream."""
        return Runs(self)

    def run_record(
        self,
        record: Stretch,
        *,
        size: int,
        is_even: bool = False,
        progress: Progress | None = None,
        run: Callable[[Stretch], Estimate] | None = None,
    ) -> Iterator[tuple[slice, Estimate]]:
        """Estimates of a whole record, `size` samples at a time; `run` is that of the engine, or its runs.

        With `is_even`, all runs have the same number of samples: the first and last piece, which have no context on
        one side, are longer by that.
        """
        run, length = run or self.run, record.values.shape[1]
        back, ahead = (self.look_back, self.look_ahead) if is_even else (0, 0)
        start = 0
        while start < length:
            stop = start + size + (back if start == 0 else 0)
            stop = length if stop + ahead >= length else stop
            yield slice(start, stop), run(record.part(start, stop, back=self.look_back, ahead=self.look_ahead))
            if progress is not None:
                progress(stop, length)
            start = stop


class Runs:
    """The runs of an engine along one stream: each starts from its look-back."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __call__(self, stretch: Stretch) -> Estimate:
        """Estimates of the wanted samples of a stretch."""
        return self.engine.run(stretch)

    def forget(self, sample: int) -> None:
        """Samples from this one on have changed."""


def in_sequence(parts: Sequence[Estimate]) -> Estimate:
    """Estimates of consecutive stretches as one."""
    value, unbounded = (np.concatenate([getattr(part, name) for part in parts], axis=1)
                        for name in ("value", "unbounded"))  # fmt: skip
    sigma = [part.sigma for part in parts if part.sigma is not None]
    return Estimate(value, unbounded, np.concatenate(sigma, axis=1) if sigma else None)
