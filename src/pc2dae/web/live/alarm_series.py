"""One live channel: 3-s median, noise, rate of rise, usual interval, and the alarms it is part of."""

from __future__ import annotations

from collections import deque
from statistics import median

import numpy as np

from pc2dae.web.live.alarm_limits import Alarm, AlarmKind, AlarmSource

SILENT_S = 10.0
MEDIAN_MS = 3_000
RISE_MS = 20_000
_LEAST_RISE = 5  # values
_KEPT_MS = 60_000
_MOST = 600  # values kept
_GAPS = 5.0  # times its usual interval: a slow channel is not silent


class RecentMedian:
    """Median of the raw samples of the last three seconds, at least of three samples."""

    def __init__(self) -> None:
        self.samples: deque[tuple[int, float]] = deque(maxlen=_MOST)

    def add(self, time_ms: int, value: float) -> float | None:
        """The median with this sample; None if there are fewer than three."""
        self.samples.append((time_ms, value))
        while len(self.samples) > 3 and abs(time_ms - self.samples[0][0]) >= MEDIAN_MS:
            self.samples.popleft()
        return median(v for _, v in self.samples) if len(self.samples) >= 3 else None


class RecentValues:
    """Values of the last minute."""

    def __init__(self) -> None:
        self.values: deque[tuple[int, float]] = deque(maxlen=_MOST)

    def add(self, time_ms: int, value: float) -> None:
        """Keep a value and forget old ones."""
        self.values.append((time_ms, value))
        while abs(time_ms - self.values[0][0]) > _KEPT_MS:  # or the clock was set back
            self.values.popleft()

    def noise(self) -> float:
        """Standard deviation of the noise, by the median of differences three values apart; 0 if not known."""
        values = [v for _, v in self.values]
        differences = [abs(b - a) for a, b in zip(values, values[3:], strict=False)]
        return 1.4826 * median(differences) / 2**0.5 if len(differences) >= 10 else 0.0

    def rise_per_min(self) -> float | None:
        """Theil-Sen slope of the last 20 s, which one wrong value cannot change much; None if there are too few."""
        newest = self.values[-1][0]
        recent = np.array([(t, v) for t, v in self.values if abs(newest - t) < RISE_MS])
        if len(recent) < _LEAST_RISE or np.ptp(recent[:, 0]) < RISE_MS / 2:
            return None
        first, second = np.triu_indices(len(recent), 1)
        steps, gains = recent[second, 0] - recent[first, 0], recent[second, 1] - recent[first, 1]
        return float(np.median(gains[steps != 0] / steps[steps != 0])) * 60_000


class Arrivals:
    """When a channel last had a value, and its usual interval."""

    def __init__(self, time_ms: int) -> None:
        self.last, self.usual_ms = time_ms, 0.0

    def add(self, time_ms: int) -> None:
        """Take the time of a value."""
        self.usual_ms += 0.1 * (time_ms - self.last - self.usual_ms)
        self.last = time_ms

    @property
    def longest_ms(self) -> float:
        """The longest interval that is not silence."""
        return max(SILENT_S * 1000, _GAPS * self.usual_ms)


class LimitSeries:
    """One channel of one flight, raw or estimated, and the alarms it is part of."""

    def __init__(self, flight: str, channel: str, source: AlarmSource) -> None:
        self.flight, self.channel, self.source = flight, channel, source
        self.median, self.recent = RecentMedian(), RecentValues()
        self.active: dict[AlarmKind, Alarm] = {}
