"""NDIR readings of a stream, corrected for the pressure and humidity of its last messages."""

from __future__ import annotations

import numpy as np

from pc2dae.arrays import Array, Bits, Floats
from pc2dae.calibration.ndir import correct_with_held_air, plausible_air
from pc2dae.flags import MISSING, OUTSIDE_CALIBRATION
from pc2dae.suite import Suite


class LiveNdir:
    """The last plausible air and the last readings, as of some second of the stream."""

    def __init__(self, suite: Suite) -> None:
        self.rate_hz = suite.rate_hz
        self.channels = {row: channel for row, channel in enumerate(suite.channels) if channel.is_ndir}
        self.air, self.since = np.full(3, np.nan), np.full(3, -np.inf)
        self.readings, self.second = np.full(len(self.channels), np.nan), -1.0

    def uncorrected(self, values: Floats, second: int) -> Floats:
        """Corrected `values` (channel) of a second with the readings instead, NaN if another second was the last."""
        found = values.copy()
        found[list(self.channels)] = self.readings if second == self.second else np.nan
        return found

    def __call__(self, values: Floats, bits: Bits, environment: Floats, second: int) -> tuple[Floats, Bits]:
        """Corrected values and flags (channel) of a sample of some second; missing until a pressure is known."""
        if not self.channels:
            return values, bits
        if second >= self.second:
            self.second, self.readings = second, values[list(self.channels)]
        air = plausible_air(environment)
        known = np.isfinite(air) & (second >= self.since)  # a late message does not replace what came after it
        self.air, self.since = np.where(known, air, self.air), np.where(known, second, self.since)
        age_s = (second - self.since)[:, None] / self.rate_hz
        values, bits = values.copy(), bits.copy()
        for row, channel in self.channels.items():
            value, outside = correct_with_held_air(values[[row]], self.air[:, None], age_s, channel)
            values[row] = value[0]
            bits[row] = MISSING if np.isnan(value[0]) else bits[row] | OUTSIDE_CALIBRATION * int(outside[0])
        return values, bits

    @property
    def state(self) -> Array:
        """All that the next samples depend on."""
        return np.concatenate([self.air, self.since, self.readings, [self.second]])

    @state.setter
    def state(self, state: Array) -> None:
        self.air, self.since, self.readings = state[:3].copy(), state[3:6].copy(), state[6:-1].copy()
        self.second = float(state[-1])
