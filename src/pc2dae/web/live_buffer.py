"""What has been heard on the line: every second once, gaps and repeats counted, the last minutes kept."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

KEPT = 900  # estimates that a page opened late still gets
_FLIGHTS = 64  # whose numbers are remembered
_MISSING = 100_000  # numbers of a flight that may be missing


@dataclass
class Line:
    """How far one flight has come."""

    following: int
    missing: set[int] = field(default_factory=set)


@dataclass
class Counts:
    """Numbers for the page."""

    samples: int = 0
    estimates: int = 0
    duplicates: int = 0
    lost: int = 0
    late: int = 0
    refused: int = 0
    quarantined: int = 0


class Heard:
    """Numbers of estimates by flight, and events for those who listen."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.lines: OrderedDict[str, Line] = OrderedDict()
        self.events: deque[tuple[int, str, str]] = deque(maxlen=KEPT)  # number, kind, JSON
        self.last = 0
        self.woken = asyncio.Event()
        self.closed = False

    def is_new(self, flight: str, seq: int, *, in_order: bool) -> bool:
        """Whether an estimate is to be shown; with `in_order` one that comes too early is asked for again."""
        line = self.lines.get(flight)
        if line is None:
            line = self.lines[flight] = Line(0 if in_order else seq)
            while len(self.lines) > _FLIGHTS:
                self.counts.lost -= len(self.lines.popitem(last=False)[1].missing)
        if seq < line.following and seq not in line.missing:
            self.counts.duplicates += 1
            return False
        if in_order and seq > line.following:
            return False
        line.missing |= set(range(max(line.following, seq - _MISSING), seq))
        line.missing.discard(seq)
        line.following = max(line.following, seq + 1)
        self.counts.lost = sum(len(known.missing) for known in self.lines.values())
        self.counts.estimates += 1
        return True

    def taken(self) -> dict[str, int]:
        """Up to which number each flight is here without a gap."""
        return {name: line.following - 1 for name, line in self.lines.items() if not line.missing}

    def resume(self, taken: dict[str, int]) -> None:
        """Go on behind what an earlier server has had."""
        self.lines |= {name: Line(seq + 1) for name, seq in taken.items()}

    def tell(self, kind: str, text: str) -> None:
        """An event for everybody."""
        self.last += 1
        self.events.append((self.last, kind, text))
        self.wake()

    def wake(self) -> None:
        """Let everybody look."""
        self.woken.set()
        self.woken = asyncio.Event()

    def close(self) -> None:
        """No more events: those who listen may go."""
        self.closed = True
        self.wake()

    async def listen(self, since: int, every_s: float) -> AsyncIterator[tuple[int, str, str] | None]:
        """Events after number `since`; None when something else may have changed, at least every `every_s`."""
        if since > self.last:
            since = 0  # numbers of a server that was stopped since
        while not self.closed:
            yield None
            woken = self.woken
            for event in [e for e in self.events if e[0] > since]:
                since = event[0]
                yield event
            with suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), every_s)
