"""How well the samples of a live stream arrive: their age, gaps, and the share received."""

from __future__ import annotations

from collections import deque

from pc2dae.edge.messages import Sample
from pc2dae.web.live.live_models import LinkState, Status

LATE, SILENT = 3.0, 10.0  # sampling intervals without a sample; intervals shorter than a second count as one
_WINDOW_MS = 60_000
_CLOCK_MS = (-2_000, 10_000)  # a stamp this far behind its arrival is plausible
_YEAR_MS = 365 * 86_400_000
_KEPT = 20_000  # samples, for replays at high speed


class Link:
    """Judges the newest flight of a stream by its samples; all times in ms since 1970."""

    def __init__(self) -> None:
        self.rate_hz = 1.0
        self.restart(None)

    def restart(self, flight: str | None) -> None:
        """Forget everything, and judge a flight from its first sample on."""
        self.flight = flight
        self.seq, self.stamp, self.arrived = -1, 0, 0  # of the newest sample
        self.first = 0  # when the first one arrived
        self.offset = 0  # least delay between a stamp and its arrival
        self.gaps = 0
        self.speed: float | None = None
        self.is_ended = False
        self.latency_s: float | None = None
        self.recent: deque[tuple[int, int]] = deque(maxlen=_KEPT)  # arrival and number

    @property
    def interval_s(self) -> float:
        """The expected time between two samples, at least a second."""
        return max(1.0, 1.0 / (self.rate_hz * (self.speed or 1.0)))

    @property
    def is_clock_plausible(self) -> bool:
        """Whether the stamps fit this computer's clock."""
        return self.flight is not None and self.speed is None and _CLOCK_MS[0] <= self.offset <= _CLOCK_MS[1]

    def take(self, sample: Sample, now: int) -> None:
        """A sample has arrived."""
        stamp, is_first = sample.microseconds // 1000, sample.flight != self.flight
        if is_first:
            self.restart(sample.flight)
            self.first = now
        is_renumbered = sample.seq <= self.seq and stamp > self.stamp
        is_newest = sample.seq > self.seq or is_renumbered
        if is_newest and not is_first:
            is_late = stamp - self.stamp > 1000 * LATE / self.rate_hz
            self.gaps += not is_renumbered and (sample.seq > self.seq + 1 or is_late)
        if is_renumbered:
            self.recent.clear()
        if is_newest:
            was_set_back = stamp < self.stamp
            self.offset = now - stamp if is_first or was_set_back else min(self.offset, now - stamp)
            self.seq, self.stamp, self.arrived = sample.seq, stamp, now
        self.speed, self.is_ended = sample.replay, self.is_ended or sample.end
        self.recent.append((now, sample.seq))

    def estimated(self, stamp: int, arrived: int | None, now: int) -> None:
        """An estimate has arrived; its sample had `arrived`, if it was seen."""
        if arrived is None:
            self.latency_s = (now - stamp) / 1000 if self.is_clock_plausible else None
        else:
            self.latency_s = (now - arrived + (max(arrived - stamp, 0) if self.is_clock_plausible else 0)) / 1000

    def age_s(self, now: int) -> float | None:
        """Age of the newest sample: by its stamp, or since its arrival if the stamps do not fit the clock."""
        if self.flight is None:
            return None
        return max(0.0, (now - (self.stamp if self.is_clock_plausible else self.arrived)) / 1000)

    def quality(self, now: int) -> float | None:
        """Share of the samples received of those sent in the last minute; those due in a silence count as sent."""
        while self.recent and self.recent[0][0] < now - _WINDOW_MS:
            self.recent.popleft()
        if self.flight is None:
            return None
        numbers = {seq for _, seq in self.recent}
        sent = max(numbers) - min(numbers) + 1 if numbers else 0
        silence_s = min(now - self.arrived, _WINDOW_MS) / 1000
        due = 0.0 if self.is_ended else max(0.0, silence_s / self.interval_s - 1.0)
        return round(len(numbers) / (sent + due), 3) if sent + due else None

    def remark(self) -> str:
        """What is unusual about the stamps."""
        if self.flight is None or self.speed is not None or self.is_clock_plausible:
            return ""
        if self.offset > _YEAR_MS:
            return f"stamps are of {1970 + int(self.stamp / 31_556_952_000)}, probably a replay"
        side = "behind" if self.offset > 0 else "ahead of"
        return f"stamps are {_duration(abs(self.offset) / 1000)} {side} this computer's clock"

    def shown(self, now: int, *, is_on: bool, reason: str) -> LinkState:
        """The state of the link; `reason` says why there is no connection, if there is none."""
        if not is_on:
            return LinkState(status="off")
        age = self.age_s(now)
        if age is None or self.is_ended:
            ended = f"flight {self.flight} has ended" if self.is_ended else "no sample yet"
            return LinkState(status="waiting", gaps=self.gaps, latency_s=self.latency_s, reason=reason or ended)
        intervals = age / self.interval_s
        is_late = intervals > LATE or bool(reason)
        status: Status = "silent" if intervals > SILENT else "late" if is_late else "good"
        return LinkState(status=status, age_s=round(age, 1), latency_s=self.latency_s, gaps=self.gaps,
                         quality=self.quality(now), reason=reason or self.remark())  # fmt: skip


def _duration(seconds: float) -> str:
    for least, unit_s, unit in ((172_800, 86_400, "d"), (7_200, 3_600, "h"), (120, 60, "min")):
        if seconds >= least:
            return f"{seconds / unit_s:.0f} {unit}"
    return f"{seconds:.0f} s"
