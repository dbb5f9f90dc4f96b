"""The lag of a record's channels: undone before the network, and what remains uncertain after it (numpy only)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Floats, Index, Mask
from pc2dae.denoiser import WIDENED
from pc2dae.edge.levels import Levels
from pc2dae.response.delays import TAPS, interpolation
from pc2dae.response.inverse import FORGOTTEN, LONGEST, invert, restarts_of
from pc2dae.response.kernels import LN10, Kernel, Response, memory, respond
from pc2dae.suite import Suite

_WITHIN = 12**-0.5  # samples: where within a sample an edge of a plume lies is not known


class LagFree(NamedTuple):
    """Inputs of a network that describe the lag, each (channel, time)."""

    values: Floats  # reading without lag
    reading: Floats
    lag1: Floats  # autocorrelation of the noise of `values`
    gain: Floats  # that noise relative to the noise of the reading
    tau: Floats  # time constant of the reading [samples]


def without_lag(
    reading: Floats,
    new: Mask,
    lag1: Floats,
    kernels: Sequence[Kernel | None],
    rate_hz: float = 1.0,
    restarts: Sequence[Index] | None = None,
) -> LagFree:
    """Undo the known kernels; a channel without one remains as it is. `restarts` are as in `Lags.restarts`."""
    if not any(kernels):
        one, zero = (np.broadcast_to(x, reading.shape) for x in (1.0, 0.0))  # takes no memory
        return LagFree(reading, reading, lag1, one, zero)
    free = LagFree(reading.copy(), reading, np.array(lag1), np.ones(reading.shape), np.zeros(reading.shape))
    for row, kernel in enumerate(kernels):
        if kernel is not None:
            own = None if restarts is None else restarts[row]
            found = invert(reading[row], new[row], kernel, lag1=lag1[row], rate_hz=rate_hz, restarts=own)
            free.values[row], free.gain[row], free.lag1[row], free.tau[row] = found
    return free


def _without_first_order(reading: Floats, new: Mask, lag1: Floats, keeps: Floats, usual: NDArray[np.int_]) -> LagFree:
    """What `invert` gives for first-order kernels of all channels, by their memories and spacings (channel, 1)."""
    number = np.arange(reading.shape[1])
    before = np.full(reading.shape, -1)
    before[:, 1:] = np.maximum.accumulate(np.where(new, number, -1), axis=1)[:, :-1]  # the previous new sample
    apart = number - before
    left = keeps**apart
    left[(left < FORGOTTEN) | (apart > LONGEST) | (before < 0)] = 0.0
    earlier = np.where(left > 0, reading[np.arange(len(reading))[:, None], before], 0.0)
    values = np.where(new, (reading - left * earlier) / (1 - left), reading)
    m = keeps**usual
    kept = np.where(new, left, m)
    gain = np.sqrt(1 + kept**2 - 2 * kept * lag1) / (1 - kept)
    after = (lag1 * (1 + m**2) - m) / (1 + m**2 - 2 * m * lag1)
    after = np.where(keeps > 0, np.minimum(np.maximum(after, -0.67), 0.95), lag1)
    return LagFree(values, reading, after, gain, np.broadcast_to(usual * m / (1 - m), reading.shape))


class Lags:
    """The responses of a suite's channels, as far as they are known."""

    def __init__(
        self,
        suite: Suite,
        responses: Mapping[str, Response],
        *,
        left_s: Mapping[str, float] | None = None,
        live: bool = False,
    ) -> None:
        self.suite, self.rate_hz = suite, suite.rate_hz
        self.known = [_live(responses.get(name)) if live else responses.get(name) for name in suite.names]
        self.kernels = [None if known is None else known.kernel for known in self.known]
        self.is_undone = np.array([kernel is not None for kernel in self.kernels], bool)
        self.delay = np.array([0.0 if r is None else r.delay_s * suite.rate_hz for r in self.known])  # samples
        native = np.array([channel.native_rate_hz or suite.rate_hz for channel in suite.channels])
        slow = native < suite.rate_hz
        self.delay[slow] = np.round(self.delay[slow])  # there is no sample in between
        # A stream does not know the whole record, of which a flight takes the median.
        self.spacing = np.array([[max(round(suite.rate_hz / rate), 1)] for rate in native]) if live else None
        t90 = np.array([0.0 if kernel is None else kernel.t90_s for kernel in self.kernels])
        self.memory = np.array([memory(x, suite.rate_hz) for x in t90])
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.array([0.0 if r is None else r.t90_uncertainty_s for r in self.known]) / t90
        self.t90_doubt = np.where(t90 > 0, relative, 0.0)
        finest = _WITHIN / suite.rate_hz
        # A lag that is not undone leaves τ·du/dt: like a delay that is not known.
        left = np.array([0.0 if left_s is None else left_s.get(name, 0.0) for name in suite.names])
        late = np.array([0.0 if r is None else np.hypot(r.delay_uncertainty_s, finest) for r in self.known])
        self.delay_doubt = np.where(self.is_undone, late, left)

    @cached_property
    def ambient(self) -> tuple[str, ...]:
        """The channels whose lag is undone."""
        return tuple(name for name, kernel in zip(self.suite.names, self.kernels, strict=True) if kernel is not None)

    @cached_property
    def is_certain(self) -> bool:
        """Whether no lag is undone and none is known to be left."""
        return not self.ambient and not self.delay_doubt.any()

    @property
    def look_back(self) -> int:
        """Samples after which a first-order sensor has forgotten the air."""
        return self.look_back_from(np.full(len(self.known), np.inf))

    def look_back_from(self, age: Floats) -> int:
        """Samples that suffice if each channel had its last new sample `age` samples before."""
        memory, more = self._reach
        if not self._cross and self.ambient:
            memory = int(min(memory, age[self.is_undone].max()))
        return memory + more

    @cached_property
    def _reach(self) -> tuple[int, int]:
        """Samples after which a first-order sensor has forgotten the air, and those that delays need in addition."""
        tau = max((k.t90_s * self.rate_hz / LN10 for k in self.kernels if k is not None), default=0.0)
        memory = min(int(np.ceil(-np.log(FORGOTTEN) * tau)), LONGEST)
        return memory, int(np.ceil(max(-self.delay.min(initial=0), 0))) - TAPS[0] * bool(self.delay.any())

    @property
    def look_ahead(self) -> int:
        """Samples by which the latest channel lags behind the air, with those that a value between samples needs."""
        whole, part, _ = self._taps
        return int((whole + TAPS[-1] * (part[:, 0] > 0)).max(initial=0))

    @cached_property
    def whole(self) -> NDArray[np.intp]:
        """Whole samples of delay of each channel."""
        return np.asarray(np.floor(self.delay).astype(np.intp))

    def in_step(self, values: Floats, new: Mask) -> tuple[Floats, Mask, Mask]:
        """Readings at the time of the air, x(t + d): which are new, and which lie between samples.

        Between samples the polynomial through six of them is taken, next to a gap the nearest sample.
        """
        whole, part, weights = self._taps
        length = values.shape[1]
        row, at = np.arange(len(whole))[:, None], np.arange(TAPS[0], length + TAPS[-1]) + whole[:, None]
        inside = (at >= 0) & (at < length)
        at = np.where(inside, at, 0)
        x, is_new = np.where(inside, values[row, at], 0.0), inside & new[row, at]
        tap = {k: slice(k - TAPS[0], k - TAPS[0] + length) for k in TAPS}
        between = np.logical_and.reduce([is_new[:, tap[k]] for k in TAPS]) & (part > 0)
        later = (part >= 0.5) & is_new[:, tap[1]]
        nearest = np.where(later, x[:, tap[1]], x[:, tap[0]])
        known = np.where(is_new, x, 0.0)
        smooth = sum(known[:, tap[k]] * weights[:, n, None] for n, k in enumerate(TAPS))
        return np.where(between, smooth, nearest), between | later | ((part < 0.5) & is_new[:, tap[0]]), between

    def all_in_step(self, values: Floats, new: Mask, levels: Levels) -> tuple[Floats, Mask, Levels]:
        """Readings at the time of the air, which are new, and the levels that a network needs of them."""
        if not self.delay.any():
            return values, new, levels
        whole, _, _ = self._taps
        row, at = np.arange(len(whole))[:, None], np.arange(values.shape[1]) + whole[:, None]
        cell = row, np.clip(at, 0, values.shape[1] - 1)
        values, new, between = self.in_step(values, new)
        power, memory = self._noise
        lag1 = levels.lag1[cell]
        lag1 = np.where(between, np.minimum(np.maximum(lag1 + memory, -0.6), 0.95), lag1)
        sigma = np.where(between, np.sqrt(power), 1.0) * levels.sigma[cell]
        return values, new, replace(levels, sigma=sigma, lag1=lag1, doubt=levels.doubt[cell], zero=levels.zero[cell])

    @cached_property
    def _taps(self) -> tuple[NDArray[np.intp], Floats, Floats]:
        """Whole and fractional part of the delays, and Lagrange's weights of the samples `TAPS` in between."""
        part: Floats = self.delay - self.whole
        return self.whole, part[:, None], interpolation(part)

    @cached_property
    def _noise(self) -> tuple[Floats, Floats]:
        """Power of the noise of a weighted sum, and its autocorrelation at one sample, (channel, 1) each."""
        weights = self._taps[2]
        power = (weights**2).sum(axis=1, keepdims=True)
        return power, (weights[:, 1:] * weights[:, :-1]).sum(axis=1, keepdims=True) / power

    def as_logged(self, air: Floats) -> Floats:
        """The reverse of `in_step`, for values without gaps."""
        at = np.arange(air.shape[1], dtype=np.float64)
        rows = [np.interp(at - d, at, x, left=np.nan) if d else x for d, x in zip(self.delay, air, strict=True)]
        return np.asarray(rows)

    def restarts(self, reading: Floats, new: Mask, sigma: Floats) -> list[Index]:
        """Samples to which each reading, of noise `sigma` (channel,), jumps as no sensor of its response can."""
        return [
            np.empty(0, np.intp) if k is None else restarts_of(x, seen, k, sigma=level, rate_hz=self.rate_hz)
            for x, seen, k, level in zip(reading, new, self.kernels, sigma.tolist(), strict=True)
        ]

    def undo(self, reading: Floats, new: Mask, lag1: Floats, restarts: Sequence[Index] | None = None) -> LagFree:
        """Channels in step with the air, without lag.

        The lag acts on a sensor's own signal s = (1 + K) x, from which other channels were subtracted to form x: s is
        freed of it, then x solved for. Dipoles at the edges of plumes, due to different lags, disappear. Nothing is
        undone across `restarts`; a stream has none, because it cannot know whether a reading will stay.
        """
        cross = self._cross
        if not cross:
            return self._undo_own(reading, new, lag1, restarts)
        matrix = np.eye(len(self.known))
        signal, seen = reading.copy(), new.copy()
        for row, parts in cross.items():
            for part, gain in parts:
                matrix[row, part] = gain
                signal[row] += gain * reading[part]
        involved = np.linalg.matrix_power((matrix != 0).astype(np.float64), len(matrix)) > 0
        for row in cross:
            seen[row] = new[involved[row]].all(axis=0)
        free = self._undo_own(signal, seen, lag1, restarts)
        air = np.linalg.solve(matrix, np.nan_to_num(free.values))
        for row in cross:
            free.values[row] = np.where(seen[row], air[row], reading[row])
        return free._replace(reading=reading)

    def _undo_own(self, signal: Floats, new: Mask, lag1: Floats, restarts: Sequence[Index] | None) -> LagFree:
        """Each sensor's own signal without lag; in a stream all kernels are of first order."""
        if self.spacing is None or not self.ambient:
            return without_lag(signal, new, lag1, self.kernels, self.rate_hz, restarts)
        return _without_first_order(signal, new, lag1, self.memory[:, None], self.spacing)

    @cached_property
    def _cross(self) -> dict[int, list[tuple[int, float]]]:
        """What was subtracted to form a channel, by its row."""
        return {row: parts for row in range(len(self.known)) if (parts := self._parts(row))}

    def _parts(self, row: int) -> list[tuple[int, float]]:
        """Rows and gains of the channels that were subtracted to form this one."""
        known = self.known[row]
        cross = () if known is None else known.cross
        return [(self.suite.names.index(name), gain) for name, gain in cross if name in self.suite.names]

    def response(self, air: Floats, reading: Floats | None = None, restarts: Sequence[Index] | None = None) -> Floats:
        """Noise-free readings (channel, time) of lag-corrected channels, in step with the air; NaN for others.

        At `restarts` they start again from the `reading`.
        """
        found = np.full(air.shape, np.nan)
        for row, kernel in enumerate(self.kernels):
            known = np.isfinite(air[row])
            if kernel is None or not known.any():
                continue
            last = np.maximum.accumulate(np.where(known, np.arange(len(known)), -1))  # a gap keeps the last value
            held = np.where(last >= 0, air[row, last], np.nan)
            cuts = [int(np.argmax(last >= 0)), *([] if restarts is None else restarts[row].tolist()), len(held)]
            for first, end in pairwise(cuts):
                part = held[first:end].copy()
                if reading is not None and first != cuts[0]:
                    part[:1] = reading[row, first]
                found[row, first:end] = respond(part, kernel, self.rate_hz)
            found[row, ~known] = np.nan
        return found

    def answer(
        self, air: Floats, reading: Floats | None = None, restarts: Sequence[Index] | None = None
    ) -> tuple[Floats, Floats]:
        """Noise-free readings in step with the air, and systematic uncertainties of a whole record."""
        if self.is_certain:
            return np.broadcast_to(np.nan, air.shape), np.broadcast_to(0.0, air.shape)
        response = self.response(air, reading, restarts)
        before = np.concatenate([air[:, :1], air[:, :-1]], axis=1)
        return response, self.systematic(air, np.where(np.isfinite(before), before, air), response)

    def systematic(self, air: Floats, before: Floats, response: Floats) -> Floats:
        """Standard uncertainty due to t90, delay and lags that are left; `before` is the air one sample earlier.

        u − r = τ dr/dt, so a relative error of τ makes that relative error of u − r; a delay error makes δ du/dt.
        """
        shape = (-1,) + (1,) * (air.ndim - 1)
        lag = np.abs(air - response) * self.t90_doubt.reshape(shape)
        late = np.abs(air - before) * (self.delay_doubt * self.rate_hz).reshape(shape)
        return np.asarray(np.hypot(np.fmax(lag, 0.0), np.fmax(late, 0.0)))  # unknown counts as 0


class LiveResponse:
    """Readings and systematic uncertainties of a stream, second by second, as `Lags` gives them for a record."""

    def __init__(self, lags: Lags) -> None:
        self.lags = lags
        rows = len(lags.known)
        self.state: Floats = np.full((rows, lags.look_ahead + 5), np.nan)
        self.air, self.before, self.reading = self.state[:, 0], self.state[:, 1], self.state[:, 2]
        self.past = self.state[:, 3:]  # readings in step with the air, newest last
        self.part = lags.delay - lags.whole
        self.logged = np.arange(rows), -1 - lags.whole  # the reading that is logged now …
        self.earlier = np.arange(rows), -2 - lags.whole  # … and the one before

    def __call__(self, air: Floats) -> tuple[Floats, Floats, Floats]:
        """Noise-free readings as logged and systematic uncertainties, for the next columns (channel, time) of air.

        Also the readings of this air, which are logged later by the whole samples of the delay.
        """
        lags, part = self.lags, self.part
        if self.lags.is_certain:
            return np.full(air.shape, np.nan), np.zeros(air.shape), np.full(air.shape, np.nan)
        logged, systematic, coming = np.empty(air.shape), np.empty(air.shape), np.empty(air.shape)
        for t, now in enumerate(air.T):
            self.air[:] = np.where(np.isfinite(now), now, self.air)
            started = np.isfinite(self.reading)
            self.reading[:] = np.where(started, lags.memory * (self.reading - self.air), 0.0) + self.air
            in_step = np.where(self.lags.is_undone & np.isfinite(now), self.reading, np.nan)
            self.past[:, :-1] = self.past[:, 1:].copy()
            self.past[:, -1] = in_step
            late, latest = (np.where(part > 0, x, 0.0) for x in (self.past[self.earlier], self.past[:, -2]))
            logged[:, t] = (1 - part) * self.past[self.logged] + part * late
            before = np.where(np.isfinite(self.before), self.before, now)
            systematic[:, t] = lags.systematic(now, before, in_step)
            coming[:, t] = (1 - part) * in_step + part * latest
            self.before[:] = now
        return logged, systematic, coming


def within(response: Floats, values: Floats, new: Mask, sigma: Floats, reach: int) -> Floats:
    """Noise-free readings limited to the range of the samples of the last `reach`, widened by 3 σ; NaN without any.

    `response` and `sigma` are of the last columns of `values` and `new`.
    """
    count = response.shape[1]
    low, high = (_running(np.where(new, sign * values, -np.inf), reach, count) for sign in (-1, 1))
    slack = WIDENED * np.fmax(sigma, 0.0)  # unknown counts as 0
    limited = np.minimum(np.maximum(response, -low - slack), high + slack)
    return np.asarray(np.where(np.isfinite(high), limited, np.nan))


def _running(values: Floats, reach: int, count: int) -> Floats:
    """Maximum over the last `reach` samples at the last `count` of them, by doubling."""
    if count == 1:
        return np.asarray(values[:, -reach:].max(axis=1, keepdims=True))
    held, width = values.copy(), 1
    while width < reach:
        step = min(width, reach - width)
        held[:, step:] = np.maximum(held[:, step:], held[:, :-step].copy())
        width += step
    return held[:, -count:]


def shifted(array: Any, by: NDArray[np.intp], beyond: Any) -> Any:
    """Each row of `array` at t + by; `beyond` where the record has ended."""
    at = np.arange(array.shape[1]) + by[:, None]
    moved = np.take_along_axis(np.asarray(array), np.clip(at, 0, array.shape[1] - 1), axis=1)
    return np.where((at >= 0) & (at < array.shape[1]), moved, beyond)


def _live(known: Response | None) -> Response | None:
    """The part of a response that a stream can undo: the fast part of two steps, and no Gaussian, which looks ahead."""
    if known is None or known.kernel.kind == "gaussian":
        return None
    return replace(known, kernel=Kernel(known.kernel.t90_s))
