"""Incoming messages in the order of their numbers, each used exactly once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from pc2dae.edge.clock import NUMBERS
from pc2dae.edge.flights import Flights, OpenFlight
from pc2dae.edge.messages import Ack, BadMessage, MessageProblem, Sample, parse_sample
from pc2dae.edge.outbox import FlightProgress, Outbox
from pc2dae.edge.quarantine import RefusedMessage

HELD = 4096  # messages of a flight that may wait for an earlier one
SKIPPED = NUMBERS  # skipped messages that are still accepted; a number further ahead must be confirmed by the next
_ODD = 16  # largest step to a number that confirms one out of sequence


@dataclass
class Answer:
    """The result of a tick, reported to the senders."""

    acks: list[Ack] = field(default_factory=list)
    problems: list[MessageProblem] = field(default_factory=list)
    is_taken: bool = True  # False: outbox or disk is full, no message was accepted, send them again
    refused: list[RefusedMessage] = field(default_factory=list)


@dataclass
class Tick:
    """One transaction: the samples to feed to each flight, the answer, and what to add to the counters."""

    arrived: float
    answer: Answer = field(default_factory=Answer)
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def refuse(self, refused: RefusedMessage) -> None:
        """Report a message that cannot be used."""
        self.counts["refused"] += 1
        self.answer.refused.append(refused)
        self.answer.problems.append(MessageProblem(flight=refused.flight, seq=refused.seq, error=refused.reason))


class MessageIntake:
    """Decides how each message is handled: used, held for an earlier one, counted as duplicate, or refused."""

    def __init__(self, flights: Flights, outbox: Outbox, *, patience_s: float, clock: Callable[[], float]) -> None:
        self.flights, self.outbox, self.patience_s, self.clock = flights, outbox, patience_s, clock

    def receive(self, tick: Tick, payload: bytes, topic: str) -> None:
        """Use a message, or hold it for later."""
        sample: Sample | None = None
        try:
            sample = parse_sample(payload)
            name, seq = sample.flight, sample.seq
        except BadMessage as bad:
            tick.refuse(RefusedMessage(str(bad), payload, topic, bad.flight, bad.seq))
            if bad.flight is None or bad.seq is None:
                return
            name, seq = bad.flight, bad.seq
        flight = self._flight(tick, self.outbox.name(topic, name))
        progress = flight.progress
        is_odd = seq > progress.seq + 1 + SKIPPED or (seq <= progress.seq and seq not in progress.skipped)
        if sample is None and is_odd:
            return
        if sample is not None and flight.is_known(sample, is_odd=is_odd):
            tick.counts["duplicates"] += 1
        elif progress.is_ended:
            tick.refuse(
                RefusedMessage("the flight has ended; give the next flight another name", payload, topic, name, seq)
            )
        elif is_odd and sample is not None:
            self._use_odd(tick, flight, sample)
        elif seq > progress.seq + 1 and self.patience_s > 0:
            self._hold(tick, flight, seq, payload)
        else:
            if seq > progress.seq + 1:
                _skip(tick, progress, seq)
            self._use(tick, flight, sample, seq)
            if flight.waits_from is not None:
                self._use_held(tick, flight)

    def give_up(self, tick: Tick) -> None:
        """Skip messages that did not arrive within the time limit."""
        for name in self.flights.overdue(self.patience_s):
            self._skip_to_held(tick, self._flight(tick, name))

    def _flight(self, tick: Tick, name: str) -> OpenFlight:
        tick.samples.setdefault(name, [])
        return self.flights.get(name)

    def _hold(self, tick: Tick, flight: OpenFlight, seq: int, payload: bytes) -> None:
        """Hold a message that arrived early."""
        if self.outbox.waiting().get(flight.name, 0) >= HELD:
            self._skip_to_held(tick, flight)
        if not self.outbox.hold(flight.name, seq, payload):
            reason = "another message with this seq waits for an earlier one"
            tick.refuse(RefusedMessage(reason, payload, flight.topic, flight.flight, seq))
        flight.waits_from = self.clock() if flight.waits_from is None else flight.waits_from

    def _use_odd(self, tick: Tick, flight: OpenFlight, sample: Sample) -> None:
        """Use a new sample whose number is far ahead or was used before; the next one confirms a new numbering."""
        progress, seq, first = flight.progress, sample.seq, flight.progress.odd
        if first is None or not first < seq <= first + _ODD:
            progress.odd = seq
            note = f"seq {seq} after {progress.seq}: the sample is placed by its time"
        else:
            while self.outbox.held(flight.name):
                self._skip_to_held(tick, flight)
            note = f"sequence numbers continue with {first} after {progress.seq}"
            tick.counts["skipped"] += seq - first - 1 + max(first - progress.seq - 1, 0)
            missing = range(max(progress.seq + 1, first - SKIPPED) if first > progress.seq else first + 1, seq)
            progress.skipped = [n for n in missing if n != first]
            progress.seq, progress.odd = seq, None
        tick.answer.problems.append(MessageProblem(flight=sample.flight, seq=seq, error=note))
        self._write(tick, flight, sample)

    def _use(self, tick: Tick, flight: OpenFlight, sample: Sample | None, seq: int) -> None:
        """Use the next message; one that is not a sample leaves its second missing."""
        progress = flight.progress
        if seq in progress.skipped:
            progress.skipped.remove(seq)
        else:
            progress.odd = None
        progress.seq = max(progress.seq, seq)
        if sample is not None:
            self._write(tick, flight, sample)

    def _write(self, tick: Tick, flight: OpenFlight, sample: Sample) -> None:
        """Put a sample into the journal and feed it at the end of the tick."""
        tick.counts["samples"] += 1
        tick.samples[flight.name].append(sample)
        flight.stream.note(sample)
        progress, time = flight.progress, sample.microseconds
        progress.earliest = time if progress.earliest is None else min(progress.earliest, time)
        progress.latest = time if progress.latest is None else max(progress.latest, time)
        progress.since += 1
        self.outbox.write_journal(flight.name, sample.original, tick.arrived)

    def _use_held(self, tick: Tick, flight: OpenFlight) -> None:
        """Use the held messages that are next now."""
        flight.waits_from = None
        for seq, payload in self.outbox.held(flight.name):
            if seq > flight.progress.seq + 1:
                flight.waits_from = self.clock()
                return
            self.outbox.release(flight.name, seq)
            if seq > flight.progress.seq or seq in flight.progress.skipped:
                try:
                    sample = parse_sample(payload)
                except BadMessage:  # reported on arrival
                    sample = None
                self._use(tick, flight, sample, seq)

    def _skip_to_held(self, tick: Tick, flight: OpenFlight) -> None:
        waiting = self.outbox.held(flight.name)
        if waiting:
            _skip(tick, flight.progress, waiting[0][0])
        self._use_held(tick, flight)


def _skip(tick: Tick, progress: FlightProgress, seq: int) -> None:
    """Count all numbers before `seq` as skipped; their messages may still arrive."""
    tick.counts["skipped"] += seq - progress.seq - 1
    gone = range(max(progress.seq + 1, seq - SKIPPED), seq)
    progress.skipped = [*progress.skipped, *gone][-SKIPPED:]
    progress.seq = seq - 1
