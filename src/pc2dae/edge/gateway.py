"""Many flights at once, each message used exactly once: what `pc2dae stream` does between its input and its output."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

import numpy as np

from pc2dae.arrays import Floats
from pc2dae.edge.clock import NUMBERS, StreamClock
from pc2dae.edge.engine import Engine
from pc2dae.edge.messages import Ack, BadMessage, Health, Problem, Sample, parse_sample, stamp
from pc2dae.edge.outbox import FullError, Letter, Outbox, Progress, Stored
from pc2dae.edge.quarantine import Quarantine, Refused
from pc2dae.edge.stream import Ready, StreamingDenoiser
from pc2dae.flags import MISSING

SNAPSHOT = 300  # messages of a flight between two snapshots
OPEN = 256  # flights held in memory; others are read back when they speak again
HELD = 4096  # messages of a flight that may wait for one before them
SKIPPED = NUMBERS  # messages given up that are still welcome; a number further ahead must be confirmed by the next
_ODD = 16  # numbers ahead that confirm one that did not follow


@dataclass
class Open:
    """A flight in memory."""

    stream: StreamingDenoiser
    progress: Progress
    topic: str  # and flight, as its sender names it
    flight: str
    waits_from: float | None = None  # since when a message is missing


@dataclass
class Answer:
    """What a tick has to tell the senders."""

    acks: list[Ack] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    is_taken: bool = True  # False: the outbox or disk is full, nothing was taken, send it again
    refused: list[Refused] = field(default_factory=list)


class Gateway:
    """Samples of any number of flights in, estimates in the outbox, everything that matters on disk at every tick.

    A flight is known by its topic and name, a message of it by its number, and where numbers start again, by its stamp
    too. One that came before is counted and left; one that came too early waits for those before it, `patience_s` at
    most. What cannot be used is in the quarantine file when `take` returns. When the outbox holds `limit` estimates
    nothing more is taken: what was acknowledged is never dropped.
    """

    def __init__(
        self,
        engine: Engine,
        outbox: Outbox,
        *,
        quarantine: Quarantine | None = None,
        patience_s: float = 30.0,
        limit: int = 200_000,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.engine, self.outbox, self.quarantine = engine, outbox, quarantine
        self.patience_s, self.limit, self.clock, self.now = patience_s, limit, clock, now
        self.open: OrderedDict[str, Open] = OrderedDict()
        self.health = Health(quarantine=None if quarantine is None else str(quarantine.path.resolve()))
        self.names = engine.suite.names
        self.arrived = now()  # of the messages of this tick
        for name in outbox.waiting():
            self._flight(name)
        self._count()

    def take(self, payloads: Iterable[bytes], *, topics: Iterable[str] = repeat("")) -> Answer:
        """One tick: use the messages in their order; afterwards they and their estimates are on disk."""
        answer, touched = Answer(), OrderedDict[str, list[Sample]]()
        counted = self.health.model_copy()
        self.arrived = self.now()
        is_written = False
        try:
            with self.outbox.tick():
                if self.outbox.count() >= self.limit:
                    raise FullError(f"{self.limit:,} estimates wait for the consumer")
                for payload, topic in zip(payloads, topics, strict=False):
                    self._receive(payload, topic, touched, answer)
                for name in self._overdue():
                    self._give_up(name, touched)
                for name, samples in touched.items():
                    self._advance(name, samples, answer)
                is_written = self._write_refused(answer.refused)
        except BaseException as error:
            for name in touched:  # memory goes back to what the disk says
                self.open.pop(name, None)
            if is_written and self.quarantine is not None:
                self.quarantine.undo()
            self.health = counted
            if not isinstance(error, FullError):
                raise
            self.health.is_full = True
            return Answer(problems=[Problem(error=f"nothing is taken: {error}")], is_taken=False)
        self.health.is_full = False
        self._count()
        quiet = [name for name, flight in self.open.items() if flight.waits_from is None]
        for name in quiet[: max(len(self.open) - OPEN, 0)]:
            del self.open[name]
        return answer

    def letters(self, after: int, limit: int) -> list[Letter]:
        """The oldest estimates with a number above `after`; a damaged one is replaced by one that says nothing."""
        found = self.outbox.letters(after, limit)
        damaged = [letter for letter in found if letter.is_damaged]
        if not damaged:
            return found
        with self.outbox.tick():
            for letter in damaged:
                self.outbox.replace(letter, self._unknown(letter))
        self._count()
        return self.outbox.letters(after, limit)

    def drain(self) -> list[bytes]:
        """The payloads of all estimates, which are delivered with that."""
        letters = self.letters(0, -1)
        self.delivered(letter.n for letter in letters)
        return [letter.payload for letter in letters]

    def delivered(self, numbers: Iterable[int] = (), confirmed: Mapping[str, int] | None = None) -> None:
        """Letters that arrived, by number, and up to which seq the consumer holds each flight."""
        with self.outbox.tick():
            self.outbox.delivered(list(numbers))
            for flight, seq in (confirmed or {}).items():
                self.outbox.confirmed(flight, seq)
        self._count()

    def acks(self) -> list[Ack]:
        """How far every flight in memory is."""
        return [_ack(flight) for flight in self.open.values()]

    def reconnected(self) -> None:
        """The line was down: patience begins anew."""
        for flight in self.open.values():
            flight.waits_from = None if flight.waits_from is None else self.clock()

    @property
    def is_waiting(self) -> bool:
        """Whether some flight waits for a message."""
        return any(flight.waits_from is not None for flight in self.open.values())

    def finish(self) -> Answer:
        """End every flight, as at the end of standard input."""
        answer = Answer()
        self.arrived = self.now()
        with self.outbox.tick():
            for name, flight in self.open.items():
                if not flight.progress.is_ended:
                    late = flight.stream.late
                    self._post(name, flight, flight.stream.flush())
                    self._collect(flight, late, answer)
                    flight.progress.is_ended = True
                    self.outbox.set_progress(name, flight.progress)
            self._write_refused(answer.refused)
        self._count()
        return answer

    # ── one message ──

    def _receive(self, payload: bytes, topic: str, touched: dict[str, list[Sample]], answer: Answer) -> None:
        try:
            sample: Sample | None = parse_sample(payload)
            flight, seq = sample.flight, sample.seq  # type: ignore[union-attr]
        except BadMessage as bad:
            self._refuse(answer, Refused(str(bad), payload, topic, bad.flight, bad.seq))
            if bad.flight is None or bad.seq is None:
                return
            sample, flight, seq = None, bad.flight, bad.seq
        name = self.outbox.name(topic, flight)
        queue = touched.setdefault(name, [])
        place = self._flight(name)
        progress = place.progress
        is_odd = seq > progress.seq + 1 + SKIPPED or (seq <= progress.seq and seq not in progress.skipped)
        if sample is None and is_odd:
            return
        if sample is not None and _is_known(sample, place, is_odd=is_odd):
            self.health.duplicates += 1
        elif progress.is_ended:
            error = "the flight has ended; name the next one"
            self._refuse(answer, Refused(error, payload, topic, flight, seq))
        elif is_odd and sample is not None:
            self._use_odd(name, place, sample, queue, answer)
        elif seq > progress.seq + 1 and self.patience_s > 0:
            self._hold(name, place, seq, payload, queue, answer)
        else:
            if seq > progress.seq + 1:
                self._skip(progress, seq)
            self._use(name, place, sample, seq, queue)
            if place.waits_from is not None:
                self._use_held(name, place, queue)

    def _hold(self, name: str, place: Open, seq: int, payload: bytes, queue: list[Sample], answer: Answer) -> None:
        """A message that came too early."""
        if self.outbox.waiting().get(name, 0) >= HELD:
            self._skip_to_held(name, place, queue)
        if not self.outbox.hold(name, seq, payload):
            error = "another message with this seq waits for those before it"
            self._refuse(answer, Refused(error, payload, place.topic, place.flight, seq))
        place.waits_from = self.clock() if place.waits_from is None else place.waits_from

    def _use_odd(self, name: str, place: Open, sample: Sample, queue: list[Sample], answer: Answer) -> None:
        """A new sample whose number is far ahead or was used before: its stamp decides, the next one about numbers."""
        progress, seq, first = place.progress, sample.seq, place.progress.odd
        if first is None or not first < seq <= first + _ODD:
            progress.odd = seq
            said = f"seq {seq} after {progress.seq}: the sample is placed by its time"
        else:
            while self.outbox.held(name):
                self._skip_to_held(name, place, queue)
            said = f"sequence numbers go on with {first} after {progress.seq}"
            self.health.skipped += seq - first - 1 + max(first - progress.seq - 1, 0)
            missing = range(max(progress.seq + 1, first - SKIPPED) if first > progress.seq else first + 1, seq)
            progress.skipped = [n for n in missing if n != first]
            progress.seq, progress.odd = seq, None
        answer.problems.append(Problem(flight=sample.flight, seq=seq, error=said))
        self._write(name, place, sample, queue)

    def _use(self, name: str, place: Open, sample: Sample | None, seq: int, queue: list[Sample]) -> None:
        """A message whose turn it is; one that is no sample leaves its second missing."""
        progress = place.progress
        if seq in progress.skipped:
            progress.skipped.remove(seq)
        else:
            progress.odd = None
        progress.seq = max(progress.seq, seq)
        if sample is not None:
            self._write(name, place, sample, queue)

    def _write(self, name: str, place: Open, sample: Sample, queue: list[Sample]) -> None:
        """Take a sample and remember it."""
        self.health.samples += 1
        queue.append(sample)
        place.stream.note(sample)
        progress, time = place.progress, sample.microseconds
        progress.earliest = time if progress.earliest is None else min(progress.earliest, time)
        progress.latest = time if progress.latest is None else max(progress.latest, time)
        progress.since += 1
        self.outbox.write_journal(name, sample.original, self.arrived)

    def _use_held(self, name: str, place: Open, queue: list[Sample]) -> None:
        """The messages that waited and whose turn has come."""
        place.waits_from = None
        for seq, payload in self.outbox.held(name):
            if seq > place.progress.seq + 1:
                place.waits_from = self.clock()
                return
            self.outbox.release(name, seq)
            if seq > place.progress.seq or seq in place.progress.skipped:
                try:
                    sample = parse_sample(payload)
                except BadMessage:  # reported when it came
                    sample = None
                self._use(name, place, sample, seq, queue)

    def _overdue(self) -> list[str]:
        now = self.clock()
        return [
            name for name, f in self.open.items() if f.waits_from is not None and now - f.waits_from > self.patience_s
        ]

    def _give_up(self, name: str, touched: dict[str, list[Sample]]) -> None:
        """Messages that never came are missing; the stream goes on with those that wait."""
        self._skip_to_held(name, self._flight(name), touched.setdefault(name, []))

    def _skip_to_held(self, name: str, place: Open, queue: list[Sample]) -> None:
        waiting = self.outbox.held(name)
        if waiting:
            self._skip(place.progress, waiting[0][0])
        self._use_held(name, place, queue)

    def _skip(self, progress: Progress, seq: int) -> None:
        """All before `seq` were never sent, or will come late."""
        self.health.skipped += seq - progress.seq - 1
        gone = range(max(progress.seq + 1, seq - SKIPPED), seq)
        progress.skipped = [*progress.skipped, *gone][-SKIPPED:]
        progress.seq = seq - 1

    # ── refused messages ──

    def _refuse(self, answer: Answer, refused: Refused) -> None:
        self.health.refused += 1
        answer.refused.append(refused)
        answer.problems.append(Problem(flight=refused.flight, seq=refused.seq, error=refused.reason))

    def _write_refused(self, refused: list[Refused]) -> bool:
        if self.quarantine is None or not refused:
            return False
        self.quarantine.write(refused, self.arrived)
        return True

    def _count(self) -> None:
        """What waits and what is damaged, as the files say."""
        self.health.outbox, self.health.damaged = self.outbox.count(), self.outbox.damaged
        if self.quarantine is not None:
            self.health.quarantined, self.health.quarantine_lost = self.quarantine.count, self.quarantine.lost

    # ── one flight ──

    def _flight(self, name: str) -> Open:
        """A flight in memory, read back from disk where it is not."""
        if name not in self.open:
            stored = self.outbox.load(name)
            stream, progress = self._restored(stored)
            waits_from = self.clock() if self.outbox.held(name) else None
            self.open[name] = Open(stream, progress, *self.outbox.source(name), waits_from)
        self.open.move_to_end(name)
        return self.open[name]

    def _restored(self, stored: Stored) -> tuple[StreamingDenoiser, Progress]:
        """Stream and progress of a flight; where records are damaged, what the others tell."""
        stream, progress = StreamingDenoiser(self.engine), stored.progress
        since = [(parse_sample(payload), arrived) for payload, arrived in stored.since]
        if stored.snapshot is not None:
            stream.restore(stored.snapshot)
        stream.follow(since)
        stream.problems.clear()
        if progress is None:
            progress = _rebuilt(stream)
        elif stored.is_damaged and not progress.is_ended and _grid(stream) != (progress.stop, progress.newest):
            clock = StreamClock(self.engine.suite.rate_hz, self.engine.look_ahead)
            clock.set_to(progress.stop - 1, progress.newest, progress.seq)
            stream.begin_at(progress.given, clock)
            stream.follow((sample, arrived) for sample, arrived in since if clock.slot(sample) >= progress.given)
            stream.given = progress.given
            stream.problems.clear()
        progress.since = len(since)
        return stream, progress

    def _advance(self, name: str, samples: list[Sample], answer: Answer) -> None:
        """Feed a flight what came for it, post what is ready, remember all of it."""
        place = self.open[name]
        stream, progress, late = place.stream, place.progress, place.stream.late
        if samples:
            self._post(name, place, stream.feed(samples, arrived=self.arrived))
            progress.stop, progress.newest = _grid(stream)
        if any(sample.end for sample in samples):
            self._post(name, place, stream.flush())
            progress.is_ended = True
        self._collect(place, late, answer)
        if progress.is_ended or progress.since >= SNAPSHOT:
            self.outbox.set_snapshot(name, None if progress.is_ended else stream.state())
            progress.since = 0
        self.outbox.set_progress(name, progress)
        answer.acks.append(_ack(place))

    def _collect(self, place: Open, late: int, answer: Answer) -> None:
        """What a stream has to report since it had refused `late` late samples."""
        stream = place.stream
        self.health.late += stream.late - late
        self.health.refused += len(stream.refused)
        answer.refused += [Refused(why, s.original, place.topic, s.flight, s.seq) for s, why in stream.refused]
        answer.problems += stream.problems
        stream.refused, stream.problems = [], []

    def _post(self, name: str, place: Open, ready: list[Ready]) -> None:
        letters = [(r.index, self._clean(name, place.stream, r)) for r in ready]
        self.outbox.post(name, letters)
        place.progress.given += len(letters)
        self.health.estimates += len(letters)

    def _unknown(self, letter: Letter) -> bytes:
        """In place of an estimate that is damaged: its second without a value."""
        place = self._flight(letter.flight)
        behind = place.progress.stop - 1 - letter.seq
        time = place.progress.newest - round(behind * 1e6 / self.engine.suite.rate_hz)
        nothing = np.full(len(self.names), np.nan)
        bits = np.full(len(self.names), MISSING, np.int32)
        return self._clean(letter.flight, place.stream, Ready(letter.seq, time, nothing, nothing, None, bits))

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
            "latency_s": self.engine.latency_s,
        }
        return json.dumps(message, separators=(",", ":"), allow_nan=False).encode()

    def _numbers(self, row: Floats) -> dict[str, float | None]:
        """By channel, to seven digits: more than float32 holds would be invented."""
        numbers = [float(f"{x:.7g}") if np.isfinite(x) else None for x in row.tolist()]
        return dict(zip(self.names, numbers, strict=True))


@contextmanager
def open_gateway(
    engine: Engine,
    state: Path | None,
    *,
    quarantine: Path | None = None,
    patience_s: float = 30.0,
    limit: int = 200_000,
) -> Iterator[Gateway]:
    """A gateway with its files, closed at the end; without `state` everything is in memory."""
    with ExitStack() as files:
        outbox = files.enter_context(closing(Outbox(state, identity=engine.key)))
        refused = None if quarantine is None else files.enter_context(closing(Quarantine(quarantine)))
        yield Gateway(engine, outbox, quarantine=refused, patience_s=patience_s, limit=limit)


def _ack(place: Open) -> Ack:
    return Ack(flight=place.flight, seq=place.progress.seq, topic=place.topic)


def _is_known(sample: Sample, place: Open, *, is_odd: bool) -> bool:
    """Whether a sample came before; where its number does not follow, unless it certainly did not."""
    progress, time = place.progress, sample.microseconds
    if (sample.seq, time) in place.stream.recent:
        return True
    if not is_odd or sample.seq > progress.seq or progress.earliest is None or progress.latest is None:
        return False
    is_other = any(seq == sample.seq for seq, _ in place.stream.recent)  # the number had another stamp
    return progress.earliest <= time <= progress.latest and not is_other


def _grid(stream: StreamingDenoiser) -> tuple[int, int]:
    """Seconds of a flight's grid so far, and the time of the last one."""
    stop = stream.ring.stop
    return stop, stream.clock.time(stop - 1) if stop else 0


def _rebuilt(stream: StreamingDenoiser) -> Progress:
    """Progress as far as a stream tells it."""
    stop, newest = _grid(stream)
    numbers, times = [seq for seq, _ in stream.recent], [time for _, time in stream.recent]
    return Progress(seq=max(numbers, default=-1), given=stream.given, stop=stop, newest=newest,
                    earliest=min(times, default=None), latest=max(times, default=None))  # fmt: skip
