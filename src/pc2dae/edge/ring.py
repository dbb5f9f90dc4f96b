"""The last samples of a stream, as columns in constant memory."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from pc2dae.arrays import Bits, Floats, Mask
from pc2dae.edge.engine import Stretch
from pc2dae.edge.levels import Levels
from pc2dae.flags import NOT_MEASURED

_ROOM = 512  # columns appended before the arrays are shifted


class Ring:
    """Columns `first` … `stop` − 1 of a record that starts with column 0; at least the last `keep` of them."""

    def __init__(self, rows: int, keep: int) -> None:
        self.keep, self.first, self.stop = keep, 0, 0
        size = keep + _ROOM
        self.values: Floats = np.full((rows, size), np.nan)
        self.seen: Mask = np.zeros((rows, size), bool)
        self.bits = np.zeros((rows, size), np.int32)
        self.count = np.zeros((rows, size), np.int32)  # samples averaged in this column
        self.new: Mask = np.zeros((rows, size), bool)
        self.levels = Levels.filled((rows, size))
        self.environment: Floats = np.full((3, size), np.nan)

    @property
    def arrays(self) -> dict[str, Floats]:
        """All arrays, by name."""
        names = ("values", "seen", "new", "bits", "count", "environment")
        levels = {field.name: getattr(self.levels, field.name) for field in fields(Levels)}
        return {name: getattr(self, name) for name in names} | levels

    def push(self) -> int:
        """Append a column and return its index in the arrays."""
        if self.stop - self.first == self.values.shape[1]:
            drop = self.stop - self.first - self.keep
            for array in self.arrays.values():
                array[:, : self.keep] = array[:, drop:].copy()
            self.first += drop
        self.stop += 1
        return self.stop - 1 - self.first

    def put(self, at: int, values: Floats, bits: Bits, environment: Floats) -> None:
        """Write a sample to an empty column."""
        self.values[:, at], self.bits[:, at], self.environment[:, at] = values, bits, environment
        self.seen[:, at] = np.isfinite(values) & (bits & NOT_MEASURED == 0)
        self.count[:, at] = self.seen[:, at]

    def merge(self, at: int, values: Floats, bits: Bits, environment: Floats) -> None:
        """Average a sample into a column, or fill that column."""
        seen = np.isfinite(values) & (bits & NOT_MEASURED == 0)
        both, first = seen & self.seen[:, at], seen & ~self.seen[:, at]
        count = self.count[:, at] + 1
        mean = self.values[:, at] + (values - self.values[:, at]) / count
        self.values[:, at] = np.where(both, mean, np.where(first, values, self.values[:, at]))
        self.bits[:, at] = np.where(both, self.bits[:, at] | bits, np.where(first, bits, self.bits[:, at]))
        self.count[:, at] += seen
        self.seen[:, at] |= seen
        self.new[:, at] |= seen
        known = np.isfinite(environment)
        self.environment[known, at] = environment[known]

    def past(self, count: int) -> slice:
        """The indices of the last `count` columns."""
        end = self.stop - self.first
        return slice(max(end - count, 0), end)

    def stretch(self, start: int, stop: int, *, back: int, ahead: int) -> Stretch:
        """Columns `start` … `stop` − 1 with their context, as far as available."""
        first = max(start - back, self.first)
        at = slice(first - self.first, min(stop + ahead, self.stop) - self.first)
        levels = self.levels.each(lambda x: x[:, at])
        arrays = (self.values[:, at], self.seen[:, at], self.new[:, at], levels, self.environment[:, at])
        return Stretch(*arrays, slice(start - first, stop - first), first=first)
