"""The flights that a gateway has in memory; others are loaded from its state file when a message for them arrives."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pc2dae.edge.clock import StreamClock
from pc2dae.edge.engine import Engine
from pc2dae.edge.messages import Ack, Sample, parse_sample
from pc2dae.edge.outbox import FlightProgress, Outbox, Stored
from pc2dae.edge.stream import StreamingDenoiser

OPEN = 256  # flights held in memory


@dataclass
class OpenFlight:
    """A flight in memory."""

    name: str  # in the gateway and in its estimates
    topic: str  # topic and flight name of its sender
    flight: str
    stream: StreamingDenoiser
    progress: FlightProgress
    waits_from: float | None = None  # since when a message is missing

    @property
    def ack(self) -> Ack:
        """The last message such that all up to it are on disk."""
        return Ack(flight=self.flight, seq=self.progress.seq, topic=self.topic)

    def is_known(self, sample: Sample, *, is_odd: bool) -> bool:
        """Whether a sample is a duplicate; one out of sequence counts as such unless it is certainly new."""
        progress, time = self.progress, sample.microseconds
        if (sample.seq, time) in self.stream.recent:
            return True
        if not is_odd or sample.seq > progress.seq or progress.earliest is None or progress.latest is None:
            return False
        is_other = any(seq == sample.seq for seq, _ in self.stream.recent)  # same number with another time
        return progress.earliest <= time <= progress.latest and not is_other


class Flights:
    """Open flights by name, least recently used first."""

    def __init__(self, engine: Engine, outbox: Outbox, clock: Callable[[], float]) -> None:
        self.engine, self.outbox, self.clock = engine, outbox, clock
        self.open: OrderedDict[str, OpenFlight] = OrderedDict()
        for name in outbox.waiting():
            self.get(name)

    def get(self, name: str) -> OpenFlight:
        """A flight, read from disk if it is not in memory."""
        if name not in self.open:
            stream, progress = self._restored(self.outbox.load(name))
            waits_from = self.clock() if self.outbox.held(name) else None
            self.open[name] = OpenFlight(name, *self.outbox.source(name), stream, progress, waits_from)
        self.open.move_to_end(name)
        return self.open[name]

    def forget(self, names: Iterable[str]) -> None:
        """Drop flights from memory: the state on disk is valid."""
        for name in names:
            self.open.pop(name, None)

    def shrink(self) -> None:
        """Drop the least recently used flights that are not waiting for a message."""
        idle = [name for name, flight in self.open.items() if flight.waits_from is None]
        self.forget(idle[: max(len(self.open) - OPEN, 0)])

    def overdue(self, patience_s: float) -> list[str]:
        """Names of flights that have waited too long for a message."""
        now = self.clock()
        return [name for name, f in self.open.items() if f.waits_from is not None and now - f.waits_from > patience_s]

    def _restored(self, stored: Stored) -> tuple[StreamingDenoiser, FlightProgress]:
        """Restore stream and progress of a flight, without damaged records."""
        stream, progress = StreamingDenoiser(self.engine), stored.progress
        since = [(parse_sample(payload), arrived) for payload, arrived in stored.since]
        if stored.snapshot is not None:
            stream.restore(stored.snapshot)
        stream.follow(since)
        stream.problems.clear()
        if progress is None:
            progress = _rebuilt(stream)
        elif stored.is_damaged and not progress.is_ended and stream.grid != (progress.stop, progress.newest):
            clock = StreamClock(self.engine.suite.rate_hz, self.engine.look_ahead)
            clock.set_to(progress.stop - 1, progress.newest, progress.seq)
            stream.begin_at(progress.given, clock)
            stream.follow((sample, arrived) for sample, arrived in since if clock.slot(sample) >= progress.given)
            stream.given = progress.given
            stream.problems.clear()
        progress.since = len(since)
        return stream, progress


def _rebuilt(stream: StreamingDenoiser) -> FlightProgress:
    """Progress as reconstructed from the stream."""
    stop, newest = stream.grid
    numbers, times = [seq for seq, _ in stream.recent], [time for _, time in stream.recent]
    return FlightProgress(seq=max(numbers, default=-1), given=stream.given, stop=stop, newest=newest,
                          earliest=min(times, default=None), latest=max(times, default=None))  # fmt: skip
