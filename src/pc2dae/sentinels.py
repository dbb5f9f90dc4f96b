"""Numbers that loggers write for missing values, recognised even if the suite does not list them (numpy only).

Three kinds: any |x| ≥ 1e20; a listed number far from the other values of its channel; and negative readings of a
16-bit register that was read as unsigned. In case of doubt a value is kept: a plume that passes through 65535 has
other values near it.

Above the end of a sensor's range, `valid_max`, a value is a lower limit of the air unless one of three holds:
it is more than ten times `valid_max`; it is a listed number or a negative wrapped to 16 bits, however few values
there are to compare it with; or it is more than twice `valid_max` with no sample above `valid_max` beside it, a spike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Array, Floats, Mask

HUGE = 1e20  # no unit of this field reaches it; the fill values of netCDF (9.97e36) and GRIB (1e20) do
LISTED = (
    -9999.0,  # ICARTT, AmeriFlux and most loggers
    -9999.9,
    -999.0,
    -999.9,
    -999.99,
    -99.99,
    -99999.0,
    65535.0,  # largest and smallest integers of 16 and 32 bits, signed and unsigned
    32767.0,
    -32768.0,
    2147483647.0,
    -2147483648.0,
    4294967295.0,
    2147483.647,  # the 32-bit integer in thousandths: CO of a GreenBox payload
)
_LISTED = np.unique(np.concatenate([LISTED, np.array(LISTED, np.float32)]))  # a logger may have stored it in 32 bits
_TWICE = 2.0  # a listed number is at least this many times as far from zero as other values of its sign
_RANGES = 10.0  # or this many times their range away from them,
_SHARE = 0.1  # and this share of its own size,
_ENOUGH = 30  # if there are at least this many values
_IMPOSSIBLE = 10.0  # times valid_max: PM10 of a real sensor in smoke reaches 8, damaged rows of its log 17
_LONE = 2.0  # times valid_max: so far beyond its range a sensor has passed the end of it before or after
_WRAPPED = (64536.0, 65535.0)  # −1000 … −1 read as unsigned 16 bits
_WRAPPED_TIMES = 4.0  # wrapped values are at least this many times the others: a whole range is suspect, so stricter


@dataclass(frozen=True)
class Extent:
    """The ordinary values of channels so far: each array (channel), or scalars of one channel."""

    low: Array
    high: Array
    count: NDArray[np.int64]
    is_whole: Mask  # all of them are integers

    @classmethod
    def empty(cls, channels: int) -> Extent:
        """The summary of channels without values."""
        shape = (channels,)
        return cls(np.full(shape, np.inf), np.full(shape, -np.inf), np.zeros(shape, np.int64), np.ones(shape, bool))

    def extended(self, values: Floats, ordinary: Mask) -> Extent:
        """The summary with one more value of each channel, where `ordinary`."""
        return Extent(
            np.where(ordinary, np.minimum(self.low, values), self.low),
            np.where(ordinary, np.maximum(self.high, values), self.high),
            self.count + ordinary,
            self.is_whole & (~ordinary | (values == np.round(values))),
        )


def find_sentinels(values: Floats, usable: Mask | None = None) -> Mask:
    """Which values of one whole channel, (time,), are sentinels; only `usable` ones define what is ordinary.

    >>> find_sentinels(np.array([401.0, -9999.0, 402.0, 65535.0, 1e38]))
    array([False,  True, False,  True,  True])
    >>> find_sentinels(np.array([60000.0, 65535.0, 61000.0]))
    array([False, False, False])
    """
    x = np.asarray(values, np.float64)
    ordinary = np.isfinite(x) & (np.abs(x) < HUGE) & ~_in_list(x)
    if usable is not None:
        ordinary &= usable
    wrapped = is_wrapped(x, _extent(x[ordinary & ~_looks_wrapped(x)]))
    return np.asarray(wrapped | is_listed(x, _extent(x[ordinary & ~wrapped])))


def is_listed(values: Floats, others: Extent) -> Mask:
    """Huge values, and listed ones far from the `others` of their channel."""
    finite = np.isfinite(values)
    x = np.where(finite, values, 0.0)
    negative, positive = np.minimum(others.low, 0.0), np.maximum(others.high, 0.0)
    apart = np.where(x < 0, x <= _TWICE * negative, x >= _TWICE * positive)
    beyond = np.maximum(others.low - x, x - others.high)
    far = (beyond > _RANGES * (others.high - others.low)) & (beyond > _SHARE * np.abs(x))
    apart |= far & (others.count >= _ENOUGH)
    return np.asarray(finite & ((np.abs(x) >= HUGE) | _in_list(x) & apart))


def is_wrapped(values: Floats, others: Extent) -> Mask:
    """Integers just below 2¹⁶ in a channel of small integers that was never below zero."""
    unsigned = others.is_whole & (others.low >= 0) & (others.count >= _ENOUGH)
    return np.asarray(_looks_wrapped(values) & unsigned & (values >= _WRAPPED_TIMES * others.high))


def is_impossible(values: Floats, valid_max: Floats | float) -> Mask:
    """Values above `valid_max` that are not lower limits: too far above it, sentinels, or wrapped integers.

    >>> is_impossible(np.array([999.0, 2137.0, 16973.0]), 1000.0), is_impossible(np.array([65493.0]), 20000.0)
    (array([False, False,  True]), array([ True]))
    """
    above = np.asarray(values > valid_max)
    if not above.any():  # nearly always, and in a stream at every sample
        return above
    far = values > valid_max + (_IMPOSSIBLE - 1) * np.abs(valid_max)
    return np.asarray(far | above & (_in_list(values) | _looks_wrapped(values)))


def is_lone(values: Floats, beside: Floats, valid_max: Floats | float) -> Mask:
    """Values of more than twice `valid_max` if that beside them, the highest neighbour, is not above `valid_max`."""
    return np.asarray((values > valid_max + (_LONE - 1) * np.abs(valid_max)) & (beside <= valid_max))


def describe(values: Floats) -> list[str]:
    """A summary such as "12 samples of -9999 taken as missing (sentinel)"."""
    x = np.asarray(values, np.float64)
    wrapped = _looks_wrapped(x) & ~_in_list(x)
    kinds = ((x[~wrapped], "sentinel"), (x[wrapped], "wrapped integer"))
    return [f"{_counted(found)} taken as missing ({kind})" for found, kind in kinds if len(found)]


def _counted(values: Array) -> str:
    distinct = [f"{value:.12g}" for value in np.unique(values)]
    numbers = ", ".join(distinct) if len(distinct) <= 3 else f"{distinct[0]} to {distinct[-1]}"
    return f"{len(values):,} sample{'' if len(values) == 1 else 's'} of {numbers}"


def _in_list(values: Floats) -> Mask:
    """Which values are listed; np.isin takes ten times as long for the few of a live sample."""
    return np.asarray(_LISTED[np.searchsorted(_LISTED[:-1], values)] == values)


def _looks_wrapped(values: Floats) -> Mask:
    return np.asarray((values >= _WRAPPED[0]) & (values <= _WRAPPED[1]) & (values == np.round(values)))


def _extent(values: Array) -> Extent:
    low, high = (values.min(), values.max()) if len(values) else (np.inf, -np.inf)
    return Extent(np.array(low), np.array(high), np.array(len(values)), np.array(np.all(values == np.round(values))))
