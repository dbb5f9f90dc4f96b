"""Assigns samples to the seconds of a flight's grid, even if the logger's clock is wrong.

Time stamps decide as long as they are consistent with each other and with the sequence numbers; the time of arrival
does not matter, so a replay gives the same result as the flight. There are three inconsistencies:

* A stamp far from the previous one. The sample is suspect until the next ones arrive: if they return to the old clock,
  its stamp was wrong; if they follow it, there was a gap, or (backwards, or more than an hour ahead) the clock was set.
* A stamp that repeats while the numbers increase. Either several samples share a second, or the clock has stopped: if
  the samples arrive slowly, if very many share the stamp, or if the next stamp makes up for them.
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

NUMBERS = 1024  # a larger step of the sequence number does not explain a gap
NEAR_S = 10.0  # a step that needs no confirmation, unless the look-ahead is shorter: no estimate is due before
JUMP_S = 60.0  # between two samples that confirm each other
LONGEST_GAP_S = 3600.0  # a longer one means that the clock was set
_AGREE = 3  # consecutive samples that overrule the clock
_REPEATS = 3  # of one stamp, at least, before a clock counts as stopped …
_MANY = 60  # … and how many suffice regardless of their arrival times
_STEPS = 30  # recent steps that determine a logger's pace


@dataclass(frozen=True)
class Placement:
    """The column of a sample, or the reason why it has none."""

    sample: Sample
    slot: int = 0
    refusal: str = ""


@dataclass(frozen=True)
class Waiting:
    """A sample that cannot be placed before the next one, and when it arrived."""

    sample: Sample
    arrived: float | None


class StreamClock:
    """The grid of one flight: column 0 is its first sample; `look_ahead` columns are open to late samples."""

    def __init__(self, rate_hz: float, look_ahead: int) -> None:
        self.rate_hz = rate_hz
        self.near = max(1, min(look_ahead, round(NEAR_S * rate_hz)))
        self.anchors: list[tuple[int, int]] = []  # column and its time, microseconds; each valid until the next
        self.newest = -1  # column of the newest sample …
        self.seq = -1  # … its number …
        self.stamp = 0  # … and its stamp
        self.agreed = 0  # samples consistent with the clock since it was set
        self.steps: deque[int] = deque(maxlen=_STEPS)
        self.shared = 1  # most samples that had one stamp while the clock ran
        self.at = 0.0  # column while the clock is stopped
        self.is_still = False
        self.is_reported = False
        self.repeats: list[Waiting] = []
        self.suspects: list[Waiting] = []
        self.notes: list[tuple[Sample, str]] = []  # for the log

    # ── samples ──

    def take(self, sample: Sample, arrived: float | None) -> Iterator[Placement]:
        """The samples that can be placed now, in order: this one, and those that waited for it."""
        if not self.anchors:
            self.anchors.append((self.newest + 1, sample.microseconds))
        elif self._is_repeat(sample):
            yield from self._dismiss(self.newest)
            self.repeats.append(Waiting(sample, arrived))
            if self._has_stopped():
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
                yield from self._overruled()
            return
        yield from self._dismiss(slot)
        if self._follows(slot - self.newest, sample.seq - self.seq - 1, self._reach):
            yield self._accept(sample, slot)
        else:
            self.suspects.append(Waiting(sample, arrived))

    def flush(self) -> Iterator[Placement]:
        """Place the samples that are still waiting at the end of the flight."""
        if len(self.repeats) >= _REPEATS and len(self.repeats) >= 2 * self.shared:
            yield from self._spread()
        else:
            yield from self._merge()
        if len(self.suspects) > 1:
            yield from self._overruled()
        yield from self._dismiss(None)

    def slot(self, sample: Sample) -> int:
        """The column of a sample's time stamp."""
        column, origin = self.anchors[-1]
        return column + int(np.floor((sample.microseconds - origin) * self.rate_hz / 1e6 + 0.5))

    def time(self, column: int) -> int:
        """The time of a column, microseconds since 1970, by the clock valid there."""
        first, origin = next((a for a in reversed(self.anchors) if a[0] <= column), self.anchors[0])
        return origin + round((column - first) * 1e6 / self.rate_hz)

    def forget(self, column: int) -> None:
        """Discard state that is only needed for columns before this one."""
        while len(self.anchors) > 1 and self.anchors[1][0] <= column:
            del self.anchors[0]

    def set_to(self, column: int, time: int, seq: int) -> None:
        """Continue after a sample of which only these values are known."""
        self.anchors = [(column, time)]
        self.newest, self.stamp, self.seq, self.agreed = column, time, seq, 1

    # ── steps ──

    @property
    def _reach(self) -> float:
        """How many columns ahead a sample may be: the look-ahead, or 1.5 times a slow logger's usual step."""
        return max(self.near, 1.5 * median(self.steps or [1]))

    def _follows(self, step: int, missing: int, reach: float) -> bool:
        """Whether a step from one sample to the next is plausible; missing numbers explain a gap."""
        explained = missing * max(1.0, median(self.steps or [1])) if 0 < missing <= NUMBERS else 0.0
        return -self.near <= step <= reach + explained

    def _confirms(self, sample: Sample, suspect: Sample) -> bool:
        """Whether a sample is consistent with a suspect one."""
        step = self.slot(sample) - self.slot(suspect)
        return self._follows(step, sample.seq - suspect.seq - 1, JUMP_S * self.rate_hz)

    def _is_disorder(self, sample: Sample, step: int) -> bool:
        """Whether a sample arrived after later ones, according to its number."""
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

    # ── suspect samples: stamps far from the clock ──

    def _overruled(self) -> Iterator[Placement]:
        """Consecutive suspects agree with each other: there was a gap, or the clock was set."""
        waiting, self.suspects = self.suspects, []
        first = waiting[0].sample
        if not 0 < self.slot(first) - self.newest <= LONGEST_GAP_S * self.rate_hz:
            expected = self.time(self.newest + 1)
            self.notes.append((first, f"the clock was set from {stamp(expected)} to {stamp(first.microseconds)}; "
                               "later estimates have the new time"))  # fmt: skip
            self.anchors.append((self.newest + 1, first.microseconds))
            self.agreed = 0
        for each in waiting:
            yield self._accept(each.sample, self.slot(each.sample))

    def _dismiss(self, following: int | None) -> Iterator[Placement]:
        """Suspects that the next sample (column `following`, None at the end) does not confirm."""
        waiting, self.suspects = self.suspects, []
        for each in waiting:
            slot = self.slot(each.sample)
            ahead = (slot - self.newest) / self.rate_hz
            if ahead <= 0:  # possibly a late sample
                yield Placement(each.sample, slot)
            elif ahead <= JUMP_S and (following is None or following >= slot):
                yield self._accept(each.sample, slot)
            else:
                why = "no sample followed" if following is None else "the next sample did not confirm it"
                yield Placement(each.sample, slot, f"{ahead:,.0f} s after the previous sample, and {why}")

    # ── stamps that repeat ──

    def _is_repeat(self, sample: Sample) -> bool:
        return sample.microseconds == self.stamp and sample.seq > self.seq and (self.is_still or not self.suspects)

    def _has_stopped(self) -> bool:
        if self.is_still or len(self.repeats) >= max(_MANY, 2 * self.shared):
            return True
        times = [each.arrived for each in self.repeats if each.arrived is not None]
        if len(times) < _REPEATS:
            return False
        return median(b - a for a, b in pairwise(times)) >= 0.5 / self.rate_hz

    def _settle_repeats(self, sample: Sample) -> Iterator[Placement]:
        """A new stamp decides whether the clock had stopped or several samples shared a second."""
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
        """A column for each sample, at the previous pace of the logger."""
        if not self.is_reported:
            self.notes.append((self.repeats[0].sample, f"the clock has stopped at {stamp(self.stamp)}; samples "
                               "are timed by sequence number until it runs again"))  # fmt: skip
            self.is_reported = True
        if not self.is_still:
            self.at, self.is_still = float(self.newest), True
        waiting, self.repeats = self.repeats, []
        pace = fmean(self.steps or [1]) or 1.0
        for each in waiting:
            self.at += pace * (each.sample.seq - self.seq if each.sample.seq - self.seq <= NUMBERS else 1)
            yield self._accept(each.sample, int(self.at + 1e-6), is_step=False)

    # ── save and restore ──

    def state(self) -> dict[str, Any]:
        """The complete state, for JSON."""
        kept = {name: getattr(self, name) for name in _KEPT}
        waiting = {name: [(each.sample.original.decode(), each.arrived) for each in getattr(self, name)]
                   for name in ("repeats", "suspects")}  # fmt: skip
        return kept | waiting | {"steps": list(self.steps), "anchors": self.anchors}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`."""
        for name in _KEPT:
            setattr(self, name, state[name])
        self.anchors = [(int(column), int(time)) for column, time in state["anchors"]]
        self.steps = deque(state["steps"], maxlen=_STEPS)
        self.repeats, self.suspects = (
            [Waiting(parse_sample(text.encode()), arrived) for text, arrived in state[name]]
            for name in ("repeats", "suspects")
        )


_KEPT = ("newest", "seq", "stamp", "agreed", "shared", "at", "is_still", "is_reported")
