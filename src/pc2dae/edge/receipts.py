"""Tracks the estimates that a consumer has received, and its confirmations to the gateway."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field

from pc2dae.edge.messages import Taken

_ASK_S = 2.0  # between two requests for missing estimates
_ANSWERS = 2  # requests after which the gateway's oldest estimate is taken as the next one
_MISSING = 100_000  # largest number of missing estimates per flight


@dataclass
class FlightNumbers:
    """The numbers of one flight."""

    following: int
    missing: set[int] = field(default_factory=set)
    settled: int = 0  # numbers below were received before the gateway reconnected, which may send them again
    ahead: int | None = None  # lowest number that arrived before `following`, and …
    requests: int = 0  # … how often the ones between were requested since


class Receipts:
    """Sequence numbers received, of the last `flights` flights (default: all), starting after those in `last`.

    A resend repeats what was in flight. These repeats are neither used nor counted in `duplicates`, and they never
    cause another request: only a number ahead of the next one does.
    """

    def __init__(self, last: dict[str, int] | None = None, *, flights: int | None = None) -> None:
        self.flights = flights
        known = {name: FlightNumbers(seq + 1, settled=seq + 1) for name, seq in (last or {}).items()}
        self.sequences = OrderedDict(known)
        self.estimates = self.duplicates = self.repeats = self.lost = 0
        self.is_behind = True  # the gateway may hold estimates that were not received
        self._skipped = 0
        self._asked, self._confirmed = 0.0, self.last()

    def is_new(self, flight: str, seq: int, *, in_order: bool = True) -> bool:
        """Whether to use an estimate; with `in_order` only the next one of its flight, others are requested again."""
        if flight not in self.sequences:
            self.sequences[flight] = FlightNumbers(0 if in_order else seq)
            if self.flights is not None and len(self.sequences) > self.flights:
                self.sequences.popitem(last=False)
        self.sequences.move_to_end(flight)
        known = self.sequences[flight]
        if seq < known.following and seq not in known.missing:
            is_resent = in_order or seq < known.settled
            self.repeats, self.duplicates = self.repeats + is_resent, self.duplicates + (not is_resent)
            return False
        if in_order and seq > known.following:
            is_oldest = known.ahead is not None and seq <= known.ahead and known.requests >= _ANSWERS
            if not is_oldest:
                known.ahead = seq if known.ahead is None else min(known.ahead, seq)
                return False
            self._skipped += seq - known.following if known.following else 0  # of an unknown flight none are lost
        elif seq > known.following:
            known.missing |= set(range(max(known.following, seq - _MISSING), seq))
        known.missing.discard(seq)
        known.following = max(known.following, seq + 1)
        known.ahead, known.requests = None, 0
        self.lost = self._skipped + sum(len(each.missing) for each in self.sequences.values())
        self.estimates += 1
        return True

    def expect_repeats(self) -> None:
        """The gateway has reconnected: it sends again what was not acknowledged."""
        for each in self.sequences.values():
            each.settled = each.following

    def forget(self, flight: str) -> None:
        """Forget the numbers of a flight, because its gateway numbers it from the start."""
        self.sequences.pop(flight, None)

    def last(self) -> dict[str, int]:
        """The last number of each flight received without a gap."""
        return {name: each.following - 1 for name, each in self.sequences.items() if not each.missing}

    def confirmation(self) -> Taken | None:
        """The confirmation to send to the gateway now, if any."""
        last, now = self.last(), time.monotonic()
        behind = [each for each in self.sequences.values() if each.ahead is not None]
        again = (self.is_behind or bool(behind)) and now - self._asked > _ASK_S
        if again:
            self._asked, self.is_behind = now, False
            for each in behind:
                each.requests += 1
        elif last == self._confirmed:
            return None
        self._confirmed = last
        return Taken(taken=last, again=again)
