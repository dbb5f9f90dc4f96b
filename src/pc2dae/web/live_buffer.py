"""Events for open pages: each gets the last minutes, then everything new."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress

KEPT = 1800  # events sent to a newly opened page: samples and estimates of 15 minutes


class LiveBuffer:
    """A buffer of the last events, numbered, and the listeners waiting for the next one."""

    def __init__(self) -> None:
        self.events: deque[tuple[int, str, str]] = deque(maxlen=KEPT)  # number, kind, JSON
        self.last = 0
        self.changed = asyncio.Event()
        self.closed = False

    def add(self, kind: str, text: str) -> None:
        """Send an event to every page."""
        self.last += 1
        self.events.append((self.last, kind, text))
        self.notify()

    def notify(self) -> None:
        """Wake all listeners."""
        self.changed.set()
        self.changed = asyncio.Event()

    def close(self) -> None:
        """Close the buffer; all listeners stop."""
        self.closed = True
        self.notify()

    async def listen(self, since: int, every_s: float) -> AsyncIterator[tuple[int, str, str] | None]:
        """Events after number `since`; None when something else may have changed, at least every `every_s`."""
        if since > self.last:
            since = 0  # the number is from an earlier server process
        while not self.closed:
            yield None
            changed = self.changed
            for event in [e for e in self.events if e[0] > since]:
                since = event[0]
                yield event
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), every_s)
