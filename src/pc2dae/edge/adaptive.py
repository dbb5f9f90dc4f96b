"""The adaptive network on a record of any length, with numpy and onnxruntime alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from pc2dae.edge.bridge import bridged
from pc2dae.edge.card import digest
from pc2dae.edge.runtime import open_session
from pc2dae.edge.safe import Facts, card_of
from pc2dae.emit import Array, Estimate, Job, Mask
from pc2dae.noise import TRAILING_WINDOW, noise_level, quantile, trailing_noise
from pc2dae.suite import Suite

if TYPE_CHECKING:
    import xarray as xr

INPUTS = ("values", "valid", "noise", "lag1", "bound")
MINUTE = 60  # samples
_FAR = 500.0  # σ above the bound: as far as the training world goes
_DEEP = ((5, 3.0), (15, 1.5))  # medians of so many samples so many σ below the bound are no noise
PIECE = 4096  # samples given out per run: bounds memory, and is long beside the overlap

Network = Callable[..., tuple[Array, ...]]  # the inputs above, (batch, channel, time) each, bound (…, 1)


@dataclass
class AdaptiveDenoiser:
    """A channel-agnostic network: it needs each channel's bound and noise level, and no training for the suite."""

    name: str
    network: Network
    look_back: int  # samples that an estimate depends on, before it …
    look_ahead: int  # … and after it
    reach: int  # farther than this from any observation there is no estimate
    sha256: str = ""
    profile: str = "flight"
    progress: Callable[[int, int], None] | None = None

    @property
    def latency_s(self) -> float:
        """How far ahead it looks, at one sample per second."""
        return float(self.look_ahead)

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """The job for the channels of `suite`: their bounds, and the noise each is assumed to have at take-off."""
        bound: Array = np.array([channel.lower_bound for channel in suite.channels])
        prior = np.array([channel.noise_sigma or np.nan for channel in suite.channels])

        def job(values: Array, environment: Array, valid: Mask) -> Estimate:
            seen = valid & np.isfinite(values)
            zero: Array
            usable: Array
            lag1: Array
            if self.profile == "live":
                zero = bound
                sigma, lag1 = trailing_noise(values, seen, prior)
                usable = live_sigma(sigma, values - zero[:, None], seen)
            else:
                noise = noise_level(values, seen)
                zero = _clean_air(values, seen, noise.sigma, bound)
                guess = _guessed(noise.sigma, values, seen, zero)
                usable, lag1 = (np.broadcast_to(level[:, None], values.shape) for level in (guess, noise.lag1))
            unbounded, spread = self._run(values, seen, zero, usable, lag1)
            if self.profile != "live":
                unbounded, spread = bridged(unbounded, spread, seen)
            return Estimate(np.maximum(unbounded, bound[:, None]), unbounded, spread)

        return job

    def _run(self, values: Array, seen: Mask, zero: Array, sigma: Array, lag1: Array) -> tuple[Array, Array]:
        """Estimate and uncertainty, piece by piece with overlap; where the record ends the array does, as in training.

        Beside what goes in and comes out, memory is that of one piece, however long the record.
        """
        length = values.shape[1]
        unbounded, spread = np.empty(values.shape), np.empty(values.shape)
        no_bound = np.zeros((1, len(values), 1), np.float32)  # bounds are taken off in double precision
        for start in range(0, length, PIECE):
            stop = min(start + PIECE, length)
            begin = max(start - max(self.look_back, self.reach), 0)
            at = slice(begin, min(stop + self.look_ahead, length))
            above, here = values[:, at] - zero[:, None], seen[:, at]
            level = np.maximum(sigma[:, at], _smallest(above, here))
            with np.errstate(over="ignore", invalid="ignore"):  # beyond float32 is infinite, which the graph masks
                parts = (above, here, level, np.nan_to_num(lag1[:, at]))
                inputs = [np.ascontiguousarray(x[None], dtype=np.float32) for x in parts]
            given = slice(start - begin, stop - begin)
            nothing = ~near(here, self.reach, min(self.reach, self.look_ahead))[:, given]
            _, moved, sd = self.network(*inputs, no_bound)
            unbounded[:, start:stop] = np.where(nothing, np.nan, moved[0, :, given] + zero[:, None])
            spread[:, start:stop] = np.where(nothing, np.nan, sd[0, :, given])
            if self.progress is not None:
                self.progress(stop, length)
        return unbounded, spread


def adaptive_of(data: bytes, facts: Facts, *, name: str, profile: str = "flight") -> AdaptiveDenoiser:
    """The denoiser in the verified bytes of an ONNX with the inputs above."""
    card = card_of(facts, where=name)
    session = open_session(data, name=name)

    def network(*arrays: Array) -> tuple[Array, ...]:
        return tuple(session.run(None, dict(zip(INPUTS, arrays, strict=True))))

    back, ahead, reach = (int(card[key]) for key in ("look_back", "look_ahead", "reach"))
    return AdaptiveDenoiser(name, network, back, ahead, reach, digest(data), profile)


def near(seen: Mask, before: int, after: int) -> Mask:
    """Where any observation lies at most `before` samples earlier or `after` samples later."""
    count = np.cumsum(np.pad(seen, ((0, 0), (before + 1, after))), axis=1)
    return np.asarray(count[:, before + after + 1 :] > count[:, : -before - after - 1])


def live_sigma(sigma: Array, above: Array, seen: Mask) -> Array:
    """A noise level for every sample, guessed where unknown from nothing later than the sample itself."""
    usable = np.array(sigma, dtype=np.float64)
    for row, t in zip(*np.nonzero(~(np.isfinite(usable) & (usable > 0))), strict=True):
        recent = slice(max(t + 1 - TRAILING_WINDOW, 0), t + 1)
        size = np.abs(above[row, recent][seen[row, recent]])
        usable[row, t] = 0.01 * (float(np.median(size)) if len(size) else 1.0) + 1e-12
    return np.maximum(usable, _smallest(above, seen))


def _clean_air(values: Array, seen: Mask, sigma: Array, bound: Array) -> Array:
    """What each channel is counted from: its bound, or its clean air where that lies more than 1 σ below it.

    The network has learned that no true value lies below the bound. A sensor with a negative zero would have its clean
    air pulled up, and its plumes cut: it is given its own zero, and the bound holds for the bounded estimate alone.
    The same for one that was below it for some seconds only, as a cell that settles after power-on: counted from the
    bound, these would be distrusted, and averages of far away samples stand in their place.
    A channel that never comes within 500 σ of its bound is counted from there: farther away the network learned no
    difference, and float32 would lose the noise.
    """
    level = np.array(bound, dtype=np.float64)
    for row, ok in enumerate(seen):
        x = values[row, ok]
        if len(x) >= 2 * MINUTE:
            total = np.cumsum(np.concatenate(([0.0], x)))
            low = quantile(np.sort(total[MINUTE:] - total[:-MINUTE]), 0.05) / MINUTE
            level[row] = low if low < bound[row] - sigma[row] else max(bound[row], low - _FAR * sigma[row])
        for count, depth in _DEEP:
            if len(x) >= count:
                below = np.convolve(x < bound[row] - depth * sigma[row], np.ones(count), "valid")
                deep = below > count / 2  # the median is below too
                if deep.any():
                    level[row] = min(level[row], np.median(sliding_window_view(x, count)[deep], axis=1).min())
    return level


def _guessed(sigma: Array, values: Array, seen: Mask, zero: Array) -> Array:
    """Each channel's noise level, guessed from how large its values are where it is not known."""
    level = np.array(sigma, dtype=np.float64)
    for row in np.flatnonzero(~(np.isfinite(level) & (level > 0))):
        size = np.abs(values[row, seen[row]] - zero[row])
        level[row] = 0.01 * (float(np.median(size)) if len(size) else 1.0) + 1e-12
    return level


def _smallest(above: Array, seen: Mask) -> Array:
    """The least level at which float32 can still tell samples apart."""
    return np.asarray(1e-6 * np.where(seen & np.isfinite(above), np.abs(above), 0.0))
