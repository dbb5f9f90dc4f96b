"""Quality checks of a live stream: of each sample, given the previous ones."""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Bits, Floats, Mask
from pc2dae.flags import BELOW_DETECTION, MISSING, OUT_OF_RANGE, SATURATED, SPIKE, STALE
from pc2dae.sentinels import Extent, is_impossible, is_listed, is_lone, is_wrapped
from pc2dae.suite import Suite


class LiveChecks:
    """Flags of a sample that its sender has not screened: missing, stale, and `limits` of the corrected values.

    Sentinels are compared with earlier values, not with the whole flight as in `qc.screen`: a channel's first sample is
    a sentinel if it is listed, and wrapped integers within the range are found after 30 samples. Stuck channels are not
    flagged, since their first repeats look like any others; of spikes, only values of more than twice `valid_max` after
    one that is not above it.
    """

    def __init__(self, suite: Suite) -> None:
        channels = suite.channels
        self.missing = np.array(suite.missing, dtype=np.float64)
        self.low = _column([c.valid_min for c in channels], -np.inf)
        self.reading_low = _column([c.reading_limits[0] for c in channels], -np.inf)
        self.high = _column([c.valid_max for c in channels], np.inf)
        self.bound = _column([c.lower_bound for c in channels], 0.0)
        self.detection = _column([c.detection_limit for c in channels], -np.inf)
        self.ordinary = Extent.empty(len(channels))
        self.is_slow = np.array([c.native_rate_hz is not None and c.native_rate_hz < suite.rate_hz for c in channels])

    def __call__(self, values: Floats, before: Floats) -> Bits:
        """Missing and stale readings (channel); stale is a slow sensor's repeat of its last value, in `before`."""
        is_first = self.ordinary.count == 0
        if is_first.any():  # samples screened by their sender were not checked here
            self._learn(before, is_first)
        absent = ~np.isfinite(values) | (values[:, None] == self.missing).any(axis=1)
        absent |= is_listed(values, self.ordinary) | is_wrapped(values, self.ordinary)
        is_end = (values == 0) | (values == self.bound) | (values == self.low) | (values == self.high)
        bits = np.where(self.is_slow & (values == before) & ~is_end, STALE, 0)
        bits |= np.where(is_lone(values, before, self.high), SPIKE, 0)
        self._learn(values, ~absent)
        return np.where(absent, MISSING, bits).astype(np.int32)

    def limits(self, values: Floats) -> Bits:
        """Bits of `values` (channel) that follow from their channels' limits."""
        bits = np.where(values >= self.high, SATURATED, 0)
        bits = np.where((values < self.low) | is_impossible(values, self.high), OUT_OF_RANGE, bits)
        return (bits | np.where(values < self.detection, BELOW_DETECTION, 0)).astype(np.int32)

    def _learn(self, values: Floats, where: Mask) -> None:
        """Extend the ordinary range by plausible values."""
        possible = np.isfinite(values) & (values >= self.reading_low) & (values <= self.high)
        self.ordinary = self.ordinary.extended(values, where & possible)


def _column(limits: list[float | None], otherwise: float) -> Floats:
    return np.array([otherwise if limit is None else limit for limit in limits], dtype=np.float64)
