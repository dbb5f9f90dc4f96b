"""When an instrument really samples, what its own clock calls that moment, and which rows its logger loses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pc2dae.flight.schema import MISSING
from pc2dae.simulate.processes import Array


@dataclass(frozen=True)
class Clock:
    """A clock that is wrong: it shows true time + offset_s + drift_ppm·1e-6·(time since take-off)."""

    offset_s: float
    drift_ppm: float

    def shows(self, start: np.datetime64, times_s: Array) -> NDArray[np.datetime64]:
        """What the clock shows at true times [s after `start`]."""
        shown = times_s * (1 + 1e-6 * self.drift_ppm) + self.offset_s
        return np.asarray(start.astype("datetime64[ns]") + np.rint(shown * 1e9).astype("timedelta64[ns]"))


GPS_CLOCK = Clock(0.0, 0.0)


def own_clock(rng: np.random.Generator) -> Clock:
    """A small logger's clock: set by hand to a few seconds, some tens of ppm off."""
    return Clock(float(np.clip(rng.normal(0.0, 2.2), -6.0, 6.0)), float(rng.normal(0.0, 18.0)))


@dataclass(frozen=True)
class Sampling:
    """The rows an instrument's logger keeps."""

    times_s: Array  # true time of each row
    lost: list[tuple[float, float]]  # gaps: true start and end [s]


def sampling(
    rng: np.random.Generator,
    samples: int,
    *,
    rate_hz: float = 1.0,
    jitter_s: float = 0.01,
    gaps_per_hour: float = 3.0,
    repeats_per_hour: float = 0.0,
) -> Sampling:
    """Row times of a logger that starts a little late, jitters, drops out for seconds and writes the odd row twice."""
    first = float(rng.uniform(0.15, 0.85)) / rate_hz
    times = first + np.arange(int((samples - first) * rate_hz)) / rate_hz
    times = np.clip(times + np.abs(rng.normal(0, jitter_s, len(times))), 0.0, samples - 1e-3)
    lost = []
    for _ in range(rng.poisson(gaps_per_hour * samples / 3600)):
        begin = float(rng.uniform(0.05, 0.95) * samples)
        lost.append((begin, begin + float(rng.gamma(2.0, 2.5))))
    keep = np.ones(len(times), dtype=bool)
    for begin, end in lost:
        keep &= (times < begin) | (times >= end)
    times = times[keep]
    twice = rng.choice(len(times), rng.poisson(repeats_per_hour * samples / 3600))
    return Sampling(np.sort(np.concatenate([times, times[twice]])), sorted(lost))


def on_seconds(times_s: Array, values: Array, samples: int) -> Array:
    """Mean of the rows in each true second; a second without rows lies on the straight line between its neighbours."""
    good = np.isfinite(values)
    second = times_s[good].astype(int)
    counts = np.bincount(second, minlength=samples)
    have = np.flatnonzero(counts)
    means = np.bincount(second, values[good], minlength=samples)[have] / counts[have]
    return np.interp(np.arange(samples), have, means)


def lost_seconds(rows: Sampling, samples: int) -> NDArray[np.int32]:
    """Flag bits per true second: MISSING where the logger kept no row."""
    bits = np.full(samples, MISSING, dtype=np.int32)
    bits[rows.times_s.astype(int)] = 0
    return bits
