"""The adaptive network on a record of any length, with numpy and onnxruntime alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pc2dae.arrays import Floats, Mask
from pc2dae.denoiser import LARGEST, WIDENED, Estimate, Job
from pc2dae.edge.card import digest
from pc2dae.edge.gap_fill import bridged
from pc2dae.edge.levels import Levels, of_flight, trailing
from pc2dae.edge.onnx_check import Facts, card_of
from pc2dae.edge.runtime import open_session
from pc2dae.suite import Suite

if TYPE_CHECKING:
    import xarray as xr

INPUTS = ("values", "valid", "noise", "lag1", "bound", "group")
NEAR = 2e4  # σ above the bound: float32 still has a thousandth of σ there
PIECE = 4096  # samples given out per run: bounds memory, and is long beside the overlap

Network = Callable[..., tuple[Floats, ...]]  # the inputs above, (batch, channel, time) each


@dataclass
class AdaptiveDenoiser:
    """A channel-agnostic network: it needs each channel's bound and noise level, and no training for the suite."""

    name: str
    network: Network
    look_back: int  # samples that an estimate depends on, before it …
    look_ahead: int  # … and after it
    before: int  # an estimate is made of samples at most so many before …
    after: int  # … and so many after it: where there is none, there is no estimate
    sha256: str = ""
    profile: str = "flight"
    progress: Callable[[int, int], None] | None = None

    @property
    def latency_s(self) -> float:
        """How far ahead it looks, at one sample per second."""
        return float(self.look_ahead)

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """The job for the channels of `suite`: their bounds, and the noise each is assumed to have at take-off."""
        bound: Floats = np.array([channel.lower_bound for channel in suite.channels])
        prior = np.array([channel.noise_sigma or np.nan for channel in suite.channels])

        def job(values: Floats, environment: Floats, valid: Mask) -> Estimate:
            seen = valid & (np.abs(np.nan_to_num(values, nan=np.inf)) < LARGEST)
            if self.profile == "live":
                levels, new = trailing(values, seen, bound, prior)
                unbounded, spread = self._in_pieces(values, new, levels, bound)
            else:
                levels, new = of_flight(values, seen, bound)
                unbounded, spread = self._at_own_rate(values, new, levels, bound)
            return Estimate(np.maximum(unbounded, bound[:, None]), unbounded, spread)

        return job

    def run(self, values: Floats, new: Mask, levels: Levels, bound: Floats, given: slice) -> tuple[Floats, Floats]:
        """Estimate and uncertainty of the samples `given` of one stretch, (channel, time); NaN where there is none."""
        nothing = ~near(new, self.before, self.after)[:, given]
        if nothing.all():
            return np.full(nothing.shape, np.nan), np.full(nothing.shape, np.nan)
        middle = _origin(values, new, levels.sigma, bound)
        zero = np.where(new.any(axis=1, keepdims=True), levels.zero - middle, 0.0)
        arrays = (values - middle, new, _known_from_later(levels.sigma), levels.lag1, zero, levels.group)
        with np.errstate(over="ignore", invalid="ignore"):  # beyond float32 is infinite, which the graph masks
            inputs = [np.ascontiguousarray(x[None], dtype=np.float32) for x in arrays]
        _, moved, spread = (output[0, :, given].astype(np.float64) for output in self.network(*inputs))
        return (
            np.where(nothing, np.nan, moved + middle),
            np.where(nothing, np.nan, spread * levels.doubt[:, given]),
        )

    def _at_own_rate(self, values: Floats, new: Mask, levels: Levels, bound: Floats) -> tuple[Floats, Floats]:
        """Estimate and uncertainty of a whole flight; where all channels are new at every k-th sample alone, by those.

        The network counts in samples: a record brought to a finer grid, by repetition or with gaps, keeps its answer.
        """
        at = np.flatnonzero(new.any(axis=0))
        step = int(np.gcd.reduce(np.diff(at))) if len(at) > 1 else 1
        if step == 1:
            return self._bridged(values, new, levels, bound)
        own = slice(int(at[0]) % step, None, step)
        found = self._bridged(values[:, own], new[:, own], levels.each(lambda x: x[:, own]), bound)
        last = np.clip((np.arange(values.shape[1]) - own.start) // step, 0, found[0].shape[1] - 1)
        reached = near(new, self.before, self.after)
        return np.where(reached, found[0][:, last], np.nan), np.where(reached, found[1][:, last], np.nan)

    def _bridged(self, values: Floats, new: Mask, levels: Levels, bound: Floats) -> tuple[Floats, Floats]:
        """Estimate and uncertainty with gaps bridged, as far as the range of the channel's own samples allows."""
        estimate, spread = self._in_pieces(values, new, levels, bound)
        value, wider = bridged(estimate, spread, new)
        for row, t in np.argwhere((value != estimate) & np.isfinite(value)):
            part = slice(max(t - self.before, 0), t + self.after + 1)
            own, slack = values[row, part][new[row, part]], WIDENED * levels.sigma[row, t]
            value[row, t] = np.clip(value[row, t], own.min() - slack, own.max() + slack)
        return value, wider

    def _in_pieces(self, values: Floats, new: Mask, levels: Levels, bound: Floats) -> tuple[Floats, Floats]:
        """Estimate and uncertainty, piece by piece with overlap; where the record ends the array does, as in training.

        Beside what goes in and comes out, memory is that of one piece, however long the record.
        """
        length = values.shape[1]
        unbounded, spread = np.empty(values.shape), np.empty(values.shape)
        for start in range(0, length, PIECE):
            stop = min(start + PIECE, length)
            begin = max(start - self.look_back, 0)
            at = slice(begin, min(stop + self.look_ahead, length))
            given = slice(start - begin, stop - begin)
            here = levels.each(lambda x: x[:, at])  # noqa: B023 (called at once)
            unbounded[:, start:stop], spread[:, start:stop] = self.run(values[:, at], new[:, at], here, bound, given)
            if self.progress is not None:
                self.progress(stop, length)
        return unbounded, spread


def adaptive_of(data: bytes, facts: Facts, *, name: str, profile: str = "flight") -> AdaptiveDenoiser:
    """The denoiser in the verified bytes of an ONNX with the inputs above."""
    card = card_of(facts, where=name)
    session = open_session(data, name=name)

    def network(*arrays: Floats) -> tuple[Floats, ...]:
        return tuple(session.run(None, dict(zip(INPUTS, arrays, strict=True))))

    back, ahead = int(card["look_back"]), int(card["look_ahead"])
    before, after = int(card["made_from_before"]), int(card["made_from_after"])
    return AdaptiveDenoiser(name, network, back, ahead, before, after, digest(data), profile)


def near(seen: Mask, before: int, after: int) -> Mask:
    """Where any observation lies at most `before` samples earlier or `after` samples later."""
    count = np.cumsum(np.pad(seen, ((0, 0), (before + 1, after))), axis=1)
    return np.asarray(count[:, before + after + 1 :] > count[:, : -before - after - 1])


def _known_from_later(sigma: Floats) -> Floats:
    """Noise levels with the next known one where none is known yet, or the last one, or 1."""
    filled = np.array(sigma)
    for row in filled:
        known = np.flatnonzero(np.isfinite(row))
        if 0 < len(known) < len(row):
            row[:] = row[known[np.minimum(np.searchsorted(known, np.arange(len(row))), len(known) - 1)]]
        elif len(known) == 0:
            row[:] = 1.0
    return filled


def _origin(values: Floats, new: Mask, sigma: Floats, bound: Floats) -> Floats:
    """What values are counted from, taken off in double precision: float32 would lose the noise of a high level.

    The bound where that costs nothing: then no digit depends on the stretch, and a stream equals the whole flight.
    """
    origin = np.array(bound, dtype=np.float64)
    for row, ok in enumerate(new):
        if ok.any():
            middle = np.median(values[row, ok])
            if abs(middle - origin[row]) > NEAR * np.nanmin(sigma[row]):
                origin[row] = middle
    return origin[:, None]
