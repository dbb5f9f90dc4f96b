"""Many flights at once, each message used exactly once: what `pc2dae stream` does between its input and its output."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from pc2dae.edge.engines import Engine
from pc2dae.edge.messages import Ack, BadMessage, Health, Problem, Sample, parse_sample, stamp
from pc2dae.edge.outbox import FullError, Outbox, Progress
from pc2dae.edge.stream import Ready, StreamingDenoiser
from pc2dae.emit import Array

SNAPSHOT = 300  # messages of a flight between two snapshots
OPEN = 256  # flights held in memory; others are read back when they speak again
HELD = 4096  # messages of a flight that may wait for one before them
SKIPPED = 1024  # messages given up that are still welcome


@dataclass
class Open:
    """A flight in memory."""

    stream: StreamingDenoiser
    progress: Progress
    since: int = 0  # messages since the last snapshot
    waits_from: float | None = None  # since when a message is missing


@dataclass
class Answer:
    """What a tick has to tell the senders."""

    acks: list[Ack] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    is_taken: bool = True  # False: the outbox or disk is full, nothing was taken, send it again


class Gateway:
    """Samples of any number of flights in, estimates in the outbox, everything that matters on disk at every tick.

    A message is known by (flight, seq). One that came before is counted and left; one that came too early waits for
    those before it, `patience_s` at most. When the outbox holds `limit` estimates nothing more is taken: what was
    acknowledged is never dropped.
    """

    def __init__(
        self,
        engine: Engine,
        outbox: Outbox,
        *,
        patience_s: float = 30.0,
        limit: int = 200_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.engine, self.outbox, self.patience_s, self.limit, self.clock = engine, outbox, patience_s, limit, clock
        self.open: OrderedDict[str, Open] = OrderedDict()
        self.health = Health(outbox=outbox.count())
        self.names = engine.suite.names
        for flight in outbox.waiting():
            self._flight(flight)

    def take(self, payloads: Iterable[bytes]) -> Answer:
        """One tick: use the messages in their order; afterwards they and their estimates are on disk."""
        answer, touched = Answer(), OrderedDict[str, list[Sample]]()
        counted = self.health.model_copy()
        try:
            with self.outbox.tick():
                if self.outbox.count() >= self.limit:
                    raise FullError(f"{self.limit:,} estimates wait for the consumer")
                for payload in payloads:
                    self._receive(payload, touched, answer)
                for flight in self._overdue():
                    self._give_up(flight, touched)
                for flight, samples in touched.items():
                    self._advance(flight, samples, answer)
        except BaseException as error:
            for flight in touched:  # memory goes back to what the disk says
                self.open.pop(flight, None)
            self.health = counted
            if not isinstance(error, FullError):
                raise
            self.health.is_full = True
            return Answer(problems=[Problem(error=f"nothing is taken: {error}")], is_taken=False)
        self.health.is_full = False
        self.health.outbox = self.outbox.count()
        quiet = [name for name, flight in self.open.items() if flight.waits_from is None]
        for name in quiet[: max(len(self.open) - OPEN, 0)]:
            del self.open[name]
        return answer

    def delivered(self, numbers: Iterable[int] = (), confirmed: Mapping[str, int] | None = None) -> None:
        """Letters that arrived, by number, and up to which seq the consumer holds each flight."""
        with self.outbox.tick():
            self.outbox.delivered(list(numbers))
            for flight, seq in (confirmed or {}).items():
                self.outbox.confirmed(flight, seq)
        self.health.outbox = self.outbox.count()

    def acks(self) -> list[Ack]:
        """How far every flight in memory is."""
        return [Ack(flight=name, seq=flight.progress.seq) for name, flight in self.open.items()]

    def reconnected(self) -> None:
        """The line was down: patience begins anew."""
        for flight in self.open.values():
            flight.waits_from = None if flight.waits_from is None else self.clock()

    @property
    def is_waiting(self) -> bool:
        """Whether some flight waits for a message."""
        return any(flight.waits_from is not None for flight in self.open.values())

    def finish(self) -> None:
        """End every flight, as at the end of standard input."""
        with self.outbox.tick():
            for name, flight in self.open.items():
                if not flight.progress.is_ended:
                    self._post(name, flight, flight.stream.flush())
                    flight.progress.is_ended = True
                    self.outbox.set_progress(name, flight.progress)

    # ── one message ──

    def _receive(self, payload: bytes, touched: dict[str, list[Sample]], answer: Answer) -> None:
        try:
            sample: Sample | None = parse_sample(payload)
            flight, seq = sample.flight, sample.seq  # type: ignore[union-attr]
        except BadMessage as bad:
            self.health.refused += 1
            answer.problems.append(Problem(flight=bad.flight, seq=bad.seq, error=str(bad)))
            if bad.flight is None or bad.seq is None:
                return
            sample, flight, seq = None, bad.flight, bad.seq
        place = self._flight(flight)
        progress = place.progress
        queue = touched.setdefault(flight, [])
        if seq <= progress.seq and seq not in progress.skipped:
            self.health.duplicates += 1
            self._check_twice(sample, place, answer)
        elif progress.is_ended:
            self.health.refused += 1
            answer.problems.append(Problem(flight=flight, seq=seq, error="the flight has ended; name the next one"))
        elif seq > progress.seq + 1:
            if self.patience_s <= 0:
                self._skip(progress, seq)
                self._use(flight, place, sample, seq, payload, queue)
            elif self.outbox.waiting().get(flight, 0) < HELD:
                self.outbox.hold(flight, seq, payload)
                place.waits_from = self.clock() if place.waits_from is None else place.waits_from
        else:
            self._use(flight, place, sample, seq, payload, queue)
            if place.waits_from is not None:
                self._use_held(flight, place, queue)

    def _use(
        self, flight: str, place: Open, sample: Sample | None, seq: int, payload: bytes, queue: list[Sample]
    ) -> None:
        """A message whose turn it is; one that is no sample leaves its second missing."""
        if seq in place.progress.skipped:
            place.progress.skipped.remove(seq)
        place.progress.seq = max(place.progress.seq, seq)
        if sample is None:
            return
        self.health.samples += 1
        queue.append(sample)
        self.outbox.write_journal(flight, payload)

    def _use_held(self, flight: str, place: Open, queue: list[Sample]) -> None:
        """The messages that waited and whose turn has come."""
        place.waits_from = None
        for seq, payload in self.outbox.held(flight):
            if seq > place.progress.seq + 1:
                place.waits_from = self.clock()
                return
            self.outbox.release(flight, seq)
            if seq > place.progress.seq or seq in place.progress.skipped:
                try:
                    sample = parse_sample(payload)
                except BadMessage:  # reported when it came
                    sample = None
                self._use(flight, place, sample, seq, payload, queue)

    def _overdue(self) -> list[str]:
        now = self.clock()
        return [
            name for name, f in self.open.items() if f.waits_from is not None and now - f.waits_from > self.patience_s
        ]

    def _give_up(self, flight: str, touched: dict[str, list[Sample]]) -> None:
        """Messages that never came are missing; the stream goes on with those that wait."""
        place = self._flight(flight)
        waiting = self.outbox.held(flight)
        if waiting:
            self._skip(place.progress, waiting[0][0])
        self._use_held(flight, place, touched.setdefault(flight, []))

    def _skip(self, progress: Progress, seq: int) -> None:
        """All before `seq` were never sent, or will come late."""
        self.health.skipped += seq - progress.seq - 1
        gone = range(max(progress.seq + 1, seq - SKIPPED), seq)
        progress.skipped = [*progress.skipped, *gone][-SKIPPED:]
        progress.seq = seq - 1

    def _check_twice(self, sample: Sample | None, place: Open, answer: Answer) -> None:
        """A number used again for a newer time is a logger that began anew under an old name."""
        stream = place.stream
        if sample is None or place.progress.is_ended or stream.suspect is not None:
            return
        if sample.microseconds > stream.last_microseconds + 1_000_000:
            answer.problems.append(Problem(flight=sample.flight, seq=sample.seq, error="this seq was taken before; "
                                           "a logger that starts anew needs a new flight name"))  # fmt: skip

    # ── one flight ──

    def _flight(self, name: str) -> Open:
        """A flight in memory, read back from disk where it is not."""
        if name not in self.open:
            stream, (state, since) = StreamingDenoiser(self.engine), self.outbox.snapshot(name)
            if state is not None:
                stream.restore(state)
            stream.follow(parse_sample(payload) for payload in since)
            stream.problems.clear()
            waits_from = self.clock() if self.outbox.held(name) else None
            self.open[name] = Open(stream, self.outbox.progress(name), len(since), waits_from)
        self.open.move_to_end(name)
        return self.open[name]

    def _advance(self, name: str, samples: list[Sample], answer: Answer) -> None:
        """Feed a flight what came for it, post what is ready, remember all of it."""
        place = self.open[name]
        stream, progress = place.stream, place.progress
        late, refused = stream.late, stream.refused
        self._post(name, place, stream.feed(samples))
        self.health.late += stream.late - late
        self.health.refused += stream.refused - refused
        if any(sample.end for sample in samples):
            self._post(name, place, stream.flush())
            progress.is_ended = True
        answer.problems += stream.problems
        stream.problems.clear()
        self.outbox.set_progress(name, progress)
        place.since += len(samples)
        if progress.is_ended or place.since >= SNAPSHOT:
            self.outbox.set_snapshot(name, None if progress.is_ended else stream.state())
            place.since = 0
        answer.acks.append(Ack(flight=name, seq=progress.seq))

    def _post(self, name: str, place: Open, ready: list[Ready]) -> None:
        letters = [(r.index, self._clean(name, place.stream, r)) for r in ready]
        self.outbox.post(name, letters)
        place.progress.given += len(letters)
        self.health.estimates += len(letters)

    def _clean(self, flight: str, stream: StreamingDenoiser, ready: Ready) -> bytes:
        """A `Clean` message; written by hand because it is the one thing done for every sample."""
        message = {
            "flight": flight,
            "seq": ready.index,
            "time": stamp(ready.microseconds),
            "estimate": self._numbers(ready.value),
            "unbounded": self._numbers(ready.unbounded),
            "uncertainty": {} if ready.sigma is None else self._numbers(ready.sigma),
            "qc": dict(zip(self.names, ready.bits.tolist(), strict=True)),
            "latency_s": stream.latency_s,
        }
        return json.dumps(message, separators=(",", ":"), allow_nan=False).encode()

    def _numbers(self, row: Array) -> dict[str, float | None]:
        """By channel, to seven digits: more than float32 holds would be invented."""
        numbers = [float(f"{x:.7g}") if np.isfinite(x) else None for x in row.tolist()]
        return dict(zip(self.names, numbers, strict=True))
