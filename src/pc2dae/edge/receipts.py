"""Tracks the estimates that a consumer has received, and its confirmations to the gateway."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field

from pc2dae.edge.messages import Taken

_ASK_S = 2.0  # between two requests for missing estimates
_MISSING = 100_000  # largest number of missing estimates per flight


@dataclass
class FlightNumbers:
    """The numbers of one flight."""

    following: int
    missing: set[int] = field(default_factory=set)


class Receipts:
    """Sequence numbers received, of the last `flights` flights (default: all), starting after those in `last`."""

    def __init__(self, last: dict[str, int] | None = None, *, flights: int | None = None) -> None:
        self.flights = flights
        self.sequences = OrderedDict((name, FlightNumbers(seq + 1)) for name, seq in (last or {}).items())
        self.estimates = self.duplicates = self.lost = 0
        self.is_behind = True  # the gateway may hold estimates that were not received
        self._asked, self._confirmed = 0.0, self.last()

    def is_new(self, flight: str, seq: int, *, in_order: bool = True) -> bool:
        """Whether to use an estimate; with `in_order` only the next one of its flight, others are requested again."""
        if flight not in self.sequences:
            self.sequences[flight] = FlightNumbers(0 if in_order else seq)
            if self.flights is not None and len(self.sequences) > self.flights:
                self.sequences.popitem(last=False)
        known = self.sequences[flight]
        if seq < known.following and seq not in known.missing:
            self.duplicates += 1
            return False
        if in_order and seq > known.following:
            self.is_behind = True
            return False
        known.missing |= set(range(max(known.following, seq - _MISSING), seq))
        known.missing.discard(seq)
        known.following = max(known.following, seq + 1)
        self.lost = sum(len(each.missing) for each in self.sequences.values())
        self.estimates += 1
        return True

    def last(self) -> dict[str, int]:
        """The last number of each flight received without a gap."""
        return {name: each.following - 1 for name, each in self.sequences.items() if not each.missing}

    def confirmation(self) -> Taken | None:
        """The confirmation to send to the gateway now, if any."""
        last, now = self.last(), time.monotonic()
        again = self.is_behind and now - self._asked > _ASK_S
        if again:
            self._asked, self.is_behind = now, False
        elif last == self._confirmed:
            return None
        self._confirmed = last
        return Taken(taken=last, again=again)
