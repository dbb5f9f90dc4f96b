"""The two kinds of network as a stream sees them: a stretch of record in, the estimates in its middle out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pc2dae.arrays import Floats, Mask
from pc2dae.denoiser import HOP, LEAD, WINDOW, Estimate, stitch
from pc2dae.edge.adaptive import AdaptiveDenoiser
from pc2dae.edge.levels import Levels
from pc2dae.edge.runtime import WindowedDenoiser, matching
from pc2dae.errors import ModelError
from pc2dae.suite import Suite

_SHARE = 32  # a network that waits long anyway waits a 32nd longer, and runs that much less often


@dataclass(frozen=True)
class Stretch:
    """`look_back` samples, those to be estimated, and `look_ahead` samples; each array is (row, time)."""

    values: Floats
    seen: Mask  # observed
    new: Mask  # observed, and not the repeat of a sensor that its logger holds
    levels: Levels
    environment: Floats
    inside: slice  # its part that lies in the record


class Engine(Protocol):
    """A network with the numbers a stream needs to know."""

    suite: Suite  # channels, in order
    ignored: frozenset[str]  # channels that the payload has, but the stream leaves alone
    look_back: int
    look_ahead: int
    hop: int  # samples are given out in groups of so many
    needs_noise: bool
    identity: str  # of the model

    def run(self, stretch: Stretch) -> Estimate:
        """Estimates of the samples between the first `look_back` and the last `look_ahead` that lie in the record."""


class AdaptiveEngine:
    """The channel-agnostic network: noise levels in, an uncertainty out."""

    needs_noise = True
    ignored: frozenset[str] = frozenset()

    def __init__(self, denoiser: AdaptiveDenoiser, suite: Suite) -> None:
        self.suite, self.denoiser = suite, denoiser
        self.look_back, self.look_ahead = denoiser.look_back, denoiser.look_ahead
        self.hop = max(1, denoiser.look_ahead // _SHARE)
        self.identity = denoiser.sha256 or denoiser.name
        self.bound = np.array([c.lower_bound for c in suite.channels])[:, None]

    def run(self, stretch: Stretch) -> Estimate:
        """One call of the network on what lies in the record: where that ends the array does, as in training."""
        at = stretch.inside
        given = slice(self.look_back - at.start, stretch.values.shape[1] - self.look_ahead - at.start)
        levels = stretch.levels.each(lambda x: x[:, at])
        unbounded, spread = self.denoiser.run(
            stretch.values[:, at], stretch.new[:, at], levels, self.bound[:, 0], given
        )
        return Estimate(np.maximum(unbounded, self.bound), unbounded, spread)


class WindowedEngine:
    """A network of the paper by the emit rule: windows of 128, each gives out 16."""

    look_back, look_ahead, hop = LEAD, WINDOW - LEAD - HOP, HOP
    needs_noise = False
    ignored: frozenset[str] = frozenset()

    def __init__(self, denoiser: WindowedDenoiser, suite: Suite) -> None:
        self.suite, self.network = matching(suite, denoiser.suite, model=denoiser.name), denoiser.told
        known = list(denoiser.suite.names)
        self.known, self.rows = len(known), [known.index(name) for name in self.suite.names]
        self.identity = denoiser.sha256 or denoiser.name
        self.bound = np.array([c.lower_bound for c in self.suite.channels])[:, None]

    def run(self, stretch: Stretch) -> Estimate:
        """All windows of the stretch in one call; channels of the network that the suite lacks are missing."""
        length = stretch.values.shape[1]
        values, seen = np.full((self.known, length), np.nan, np.float32), np.zeros((self.known, length), np.float32)
        with np.errstate(over="ignore"):
            values[self.rows] = stretch.values
        seen[self.rows] = stretch.seen & np.isfinite(values[self.rows])
        windows = (length - self.look_back - self.look_ahead) // HOP
        index = HOP * np.arange(windows)[:, None] + np.arange(WINDOW)
        inputs = [np.moveaxis(x[:, index], 1, 0) for x in (values, seen, stretch.environment.astype(np.float32))]
        value, *others = (stitch(output)[self.rows].astype(np.float64) for output in self.network(*inputs))
        return Estimate(np.maximum(value, self.bound), others[0] if others else value)


def engine_of(denoiser: object, suite: Suite) -> Engine:
    """The engine of a denoiser that can run live."""
    if isinstance(denoiser, AdaptiveDenoiser):
        return AdaptiveEngine(denoiser, suite)
    if isinstance(denoiser, WindowedDenoiser):
        return WindowedEngine(denoiser, suite)
    raise ModelError("only networks run live", hint="use --model adaptive, lean, wide or an .onnx file")
