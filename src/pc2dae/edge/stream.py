"""Live denoising: feed any number of samples, get the estimates that are ready, with a fixed latency.

The estimates equal those of `pc2dae denoise --profile live` to 1e-5 of a channel's scale, however the samples are
chunked. Each sample belongs to a second of a grid that starts with the first one (`StreamClock` finds it even if time
stamps are wrong). A second without a sample is missing; a late sample is used as long as the estimates of its second
have not been returned, and refused, counted and reported afterwards.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Bits, Floats, Mask
from pc2dae.denoiser import Estimate
from pc2dae.edge import levels
from pc2dae.edge.checks import LiveChecks
from pc2dae.edge.clock import Placement, StreamClock
from pc2dae.edge.engine import Engine
from pc2dae.edge.lag import LiveResponse, within
from pc2dae.edge.limits import LowerLimits
from pc2dae.edge.messages import MessageProblem, Motion, Sample, Wind, stamp
from pc2dae.edge.ndir import LiveNdir
from pc2dae.edge.readings import Readings
from pc2dae.edge.ready import Ready
from pc2dae.edge.ring import Ring
from pc2dae.errors import ModelError, nearest
from pc2dae.flags import BELOW_BOUND, MISSING, NOT_MEASURED, RAISED, SATURATED
from pc2dae.sentinels import Extent
from pc2dae.suite import ENVIRONMENT

_PENDING = 256  # estimates per run if many samples arrive at once
_REPORTS = 20  # problems kept until they are collected
_RECENT = 1024  # samples whose number and time are kept to recognise duplicates


class StreamingDenoiser:
    """The stream of one flight through a network, in constant memory."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.suite = engine, engine.suite
        self.bound, self.prior, self.high = engine.bound, engine.prior, engine.high
        self.payload = engine.suite if engine.calibration is None else engine.calibration.readings
        self.place = {name: row for row, name in enumerate(self.payload.names)}
        self.rows = [self.place[name] for name in engine.suite.names]  # of the readings that are estimated
        self.reset()

    def reset(self) -> None:
        """Start a new flight."""
        behind = max(self.engine.look_back, levels.WINDOW)
        keep = behind + self.engine.look_ahead + self.engine.hop + _PENDING
        self.ring = Ring(len(self.suite.names), keep)
        self.readings = (
            None if self.engine.calibration is None else Readings(self.engine, self.engine.calibration, keep)
        )
        self.checks, self.ndir = LiveChecks(self.payload), LiveNdir(self.payload)
        self.response = LiveResponse(self.engine.lags)
        self.runs = self.engine.runs()
        nothing = np.zeros((len(self.prior), 0))
        self.level = levels.before(nothing, nothing > 0, self.bound, self.prior, number=0)  # current
        self.clock = StreamClock(self.suite.rate_hz, self.engine.look_ahead)
        self.recent: dict[tuple[int, int], None] = {}  # number and time of the last samples, oldest first
        self.given = 0  # columns whose estimates were returned
        self.late = 0  # samples refused because they arrived too late
        self.refused: list[tuple[Sample, str]] = []  # since the last call of `feed`, with the reason
        self.problems: list[MessageProblem] = []
        self._named: set[str] = set()  # problems that are reported once

    @property
    def grid(self) -> tuple[int, int]:
        """Columns so far, and the time of the last one [microseconds since 1970]."""
        return self.ring.stop, self.clock.time(self.ring.stop - 1) if self.ring.stop else 0

    def feed(self, samples: Iterable[Sample], *, arrived: float | None = None) -> list[Ready]:
        """Take samples, return the estimates that are ready; arrival times [s] help to detect a stopped clock."""
        self.refused = []
        out: list[Ready] = []
        for sample in samples:
            self._take(sample, arrived, out)
        out += self._run(self._ready())
        return out

    def follow(self, samples: Iterable[tuple[Sample, float | None]]) -> None:
        """Take samples, with their time of arrival, whose estimates were returned before."""
        for sample, arrived in samples:
            self._take(sample, arrived, None)
        self._settle(None)
        self.refused = []

    def flush(self) -> list[Ready]:
        """End the flight: return the remaining estimates and start a new flight."""
        out: list[Ready] = []
        for placed in self.clock.flush():
            self._put(placed, out)
        out += self._run(self.ring.stop)
        problems, refused, late = self.problems, self.refused, self.late
        self.reset()
        self.problems, self.refused, self.late = problems, refused, late
        return out

    def note(self, sample: Sample) -> None:
        """Keep number and time of a sample, to recognise duplicates."""
        self.recent[sample.seq, sample.microseconds] = None
        if len(self.recent) > _RECENT:
            del self.recent[next(iter(self.recent))]

    def begin_at(self, given: int, clock: StreamClock) -> None:
        """Start at column `given` with a set clock and no earlier observations."""
        self.reset()
        self.given, self.clock = given, clock
        for ring in self._rings():
            ring.first = ring.stop = max(given - max(self.engine.look_back, levels.WINDOW), 0)
        while self.ring.stop < given:
            self._push(*self._nothing(), None)

    def state(self) -> bytes:
        """The complete state, as bytes for `restore`."""
        ring = self.ring
        header = {
            "identity": self.engine.identity, "channels": list(self.suite.names), "first": ring.first,
            "stop": ring.stop, "given": self.given, "late": self.late, "clock": self.clock.state(),
            "recent": list(self.recent),
        }  # fmt: skip
        arrays = {name: array[:, : ring.stop - ring.first] for name, array in self._arrays().items()}
        buffer = io.BytesIO()
        level = np.stack([getattr(self.level, field.name) for field in fields(levels.Levels)])
        ordinary = np.stack([getattr(self.checks.ordinary, field.name) for field in fields(Extent)])
        np.savez(
            buffer, allow_pickle=False, about=np.array(json.dumps(header)), level=level, ordinary=ordinary,
            response=self.response.state, ndir=self.ndir.state, **arrays,
        )  # fmt: skip
        return buffer.getvalue()

    def restore(self, state: bytes) -> None:
        """Continue from `state`; one of another model or suite is refused."""
        with np.load(io.BytesIO(state), allow_pickle=False) as saved:
            header = json.loads(str(saved["about"]))
            if header["identity"] != self.engine.identity or header["channels"] != list(self.suite.names):
                raise ModelError("the saved state belongs to another model or suite",
                                 hint="finish its flights with that model, or name another --state")  # fmt: skip
            self.reset()
            for ring in self._rings():
                ring.first, ring.stop = header["first"], header["stop"]
            self.given, self.late = header["given"], header["late"]
            self.clock.restore(header["clock"])
            self.recent = dict.fromkeys((seq, time) for seq, time in header["recent"])
            self.level = levels.Levels(*saved["level"])
            self.response.state[:] = saved["response"]
            self.ndir.state = saved["ndir"]
            low, high, count, is_whole = saved["ordinary"]
            self.checks.ordinary = Extent(low, high, count.astype(np.int64), is_whole > 0)
            for name, array in self._arrays().items():
                array[:, : saved[name].shape[1]] = saved[name]

    def _rings(self) -> list[Ring]:
        return [self.ring] if self.readings is None else [self.ring, self.readings]

    def _arrays(self) -> dict[str, Floats]:
        return {name: array for ring in self._rings() for name, array in ring.arrays.items()}

    # ── samples in ──

    def _take(self, sample: Sample, arrived: float | None, out: list[Ready] | None) -> None:
        """Put a sample into its second; `out` receives estimates that must be computed before the record changes."""
        self.note(sample)
        for placed in self.clock.take(sample, arrived):
            self._put(placed, out)
        for noted, note in self.clock.notes:
            self._report(noted, note)
        self.clock.notes.clear()

    def _put(self, placed: Placement, out: list[Ready] | None) -> None:
        ring, sample, slot = self.ring, placed.sample, placed.slot
        if placed.refusal:
            self._refuse(sample, placed.refusal)
            return
        values, bits, environment = self._columns(sample, self.readings or ring, slot)
        if slot < ring.stop:
            self._settle(out)
            if slot < self.given:
                self.late += 1
                behind = (ring.stop - 1 - slot) / self.suite.rate_hz
                self._refuse(sample, f"{behind:,.0f} s late: the estimates of its second were sent")
            else:
                self._merge(slot - ring.first, values, bits, environment)
            return
        while ring.stop < slot:
            self._push(*self._nothing(), out)
        self._push(values, bits, environment, out)

    def _nothing(self) -> tuple[Floats, Bits, Floats]:
        """Values, flags and environment of a missing second."""
        rows = len(self.place)
        return np.full(rows, np.nan), np.full(rows, MISSING, np.int32), np.full(3, np.nan)

    def _columns(self, sample: Sample, ring: Ring, slot: int) -> tuple[Floats, Bits, Floats]:
        """Values, flags (channel) and environment (3) of a sample; one with flags was corrected by its sender."""
        values = np.full(len(self.place), np.nan)
        for name, value in sample.values.items():
            if name in self.engine.ignored:
                continue
            if name not in self.place:
                self._once(sample, f"unknown channel '{name}'; {nearest(name, self.place)}")
            elif value is not None:
                values[self.place[name]] = value
        unknown = [name for part in (sample, sample.motion, sample.wind) if part for name in part.model_extra or {}]
        for name in (*unknown, *(n for n in sample.environment if n not in ENVIRONMENT)):
            keys = [*Sample.model_fields, *ENVIRONMENT, *Motion.model_fields, *Wind.model_fields]
            self._once(sample, f"unknown key '{name}'; {nearest(name, keys)}")
        for reason in sample.ignored:
            self._once(sample, reason)
        environment = np.array([_number(sample.environment.get(name)) for name in ENVIRONMENT])
        if sample.qc is None:
            last = ring.values[:, ring.stop - 1 - ring.first] if ring.stop else np.full(len(values), np.nan)
            bits = self.checks(values, self.ndir.uncorrected(last, ring.stop - 1))
            readings = np.where(bits & MISSING, np.nan, values)
            values, bits = self.ndir(readings, bits, environment, slot)
            for row in np.flatnonzero(np.isnan(values) & np.isfinite(readings)):
                what = f"{self.payload.names[row]} is missing until a message has air_pressure, for its correction"
                self._once(sample, what)
            return values, bits | self.checks.limits(values), environment
        bits = np.array([sample.qc.get(name, 0) for name in self.place], np.int32)
        return values, np.where(np.isfinite(values), bits, bits | MISSING).astype(np.int32), environment

    def _push(self, values: Floats, bits: Bits, environment: Floats, out: list[Ready] | None) -> None:
        """Append a column, with the noise level of the last 300 s as in `denoise --profile live`."""
        ring, number = self.ring, self.ring.stop
        if self._ready() - self.given >= _PENDING:
            self._settle(out)
        at = ring.push()
        if self.readings is not None:
            self.readings.put(self.readings.push(), values, bits, environment)
            values, bits = self._calibrated(self.readings, at)
        ring.put(at, values, bits, environment)
        if not self.engine.needs_noise:
            return
        if levels.is_due(number):
            past = slice(at - min(number, levels.WINDOW), at)
            values, exact = self._in_range(past)
            self.level = levels.before(values, exact, self.bound, self.prior, number=number)
        values, exact = self._in_range(ring.past(levels.WINDOW))
        levels.put(ring.levels, at, self.level, values, exact, self.bound)
        pair = slice(max(at - 1, 0), at + 1)
        now = ring.levels.each(lambda x: x[:, pair])
        ring.new[:, at] = levels.fresh(ring.values[:, pair], ring.seen[:, pair], now)[:, -1]

    def _in_range(self, at: slice) -> tuple[Floats, Mask]:
        """Values of columns, and which of them are observations within the range of their sensor."""
        values = self.ring.values[:, at]
        return values, levels.in_range(values, self.ring.seen[:, at], self.high)

    def _merge(self, at: int, values: Floats, bits: Bits, environment: Floats) -> None:
        """Average a sample into its second, or fill that second; later ones depend on it if they are calibrated."""
        ring, readings = self.ring, self.readings
        self.runs.forget(at + ring.first)
        if readings is None:
            ring.merge(at, values, bits, environment)
            return
        readings.merge(at, values, bits, environment)
        fresh = np.isfinite(values) & (bits & NOT_MEASURED == 0)
        for column in range(at, ring.stop - ring.first):
            before = ring.seen[:, column].copy()
            ring.put(column, *self._calibrated(readings, column), readings.environment[:, column])
            ring.new[:, column] |= (ring.seen[:, column] & ~before) | (fresh[self.rows] if column == at else False)

    def _calibrated(self, readings: Readings, at: int) -> tuple[Floats, Bits]:
        """Concentrations and flags of the channels that are estimated."""
        values, bits = readings.calibrated(at, self.clock.time(at + readings.first))
        return values[self.rows], bits[self.rows]

    # ── estimates out ──

    def _ready(self) -> int:
        """Number of columns whose estimates no later sample can change."""
        engine = self.engine
        return max(engine.hop * ((self.ring.stop - engine.look_ahead) // engine.hop), self.given)

    def _settle(self, out: list[Ready] | None) -> None:
        """Compute what is ready; what was returned before is computed again only if later readings depend on it."""
        if out is not None:
            out += self._run(self._ready())
        elif not self.engine.lags.is_certain or self.readings is not None:
            self._run(self._ready())
        else:
            self.given = self._ready()

    def _run(self, stop: int) -> list[Ready]:
        """Estimates of the columns from `given` to `stop`."""
        engine, start, ring = self.engine, self.given, self.ring
        if stop <= start:
            return []
        estimate = self.runs(ring.stretch(start, stop, back=engine.look_back, ahead=engine.look_ahead))
        response, systematic, coming = self._response(estimate.unbounded, start, stop)
        sigma = None if estimate.sigma is None else np.hypot(estimate.sigma, systematic)
        estimate = Estimate(np.maximum(estimate.value, self.bound[:, None]), estimate.unbounded, sigma)
        if (ring.bits[:, : ring.stop - ring.first] & SATURATED).any():
            limits, early = self._limits(start, stop, whole=0), self._limits(start, stop, whole=engine.lags.whole)
            response += limits.lift(response)
            estimate = early.raised(estimate, np.where(np.isfinite(coming), coming, estimate.unbounded))
        value, sigma = estimate.value, estimate.sigma
        if sigma is not None and self.readings is not None:
            known = [self.readings.uncertainty(n - ring.first, self.clock.time(n), column)
                     for n, column in enumerate(value.T, start)]  # fmt: skip
            sigma = np.hypot(sigma, np.stack(known, axis=1))
        self.given = stop
        bits = ring.bits[:, start - ring.first : stop - ring.first].copy()
        doubt = ring.levels.sigma[:, start - ring.first : stop - ring.first] if sigma is None else sigma
        bits[value - estimate.unbounded > RAISED * doubt] |= BELOW_BOUND
        ready = [
            Ready(
                n, self.clock.time(n), value[:, n - start], estimate.unbounded[:, n - start],
                None if sigma is None else sigma[:, n - start], bits[:, n - start].copy(),
                response[:, n - start],
            )
            for n in range(start, stop)
        ]  # fmt: skip
        self.clock.forget(stop)
        return ready

    def _limits(self, start: int, stop: int, *, whole: NDArray[np.intp] | int) -> LowerLimits:
        """Lower limits among the readings `whole` samples after the columns from `start` to `stop`."""
        ring = self.ring
        at = np.arange(start, stop) + np.broadcast_to(whole, len(self.bound))[:, None]
        inside = (at >= ring.first) & (at < ring.stop)
        cell = np.arange(len(at))[:, None], np.where(inside, at - ring.first, 0)
        is_limit = inside & ring.seen[cell] & (ring.bits[cell] & SATURATED != 0)
        return LowerLimits.of(self.suite, ring.values[cell], is_limit)

    def _response(self, air: Floats, start: int, stop: int) -> tuple[Floats, Floats, Floats]:
        """Noise-free readings, systematic uncertainties and readings to come of the columns from `start` to `stop`."""
        response, systematic, coming = self.response(air)
        ring, engine = self.ring, self.engine
        at = slice(max(start + 1 - engine.before, ring.first) - ring.first, stop - ring.first)
        sigma = ring.levels.sigma[:, start - ring.first : stop - ring.first]
        return within(response, ring.values[:, at], ring.new[:, at], sigma, engine.before), systematic, coming

    # ── reports ──

    def _refuse(self, sample: Sample, why: str) -> None:
        why = f"{stamp(sample.microseconds)}: {why}"
        self.refused.append((sample, why))
        self._report(sample, why)

    def _report(self, sample: Sample, text: str) -> None:
        self.problems.append(MessageProblem(flight=sample.flight, seq=sample.seq, error=text))
        del self.problems[:-_REPORTS]

    def _once(self, sample: Sample, text: str) -> None:
        if text not in self._named and len(self._named) < _REPORTS:
            self._named.add(text)
            self._report(sample, text)


def _number(value: float | None) -> float:
    return np.nan if value is None else value
