"""The adaptive network on a record of any length, using only numpy and onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from zlib import crc32

import numpy as np

from pc2dae.arrays import Floats, Index, Mask, near
from pc2dae.denoiser import LARGEST, WIDENED, Estimate, Job
from pc2dae.edge.areas import with_areas
from pc2dae.edge.card import digest
from pc2dae.edge.clusters import ALL, RECENT, Clusters, apart, chosen_at, clusters_of, rejoined
from pc2dae.edge.engine import Engine, Progress, Runs, Stretch, in_sequence
from pc2dae.edge.gap_fill import bridged
from pc2dae.edge.lag import LagFree, Lags, within
from pc2dae.edge.levels import Levels
from pc2dae.edge.onnx_check import Facts, card_of
from pc2dae.edge.origin import known_from_later, origin_of
from pc2dae.edge.protobuf import Malformed
from pc2dae.edge.runtime import open_session
from pc2dae.edge.steps import FARTHEST, SteppedNetwork, Steps
from pc2dae.noise import Noise
from pc2dae.response.inverse import gaussian_width
from pc2dae.response.kernels import LN10, Response
from pc2dae.suite import Suite

if TYPE_CHECKING:
    import xarray as xr

INPUTS = ("values", "valid", "noise", "lag1", "bound", "group", "reading", "gain", "tau")
_AREA_PASSES = 2  # the second leaves a tenth of what the first leaves
PIECE = 32_768  # samples of all channels estimated per run: bounds memory, and is long compared with the overlap
_CALIBRATED, _CALIBRATED_AIR = 0.9, 0.83  # factors on σ̂, of readings and of the air, from development flights
_SHARE = 32  # a stream runs the network once per 1/32 of the look-ahead, which adds that much latency

Network = Callable[..., tuple[Floats, ...]]  # the inputs above, (batch, channel, time) each


class Widths(NamedTuple):
    """Width at half maximum of the answer to a plume of one sample [samples], for sensors and plumes of all kinds."""

    tau: Floats  # 1 + time constant [samples], increasing
    snr: Floats  # height of the plume in the lag-free series over the noise of the reading, increasing
    width: Floats  # (tau, snr)


_NO_WIDTHS = Widths(np.ones(1), np.ones(1), np.full((1, 1), np.nan))


@dataclass
class AdaptiveDenoiser:
    """A channel-agnostic network: it needs each channel's bound and noise level, but no training for the suite."""

    name: str
    network: Network
    look_back: int  # samples that an estimate depends on, before it …
    look_ahead: int  # … and after it
    before: int  # an estimate is an average of samples at most this many before …
    after: int  # … and this many after it; without any there is no estimate
    sha256: str = ""
    profile: str = "flight"
    progress: Progress | None = None
    rate_hz: float = 1.0  # of the suite it was last prepared for
    widths: Widths = _NO_WIDTHS
    responses: Mapping[str, Response] = field(default_factory=dict)  # of the channels whose lag is to be undone
    left_s: Mapping[str, float] = field(default_factory=dict)  # time constants of lags that are not, as uncertainties

    @property
    def latency_s(self) -> float:
        """Look-ahead [s] at `rate_hz`; the network counts in samples."""
        return self.look_ahead / self.rate_hz

    def lags(self, suite: Suite) -> Lags:
        """The responses of the channels of `suite`."""
        return Lags(suite, self.responses, left_s=self.left_s, live=self.profile == "live")

    def undoing(self, responses: Mapping[str, Response], left_s: Mapping[str, float]) -> Self:
        """This denoiser with responses to undo, and the time constants of lags that are left."""
        return replace(self, responses=responses, left_s=left_s)

    def lag_attributes(self, suite: Suite, estimate: Estimate, noise: Noise) -> dict[str, dict[str, Any]]:
        """Attributes of each channel whose lag was undone: its response, and the resolution left at its noise."""
        attributes = {}
        for row, (name, known) in enumerate(zip(suite.names, self.lags(suite).known, strict=True)):
            if known is None:
                continue
            seen = estimate.unbounded[row][np.isfinite(estimate.unbounded[row])]
            height = np.quantile(seen, 0.99) - np.median(seen) if len(seen) else 0.0
            tau = known.kernel.t90_s * suite.rate_hz / LN10
            snr = height / noise.sigma[row] if noise.sigma[row] > 0 else np.inf
            width = self.resolution(tau, snr) / suite.rate_hz
            if known.kernel.kind == "gaussian":
                width = max(width, gaussian_width(known.kernel.t90_s))
            attributes[name] = {
                "t90_s": round(known.kernel.t90_s, 2),
                "t90_uncertainty_s": round(known.t90_uncertainty_s, 2),
                "t90_source": known.source,
                "response_kernel": known.kernel.kind,
                "delay_s": round(known.delay_s, 2),
                "delay_uncertainty_s": round(known.delay_uncertainty_s, 2),
                "effective_resolution_s": round(width, 1),
            } | ({"t90_note": known.note} if known.note else {})
        return attributes

    def resolution(self, tau: float, snr: float) -> float:
        """Width at half maximum of the answer to a plume of one sample [samples], interpolated in the card's table.

        Args:
            tau: Time constant of the sensor [samples].
            snr: Height of its plumes in units of the noise of its reading.
        """
        x, y = (
            np.log(np.clip(v, grid[0], grid[-1])) for v, grid in ((1 + tau, self.widths.tau), (snr, self.widths.snr))
        )
        rows = [np.interp(y, np.log(self.widths.snr), row) for row in self.widths.width]
        return float(np.interp(x, np.log(self.widths.tau), rows))

    def prepare(self, flight: xr.Dataset, suite: Suite) -> Job:
        """The engine for the channels of `suite`, with their bounds and assumed noise levels at take-off."""
        return self.engine(suite)

    def engine(self, suite: Suite) -> AdaptiveEngine:
        """The network for the channels of `suite`."""
        self.rate_hz = suite.rate_hz
        return AdaptiveEngine(self, suite)


class AdaptiveEngine(Engine):
    """The adaptive network prepared for the channels of a suite; takes noise levels and returns uncertainties."""

    needs_noise = True

    def __init__(self, denoiser: AdaptiveDenoiser, suite: Suite) -> None:
        super().__init__(suite)
        self.denoiser = denoiser
        self.lags = denoiser.lags(suite)
        self.look_back = denoiser.look_back + self.lags.look_back
        self.look_ahead = denoiser.look_ahead + self.lags.look_ahead
        self.before, self.after = denoiser.before, denoiser.after
        self.hop = max(1, denoiser.look_ahead // _SHARE)
        self.identity = (
            f"{denoiser.sha256 or denoiser.name} {crc32(repr((self.lags.known, self.lags.delay_doubt)).encode()):08x}"
        )

    def __call__(self, values: Floats, environment: Floats, valid: Mask) -> Estimate:
        """The estimate of a whole record."""
        seen = valid & (np.abs(np.nan_to_num(values, nan=np.inf)) < LARGEST)
        levels, new = self.levels(values, seen, self.denoiser.profile)
        if self.denoiser.profile == "live":
            unbounded, spread = self._in_pieces(Stretch(values, seen, new, levels, environment, slice(0)))
            reading, systematic = self.lags.answer(unbounded)
        else:
            found = self._at_own_rate(*self.lags.all_in_step(values, new, levels))
            unbounded, spread, reading, systematic = found
        bounded = np.maximum(unbounded, self.bound[:, None])
        if self.lags.is_certain:
            return Estimate(bounded, unbounded, spread)
        if not self.lags.ambient:
            return Estimate(bounded, unbounded, np.hypot(spread, systematic), systematic)
        response = within(self.lags.as_logged(reading), values, new, levels.sigma, self.before)
        return Estimate(bounded, unbounded, np.hypot(spread, systematic), systematic, response)

    def runs(self) -> Runs:
        """The runs along a new stream; those of a live network keep its state."""
        network = self.denoiser.network
        return Steps(self, network) if isinstance(network, SteppedNetwork) else Runs(self)

    def run(self, stretch: Stretch) -> Estimate:
        """Run the network on a stretch that ends at the end of the record, as in training; NaN without samples."""
        parts = self.parts(stretch)
        if len(parts) > 1:
            return in_sequence([self.run(part) for part in parts])
        values, new, levels, wanted, free = stretch.values, stretch.new, stretch.levels, stretch.wanted, stretch.free
        if free is None:
            values, new, levels = self.lags.all_in_step(values, new, levels)
            free = self.lags.undo(values, new, levels.lag1)
        nothing = ~near(new, self.before, self.after)[:, wanted]
        if nothing.all():
            unknown = np.full(nothing.shape, np.nan)
            return Estimate(unknown, unknown, unknown)
        known = known_from_later(levels.sigma)
        middle = origin_of(values, new, known.min(axis=1), self.bound)
        inputs = self.inputs(free, new, levels, known, middle, np.asarray(new.any(axis=1)))
        rows = self.clusters(stretch)
        outputs = rejoined(rows, [self.denoiser.network(*apart(inputs, each)) for each in rows])
        return self.estimate(outputs, wanted, nothing, middle, free, levels)

    def parts(self, stretch: Stretch) -> list[Stretch]:
        """The stretch cut where the clusters of its channels are chosen again."""
        wanted, first = stretch.wanted, stretch.first
        if stretch.clusters is not None or len(stretch.values) <= ALL:
            return [stretch]
        number = np.arange(wanted.start, wanted.stop)
        choice = np.array([chosen_at(first + n) for n in number])
        edges = [wanted.start, *number[1:][np.diff(choice) > 0], wanted.stop]
        return [stretch.part(a, b, back=self.look_back, ahead=self.look_ahead) for a, b in pairwise(edges)]

    def clusters(self, stretch: Stretch) -> Clusters:
        """Channels that the network is given together: chosen for the flight, or live from the samples before."""
        if stretch.clusters is not None or len(stretch.values) <= ALL:
            return stretch.clusters or (tuple(range(len(stretch.values))),)
        stop = max(chosen_at(stretch.first + stretch.wanted.start) - stretch.first, 0)
        past = slice(max(stop - RECENT, 0), stop)
        return clusters_of(stretch.values[:, past], stretch.new[:, past], stretch.levels.group[:, past.stop])

    def inputs(
        self, free: LagFree, new: Mask, levels: Levels, known: Floats, middle: Floats, is_observed: Mask
    ) -> list[Floats]:
        """What the network takes, relative to `middle` (channel, 1); `known` are the noise levels without gaps."""
        zero = np.where(is_observed[:, None], levels.zero - middle, 0.0)
        sigma = known * free.gain
        arrays = (free.values - middle, new, sigma, free.lag1, zero, levels.group, free.reading - middle, free.gain,
                  free.tau)  # fmt: skip
        with np.errstate(over="ignore", invalid="ignore"):  # beyond float32: infinite, which the graph masks
            return [np.ascontiguousarray(x[None], dtype=np.float32) for x in arrays]

    def estimate(
        self, outputs: Sequence[Floats], wanted: slice, nothing: Mask, middle: Floats, free: LagFree, levels: Levels
    ) -> Estimate:
        """What the network has returned for the wanted samples, in physical units; `nothing` marks those without."""
        _, moved, spread = (output[0, :, wanted].astype(np.float64) for output in outputs)
        unbounded = np.where(nothing, np.nan, moved + middle)
        reading = 1.0 if self.denoiser.profile == "live" else _CALIBRATED
        calibrated = np.where(free.tau[:, wanted] > 0, _CALIBRATED_AIR, reading)
        spread = np.where(nothing, np.nan, calibrated * spread * levels.doubt[:, wanted])
        return Estimate(np.maximum(unbounded, self.bound[:, None]), unbounded, spread)

    def _at_own_rate(self, values: Floats, new: Mask, levels: Levels) -> tuple[Floats, ...]:
        """Estimate, its random uncertainty, noise-free reading and systematic uncertainty of a whole flight.

        They are found on every k-th sample if no channel has new values in between.

        The network counts in samples: a record on a finer grid, by repetition or with gaps, keeps its estimates.
        """
        at = np.flatnonzero(new.any(axis=0))
        step = int(np.gcd.reduce(np.diff(at))) if len(at) > 1 else 1
        own = slice(int(at[0]) % step if step > 1 else 0, None, step)
        lags = self.denoiser.lags(self.suite.model_copy(update={"rate_hz": self.suite.rate_hz / step}))
        values_own, new_own, levels_own = values[:, own], new[:, own], levels.each(lambda x: x[:, own])
        restarts = lags.restarts(values_own, new_own, levels.sigma.max(axis=1, initial=0.0))
        estimate, spread = self._bridged(values_own, new_own, levels_own, lags, restarts)
        for _ in range(_AREA_PASSES if lags.ambient else 0):
            response = lags.response(estimate, values_own, restarts)
            estimate = with_areas(estimate, response, lags, values_own, new_own, levels_own.sigma)
        found = estimate, spread, *lags.answer(estimate, values_own, restarts)
        if step == 1:
            return found
        last = np.clip((np.arange(values.shape[1]) - own.start) // step, 0, estimate.shape[1] - 1)
        reached = near(new, self.before, self.after)
        return tuple(np.where(reached, x[:, last], np.nan) for x in found)

    def _bridged(
        self, values: Floats, new: Mask, levels: Levels, lags: Lags, restarts: Sequence[Index]
    ) -> tuple[Floats, Floats]:
        """Estimate and uncertainty with gaps filled, within the range of the channel's own samples."""
        free = lags.undo(values, new, levels.lag1, restarts)
        clusters = clusters_of(values, new, levels.group.max(axis=1, initial=0.0))  # constant in a flight
        record = Stretch(values, new, new, levels, np.empty((3, 0)), slice(0), free, clusters=clusters)
        estimate, spread = self._in_pieces(record)
        value, wider = bridged(estimate, spread, new)
        for row, t in np.argwhere((value != estimate) & np.isfinite(value)):
            part = slice(max(t - self.before, 0), t + self.after + 1)
            own, slack = free.values[row, part][new[row, part]], WIDENED * levels.sigma[row, t] * free.gain[row, t]
            value[row, t] = np.clip(value[row, t], own.min() - slack, own.max() + slack)
        return value, wider

    def _in_pieces(self, record: Stretch) -> tuple[Floats, Floats]:
        """Estimate and uncertainty, piece by piece to limit memory."""
        unbounded, spread = np.empty(record.values.shape), np.empty(record.values.shape)
        run = self.run if len(record.values) <= ALL or record.clusters is not None else self.runs()
        size = PIECE // max(map(len, record.clusters or [record.values]))
        for at, part in self.run_record(record, size=size, is_even=True, progress=self.denoiser.progress, run=run):
            unbounded[:, at], spread[:, at] = part.unbounded, part.sigma
        is_long = record.values.shape[1] > size + self.look_back + self.look_ahead
        if is_long and isinstance(self.denoiser.network, WholeNetwork):
            self.denoiser.network.release()
        return unbounded, spread


def adaptive_of(data: bytes, facts: Facts, *, name: str, profile: str = "flight") -> AdaptiveDenoiser:
    """The denoiser in the verified bytes of an ONNX with the inputs above."""
    card = card_of(facts, where=name)
    back, ahead = int(card["look_back"]), int(card["look_ahead"])
    is_live = profile == "live" and ahead < FARTHEST
    network = _stepped(data, name) if is_live else _whole(data, name)
    before, after = int(card["made_from_before"]), int(card["made_from_after"])
    widths = Widths(*(np.array(card["resolution"][key], np.float64) for key in Widths._fields))
    return AdaptiveDenoiser(name, network, back, ahead, before, after, digest(data), profile, widths=widths)


def _stepped(data: bytes, name: str) -> Network:
    try:
        return SteppedNetwork(data, INPUTS, name=name)
    except Malformed:
        return _whole(data, name)  # a graph of another form: a stream runs its look-back


def _whole(data: bytes, name: str) -> Network:
    return WholeNetwork(open_session(data, name=name))


class WholeNetwork:
    """A network that is run on whole stretches."""

    def __init__(self, session: Any) -> None:
        self.session = session

    def __call__(self, *arrays: Floats) -> tuple[Floats, ...]:
        """What the network returns for its inputs, (batch, channel, time) each."""
        return tuple(self.session.run(None, dict(zip(INPUTS, arrays, strict=True))))

    def release(self) -> None:
        """Give back the memory of the largest run; onnxruntime does so at the end of a run, here of one sample."""
        from onnxruntime import RunOptions

        options = RunOptions()
        options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        self.session.run(None, dict.fromkeys(INPUTS, np.ones((1, 1, 1), np.float32)), options)
