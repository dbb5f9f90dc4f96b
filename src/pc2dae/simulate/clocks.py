"""Simulated sampling times, clock errors and data loss of instrument loggers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array, Mask
from pc2dae.flags import MISSING


@dataclass(frozen=True)
class Clock:
    """A clock with an error: it shows true time + offset_s + drift_ppm·1e-6·(time since take-off)."""

    offset_s: float
    drift_ppm: float

    def shows(self, start: np.datetime64, times_s: Array) -> NDArray[np.datetime64]:
        """Displayed time at true times [s after `start`]."""
        shown = times_s * (1 + 1e-6 * self.drift_ppm) + self.offset_s
        return np.asarray(start.astype("datetime64[ns]") + np.rint(shown * 1e9).astype("timedelta64[ns]"))


GPS_CLOCK = Clock(0.0, 0.0)


def own_clock(rng: np.random.Generator) -> Clock:
    """Random clock of a small logger: set manually to within a few seconds, drift of tens of ppm."""
    return Clock(float(np.clip(rng.normal(0.0, 2.2), -6.0, 6.0)), float(rng.normal(0.0, 18.0)))


@dataclass(frozen=True)
class Sampling:
    """Rows that a logger keeps, and rows that it loses while the instrument keeps measuring."""

    every_s: Array  # true time of each row, kept or lost
    lost: list[tuple[float, float]]  # gaps: true start and end [s]

    @property
    def kept(self) -> Mask:
        """Mask of the rows in `every_s` that the logger keeps."""
        return _outside(self.every_s, self.lost)

    @property
    def times_s(self) -> Array:
        """True time of each row in the log."""
        return np.asarray(self.every_s[self.kept])


def sampling(
    rng: np.random.Generator,
    samples: int,
    *,
    rate_hz: float = 1.0,
    jitter_s: float = 0.01,
    gaps_per_hour: float = 3.0,
    repeats_per_hour: float = 0.0,
) -> Sampling:
    """Random row times of a logger with a late start, jitter, dropouts of several seconds and duplicated rows."""
    first = float(rng.uniform(0.15, 0.85)) / rate_hz
    times = first + np.arange(int((samples - first) * rate_hz)) / rate_hz
    times = np.clip(times + np.abs(rng.normal(0, jitter_s, len(times))), 0.0, samples - 1e-3)
    lost = []
    for _ in range(rng.poisson(gaps_per_hour * samples / 3600)):
        begin = float(rng.uniform(0.05, 0.95) * samples)
        lost.append((begin, begin + float(rng.gamma(2.0, 2.5))))
    kept = times[_outside(times, lost)]
    twice = rng.choice(len(kept), rng.poisson(repeats_per_hour * samples / 3600))
    return Sampling(np.sort(np.concatenate([times, kept[twice]])), sorted(lost))


def _outside(times_s: Array, gaps: list[tuple[float, float]]) -> Mask:
    outside = np.ones(len(times_s), dtype=bool)
    for begin, end in gaps:
        outside &= (times_s < begin) | (times_s >= end)
    return outside


def on_seconds(times_s: Array, values: Array, samples: int) -> Array:
    """Mean of the rows in each true second; seconds without rows are interpolated linearly."""
    good = np.isfinite(values)
    second = times_s[good].astype(int)
    counts = np.bincount(second, minlength=samples)
    have = np.flatnonzero(counts)
    means = np.bincount(second, values[good], minlength=samples)[have] / counts[have]
    return np.interp(np.arange(samples), have, means)


def response_on_seconds(rows: Sampling, values: Array, samples: int) -> Array:
    """The noise-free reading per true second, from its `values` at `rows.every_s`.

    Logged seconds are the mean of their logged rows. If all rows of a second were lost, the sensor kept measuring, and
    the mean of the lost rows is used.
    """
    logged = lost_seconds(rows, samples) == 0
    counts = rows.kept | ~logged[rows.every_s.astype(int)]
    return on_seconds(rows.every_s[counts], values[counts], samples)


def lost_seconds(rows: Sampling, samples: int) -> NDArray[np.int32]:
    """Flag bits per true second: MISSING where the logger kept no row."""
    bits = np.full(samples, MISSING, dtype=np.int32)
    bits[rows.times_s.astype(int)] = 0
    return bits
