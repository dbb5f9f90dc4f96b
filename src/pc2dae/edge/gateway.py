"""The core of `pc2dae stream`: processes many flights concurrently and uses each message exactly once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from itertools import repeat
from pathlib import Path

from pc2dae.edge.engine import Engine
from pc2dae.edge.flights import Flights, OpenFlight
from pc2dae.edge.intake import Answer, MessageIntake, Tick
from pc2dae.edge.messages import Ack, Health, MessageProblem, Sample
from pc2dae.edge.outbox import Letter, Outbox
from pc2dae.edge.quarantine import Quarantine, RefusedMessage
from pc2dae.edge.ready import Ready
from pc2dae.edge.sample_log import SampleLog
from pc2dae.edge.state_file import FullError

SNAPSHOT = 300  # messages of a flight between two snapshots


class Gateway:
    """Turns samples of any number of flights into estimates in the outbox, and commits all state to disk at every tick.

    A flight is identified by topic and name, its messages by their numbers and, if numbering restarts, also by time.
    Duplicates are counted and dropped; messages that arrive early wait for the preceding ones, at most `patience_s`.
    Unusable messages are in the quarantine file when `take` returns. When the outbox holds `limit` estimates, no more
    messages are accepted: acknowledged data are never dropped.
    """

    def __init__(
        self,
        engine: Engine,
        outbox: Outbox,
        *,
        quarantine: Quarantine | None = None,
        sample_log: SampleLog | None = None,
        patience_s: float = 30.0,
        limit: int = 200_000,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.engine, self.outbox, self.quarantine, self.sample_log = engine, outbox, quarantine, sample_log
        self.limit, self.clock, self.now, self.names = limit, clock, now, engine.suite.names
        self.flights = Flights(engine, outbox, clock)
        self.intake = MessageIntake(self.flights, outbox, patience_s=patience_s, clock=clock)
        self.health = Health(quarantine=None if quarantine is None else str(quarantine.path.resolve()))
        self._count()

    def take(self, payloads: Iterable[bytes], *, topics: Iterable[str] = repeat("")) -> Answer:
        """Run one tick: process the messages in order; afterwards they and their estimates are on disk."""
        tick = Tick(self.now())
        is_written = False
        try:
            with self.outbox.tick():
                if self.health.outbox >= self.limit:
                    raise FullError(f"{self.limit:,} estimates wait for the consumer")
                for payload, topic in zip(payloads, topics, strict=False):
                    self.intake.receive(tick, payload, topic)
                self.intake.give_up(tick)
                for name, samples in tick.samples.items():
                    self._advance(tick, self.flights.get(name), samples)
                is_written = self._write_refused(tick)
                if self.sample_log is not None:
                    self.sample_log.write(tick.samples)
        except BaseException as error:
            self.flights.forget(tick.samples)
            if is_written and self.quarantine is not None:
                self.quarantine.undo()
            if not isinstance(error, FullError):
                raise
            self.health.is_full = True
            return Answer(problems=[MessageProblem(error=f"no messages accepted: {error}")], is_taken=False)
        self.health.is_full = False
        self._count(tick)
        self.flights.shrink()
        return tick.answer

    def finish(self) -> Answer:
        """End every flight, as at the end of standard input."""
        tick = Tick(self.now())
        with self.outbox.tick():
            for flight in self.flights.open.values():
                if not flight.progress.is_ended:
                    late = flight.stream.late
                    self._post(tick, flight, flight.stream.flush())
                    _collect(tick, flight, late)
                    flight.progress.is_ended = True
                    self.outbox.set_progress(flight.name, flight.progress)
            self._write_refused(tick)
        self._count(tick)
        return tick.answer

    # ── estimates ──

    def letters(self, after: int, limit: int) -> list[Letter]:
        """The oldest estimates with a number above `after`; a damaged one is replaced by a second without estimates."""
        found = self.outbox.letters(after, limit)
        damaged = [letter for letter in found if letter.is_damaged]
        if not damaged:
            return found
        with self.outbox.tick():
            for letter in damaged:
                self.outbox.replace(letter, self._missing(letter))
        self._count()
        return self.outbox.letters(after, limit)

    def drain(self) -> list[bytes]:
        """Return the payloads of all estimates and mark them as delivered."""
        letters = self.letters(0, -1)
        self.delivered(letter.n for letter in letters)
        return [letter.payload for letter in letters]

    def delivered(self, numbers: Iterable[int] = (), confirmed: Mapping[str, int] | None = None) -> None:
        """Drop delivered estimates: by number, and for each flight up to the seq that the consumer has confirmed."""
        with self.outbox.tick():
            self.outbox.delivered(list(numbers))
            for flight, seq in (confirmed or {}).items():
                self.outbox.confirmed(flight, seq)
        self._count()

    # ── senders ──

    def acks(self) -> list[Ack]:
        """The progress of every flight in memory."""
        return [flight.ack for flight in self.flights.open.values()]

    def reconnected(self) -> None:
        """Restart the wait for missing messages after a lost connection."""
        for flight in self.flights.open.values():
            flight.waits_from = None if flight.waits_from is None else self.clock()

    @property
    def is_waiting(self) -> bool:
        """Whether any flight waits for a message."""
        return any(flight.waits_from is not None for flight in self.flights.open.values())

    # ── one flight ──

    def _advance(self, tick: Tick, flight: OpenFlight, samples: list[Sample]) -> None:
        """Feed a flight its new samples, post the estimates that are ready, and save its state."""
        stream, progress, late = flight.stream, flight.progress, flight.stream.late
        if samples:
            self._post(tick, flight, stream.feed(samples, arrived=tick.arrived))
            progress.stop, progress.newest = stream.grid
        if any(sample.end for sample in samples):
            self._post(tick, flight, stream.flush())
            progress.is_ended = True
        _collect(tick, flight, late)
        if progress.is_ended or progress.since >= SNAPSHOT:
            self.outbox.set_snapshot(flight.name, None if progress.is_ended else stream.state())
            progress.since = 0
        self.outbox.set_progress(flight.name, progress)
        tick.answer.acks.append(flight.ack)

    def _post(self, tick: Tick, flight: OpenFlight, ready: list[Ready]) -> None:
        self.outbox.post(flight.name, [(each.index, self._message(flight.name, each)) for each in ready])
        flight.progress.given += len(ready)
        tick.counts["estimates"] += len(ready)

    def _message(self, name: str, ready: Ready) -> bytes:
        engine = self.engine
        calibrated = () if engine.calibration is None else tuple(engine.calibration.own)
        return ready.message(name, self.names, engine.latency_s, engine.lags.ambient, calibrated)

    def _missing(self, letter: Letter) -> bytes:
        """A replacement for a damaged estimate: the same second without values."""
        progress = self.flights.get(letter.flight).progress
        behind = progress.stop - 1 - letter.seq
        time = progress.newest - round(behind * 1e6 / self.engine.suite.rate_hz)
        return self._message(letter.flight, Ready.missing(letter.seq, time, len(self.names)))

    # ── counters ──

    def _write_refused(self, tick: Tick) -> bool:
        if self.quarantine is None or not tick.answer.refused:
            return False
        self.quarantine.write(tick.answer.refused, tick.arrived)
        return True

    def _count(self, tick: Tick | None = None) -> None:
        """Add the counts of a tick, and read those of the files."""
        for name, count in (tick.counts if tick is not None else {}).items():
            setattr(self.health, name, getattr(self.health, name) + count)
        self.health.outbox, self.health.damaged = self.outbox.count(), self.outbox.damaged
        if self.quarantine is not None:
            self.health.quarantined, self.health.quarantine_lost = self.quarantine.count, self.quarantine.lost


@contextmanager
def open_gateway(
    engine: Engine,
    state: Path | None,
    *,
    quarantine: Path | None = None,
    sample_log: SampleLog | None = None,
    patience_s: float = 30.0,
    limit: int = 200_000,
) -> Iterator[Gateway]:
    """A gateway with its files, closed at the end; without `state` everything is in memory."""
    with ExitStack() as files:
        outbox = files.enter_context(closing(Outbox(state, identity=engine.key)))
        refused = None if quarantine is None else files.enter_context(closing(Quarantine(quarantine)))
        yield Gateway(engine, outbox, quarantine=refused, sample_log=sample_log, patience_s=patience_s, limit=limit)


def _collect(tick: Tick, flight: OpenFlight, late: int) -> None:
    """Move the reports of a stream to the answer; `late` samples had been refused before."""
    stream = flight.stream
    tick.counts["late"] += stream.late - late
    tick.counts["refused"] += len(stream.refused)
    tick.answer.refused += [RefusedMessage(why, s.original, flight.topic, s.flight, s.seq) for s, why in stream.refused]
    tick.answer.problems += stream.problems
    stream.refused, stream.problems = [], []
