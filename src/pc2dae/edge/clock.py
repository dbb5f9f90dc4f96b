"""Which second of a flight's grid a sample belongs to, where its clock may be wrong.

Stamps decide as long as they are consistent with each other and with the sequence numbers; when the samples arrive does
not matter, so that a replay and a pipe give what the flight gave. Three things are not consistent:

* A stamp far from the one before it. The sample waits for the next ones: where they return to the old clock it was
  wrong; where they follow it, it is a gap, or (backwards, or more than an hour ahead) the clock was set.
* A stamp that repeats although the numbers go on. Several samples in one second do that too: a clock stands still where
  the samples arrive slowly, where very many share the stamp, or where the next stamp makes up for them.
* A number that does not follow: then the stamp alone decides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import Any

import numpy as np

from pc2dae.edge.messages import Sample, parse_sample, stamp

NUMBERS = 1024  # a larger step of the sequence number explains no gap
NEAR_S = 10.0  # a step that needs no confirmation, unless the look-ahead is shorter: nothing is given out meanwhile
JUMP_S = 60.0  # between two samples that confirm each other
LONGEST_GAP_S = 3600.0  # a longer one is a clock that was set
_AGREE = 3  # samples in a row that outvote the clock
_REPEATS = 3  # of one stamp, at least, before a clock can stand still …
_MANY = 60  # … and so many that it does, however they arrive
_STEPS = 30  # recent steps that tell a logger's pace


@dataclass(frozen=True)
class Placement:
    """What becomes of a sample: its second, or the reason why it has none."""

    sample: Sample
    slot: int = 0
    refusal: str = ""


@dataclass(frozen=True)
class Waiting:
    """A sample that waits for the next one, and when it arrived."""

    sample: Sample
    arrived: float | None


class StreamClock:
    """The grid of one flight: column 0 is its first sample; `look_ahead` columns are open to late samples."""

    def __init__(self, rate_hz: float, look_ahead: int) -> None:
        self.rate_hz = rate_hz
        self.near = max(1, min(look_ahead, round(NEAR_S * rate_hz)))
        self.anchors: list[tuple[int, int]] = []  # column and its time, microseconds; the last one holds from there on
        self.newest = -1  # column of the newest sample …
        self.seq = -1  # … its number …
        self.stamp = 0  # … and its stamp
        self.agreed = 0  # samples that fitted the clock since it was set
        self.steps: deque[int] = deque(maxlen=_STEPS)
        self.shared = 1  # most samples that had one stamp while the clock went on
        self.at = 0.0  # column while the clock stands still
        self.is_still = False
        self.is_reported = False
        self.repeats: list[Waiting] = []
        self.suspects: list[Waiting] = []
        self.notes: list[tuple[Sample, str]] = []  # for the log

    # ── samples ──

    def take(self, sample: Sample, arrived: float | None) -> Iterator[Placement]:
        """The samples whose place is known now, this one or those that waited for it, in their order."""
        if not self.anchors:
            self.anchors.append((self.newest + 1, sample.microseconds))
        elif self._is_repeat(sample):
            yield from self._dismiss(self.newest)
            self.repeats.append(Waiting(sample, arrived))
            if self._stands_still():
                yield from self._spread()
            return
        yield from self._settle_repeats(sample)
        slot = self.slot(sample)
        step = slot - self.newest
        if self._is_disorder(sample, step):
            yield Placement(sample, slot)
            return
        is_next = step > 0 and self._follows(step, sample.seq - self.seq - 1, self._reach)
        if self.suspects and not is_next and self._confirms(sample, self.suspects[-1].sample):
            self.suspects.append(Waiting(sample, arrived))
            if len(self.suspects) >= min(_AGREE, self.agreed + 1):
                yield from self._outvoted()
            return
        yield from self._dismiss(slot)
        if self._follows(slot - self.newest, sample.seq - self.seq - 1, self._reach):
            yield self._accept(sample, slot)
        else:
            self.suspects.append(Waiting(sample, arrived))

    def flush(self) -> Iterator[Placement]:
        """The samples that still wait, when nothing follows."""
        if len(self.repeats) >= _REPEATS and len(self.repeats) >= 2 * self.shared:
            yield from self._spread()
        else:
            yield from self._merge()
        if len(self.suspects) > 1:
            yield from self._outvoted()
        yield from self._dismiss(None)

    def slot(self, sample: Sample) -> int:
        """The column that a sample's stamp names."""
        column, origin = self.anchors[-1]
        return column + int(np.floor((sample.microseconds - origin) * self.rate_hz / 1e6 + 0.5))

    def time(self, column: int) -> int:
        """The time of a column, microseconds since 1970, by the clock that was valid there."""
        first, origin = next((a for a in reversed(self.anchors) if a[0] <= column), self.anchors[0])
        return origin + round((column - first) * 1e6 / self.rate_hz)

    def forget(self, column: int) -> None:
        """Columns before this one are not asked for any more."""
        while len(self.anchors) > 1 and self.anchors[1][0] <= column:
            del self.anchors[0]

    def set_to(self, column: int, time: int, seq: int) -> None:
        """Go on after a sample of which only this is known."""
        self.anchors = [(column, time)]
        self.newest, self.stamp, self.seq, self.agreed = column, time, seq, 1

    # ── steps ──

    @property
    def _reach(self) -> float:
        """Columns ahead that a sample may be: the look-ahead, or half more than a slow logger's usual step."""
        return max(self.near, 1.5 * median(self.steps or [1]))

    def _follows(self, step: int, missing: int, reach: float) -> bool:
        """Whether a step from one sample to the next is an ordinary one; numbers that never came explain a gap."""
        explained = missing * max(1.0, median(self.steps or [1])) if 0 < missing <= NUMBERS else 0.0
        return -self.near <= step <= reach + explained

    def _confirms(self, sample: Sample, suspect: Sample) -> bool:
        """Whether a sample follows one that was off the clock."""
        step = self.slot(sample) - self.slot(suspect)
        return self._follows(step, sample.seq - suspect.seq - 1, JUMP_S * self.rate_hz)

    def _is_disorder(self, sample: Sample, step: int) -> bool:
        """Whether a sample came after later ones, as far back as its number says."""
        behind = self.seq - sample.seq
        return behind >= 0 >= step >= -JUMP_S * self.rate_hz - behind * 1.5 * max(1.0, fmean(self.steps or [1]))

    def _accept(self, sample: Sample, slot: int, *, is_step: bool = True) -> Placement:
        if is_step:
            self.is_still = False
            if sample.seq == self.seq + 1:
                self.steps.append(max(slot - self.newest, 0))
        self.newest, self.seq, self.stamp = max(self.newest, slot), sample.seq, sample.microseconds
        self.agreed += 1
        return Placement(sample, slot)

    # ── stamps far from the clock ──

    def _outvoted(self) -> Iterator[Placement]:
        """Samples in a row agree with each other: a gap that is bridged, or a clock that was set."""
        waiting, self.suspects = self.suspects, []
        first = waiting[0].sample
        if not 0 < self.slot(first) - self.newest <= LONGEST_GAP_S * self.rate_hz:
            expected = self.time(self.newest + 1)
            self.notes.append((first, f"the clock was set from {stamp(expected)} to {stamp(first.microseconds)}; "
                               "estimates from here on have the new time"))  # fmt: skip
            self.anchors.append((self.newest + 1, first.microseconds))
            self.agreed = 0
        for each in waiting:
            yield self._accept(each.sample, self.slot(each.sample))

    def _dismiss(self, following: int | None) -> Iterator[Placement]:
        """Single samples off the clock, when the next one has column `following` or there is none."""
        waiting, self.suspects = self.suspects, []
        for each in waiting:
            slot = self.slot(each.sample)
            ahead = (slot - self.newest) / self.rate_hz
            if ahead <= 0:  # it may be a late one
                yield Placement(each.sample, slot)
            elif ahead <= JUMP_S and (following is None or following >= slot):
                yield self._accept(each.sample, slot)
            else:
                why = "nothing followed it" if following is None else "the next sample did not follow it"
                yield Placement(each.sample, slot, f"{ahead:,.0f} s after the sample before it, and {why}")

    # ── stamps that repeat ──

    def _is_repeat(self, sample: Sample) -> bool:
        return sample.microseconds == self.stamp and sample.seq > self.seq and (self.is_still or not self.suspects)

    def _stands_still(self) -> bool:
        if self.is_still or len(self.repeats) >= max(_MANY, 2 * self.shared):
            return True
        times = [each.arrived for each in self.repeats if each.arrived is not None]
        if len(times) < _REPEATS:
            return False
        return median(b - a for a, b in pairwise(times)) >= 0.5 / self.rate_hz

    def _settle_repeats(self, sample: Sample) -> Iterator[Placement]:
        """Another stamp: did the clock stand still, or were there several samples in a second?"""
        step = self.slot(sample) - self.newest
        count = len(self.repeats) + 1
        if count > max(_REPEATS, 2 * self.shared) and not 0 <= 2 * step < count:
            yield from self._spread()
        else:
            yield from self._merge()

    def _merge(self) -> Iterator[Placement]:
        """Several samples of one second."""
        waiting, self.repeats = self.repeats, []
        self.shared = max(self.shared, len(waiting) + 1 if waiting else 1)
        for each in waiting:
            yield self._accept(each.sample, self.slot(each.sample))

    def _spread(self) -> Iterator[Placement]:
        """A column for each sample, at the pace that the logger had."""
        if not self.is_reported:
            self.notes.append((self.repeats[0].sample, f"the clock stands still at {stamp(self.stamp)}; samples are "
                               "timed by their sequence numbers until it moves"))  # fmt: skip
            self.is_reported = True
        if not self.is_still:
            self.at, self.is_still = float(self.newest), True
        waiting, self.repeats = self.repeats, []
        pace = fmean(self.steps or [1]) or 1.0
        for each in waiting:
            self.at += pace * (each.sample.seq - self.seq if each.sample.seq - self.seq <= NUMBERS else 1)
            yield self._accept(each.sample, int(self.at + 1e-6), is_step=False)

    # ── saved and restored ──

    def state(self) -> dict[str, Any]:
        """Everything, for JSON."""
        kept = {name: getattr(self, name) for name in _KEPT}
        waiting = {name: [(each.sample.original.decode(), each.arrived) for each in getattr(self, name)]
                   for name in ("repeats", "suspects")}  # fmt: skip
        return kept | waiting | {"steps": list(self.steps), "anchors": self.anchors}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where `state` was taken."""
        for name in _KEPT:
            setattr(self, name, state[name])
        self.anchors = [(int(column), int(time)) for column, time in state["anchors"]]
        self.steps = deque(state["steps"], maxlen=_STEPS)
        self.repeats, self.suspects = (
            [Waiting(parse_sample(text.encode()), arrived) for text, arrived in state[name]]
            for name in ("repeats", "suspects")
        )


_KEPT = ("newest", "seq", "stamp", "agreed", "shared", "at", "is_still", "is_reported")
