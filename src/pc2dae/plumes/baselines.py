"""Backgrounds to choose from, beside the running level of clean air."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.calibration.intervals import stamp
from pc2dae.errors import FlightError, Pc2daeError, nearest_first
from pc2dae.plumes.detection import CLEANEST, RUNNING, UNCLEAN
from pc2dae.plumes.encounters import runs
from pc2dae.suite import Channel

PERCENTILE, CLEAN_AIR, STATED = "percentile", "clean-air", "stated"
BACKGROUNDS = (RUNNING, PERCENTILE, f"{PERCENTILE}:P", CLEAN_AIR, STATED)
_PERCENT = 10.0  # percentile that is taken as clean air
_LEAST_S = 60.0  # of a stretch of clean air that is found …
_MOST_S = 300.0  # … and how much of it is averaged

Period = tuple[np.datetime64, np.datetime64]


@dataclass(frozen=True)
class Background:
    """A choice of background: its kind and, of a percentile, which [%]."""

    kind: str = RUNNING
    percent: float = _PERCENT


@dataclass(frozen=True)
class BackgroundUsed:
    """The background of a flight's numbers, and what speaks against it."""

    kind: str  # RUNNING, CLEANEST, UNCLEAN, or a choice
    clean_share: float  # of the record that is clean air
    smoky: tuple[Period, ...] = ()  # stated clean air that is smoke

    @property
    def is_good(self) -> bool:
        """Whether it was taken from clean air."""
        return self.kind != UNCLEAN and not self.smoky

    def facts(self) -> dict[str, object]:
        """For JSON."""
        smoky = ["/".join(map(_stamp, period)) for period in self.smoky]
        return {"kind": self.kind, "clean_share": self.clean_share, "is_good": self.is_good, "smoky": smoky,
                "reason": self.reason}  # fmt: skip

    @property
    def reason(self) -> str:
        """Which background was used, and why; in one line."""
        share = f"{100 * self.clean_share:.0f} % of the record"
        if self.smoky:
            parts = ", ".join("/".join(map(_stamp, period)) for period in self.smoky)
            return f"stated clean air {parts} is itself in smoke: state other periods with --clean-air START/END"
        return {
            RUNNING: f"running level of the clean air between encounters, {share}",
            CLEANEST: f"level of the cleanest parts, {share}: smoke is its normal state",
            UNCLEAN: "no clean air in this record, all of it may be smoke: mark a minute of air before or after the"
                     " smoke with --clean-air START/END, or state the key `background` of the channels",
        }.get(self.kind, f"{self.kind}, as chosen")  # fmt: skip


def parse_background(text: str) -> Background:
    """A background as users write it: running, percentile[:P], clean-air or stated.

    >>> parse_background("percentile:5")
    Background(kind='percentile', percent=5.0)
    """
    kind, colon, argument = text.partition(":")
    if kind == PERCENTILE and colon:
        try:
            percent = float(argument)
        except ValueError:
            percent = np.nan
        if not 0.0 <= percent <= 100.0:
            raise Pc2daeError(f"invalid percentile '{argument}'", hint="give a number from 0 to 100, as percentile:5")
        return Background(kind, percent)
    if colon or kind not in (RUNNING, PERCENTILE, CLEAN_AIR, STATED):
        raise Pc2daeError(f"unknown background '{text}'", hint=nearest_first(text, BACKGROUNDS))
    return Background(kind)


def parse_period(text: str) -> Period:
    """A period of clean air written as START/END.

    >>> parse_period("2025-10-06T16:00Z/2025-10-06T10:03-06:00")[1]
    np.datetime64('2025-10-06T16:03:00.000000000')
    """
    where = f"--clean-air {text}"
    parts = text.split("/")
    if len(parts) != 2:
        raise FlightError(f"{where} is not START/END", hint="as in 2025-10-06T16:00Z/2025-10-06T16:03Z")
    return stamp(parts[0], where), stamp(parts[1], where)


def chosen_level(
    choice: Background, values: Floats, seen: Mask, channel: Channel, *, periods: Sequence[tuple[int, int]]
) -> Array:
    """The background of one channel (time,), `periods` being the clean air of a line, [start, stop) samples each."""
    x = np.asarray(values, np.float64)
    if choice.kind == PERCENTILE:
        return np.full(len(x), np.percentile(x[seen], choice.percent))
    if choice.kind == STATED:
        if channel.background is None:
            raise FlightError(
                f"the suite states no background for {channel.name}", hint="add the key `background` to the channel"
            )
        return np.full(len(x), channel.background)
    return _line(x, seen, channel.name, periods)


def clean_periods(
    time: Sequence[np.datetime64] | Array, clean: Mask, stated: Iterable[Period], *, rate_hz: float
) -> list[tuple[int, int]]:
    """Clean air through which a line is drawn, [start, stop) samples: the stated periods.

    Without any, what is `clean` for a minute or more at the beginning and at the end of the record, five minutes of
    each; or the longest such stretch if there is one only.
    """
    if found := sorted(stated_samples(time, period) for period in stated):
        return found
    most = round(_MOST_S * rate_hz)
    long = [(int(a), int(b)) for a, b in runs(clean) if b - a >= _LEAST_S * rate_hz]
    if not long:
        raise FlightError("no clean air of a minute or more was found", hint="state some with --clean-air START/END")
    (begin, a), (b, finish) = long[0], long[-1]
    return [(begin, min(a, begin + most)), (max(b, finish - most), finish)] if len(long) > 1 else long


def stated_samples(time: Sequence[np.datetime64] | Array, period: Period) -> tuple[int, int]:
    """[start, stop) samples of a stated period; an error if it has none."""
    t = np.asarray(time)
    first, last = (int(i) for i in np.searchsorted(t, period))
    if last - first < 1:
        start, end, begin, finish = map(_stamp, (*period, t[0], t[-1]))
        raise FlightError(f"no samples of clean air from {start} to {end}", hint=f"the flight is {begin}/{finish}")
    return first, last


def within_flight(periods: Iterable[Period], time: Array) -> list[Period]:
    """The periods that a flight has samples of; others are of another flight of the same payload or campaign."""
    return [(start, end) for start, end in periods if start <= time[-1] and end > time[0]]


def _line(x: Array, seen: Mask, name: str, periods: Sequence[tuple[int, int]]) -> Array:
    """Straight lines between the means of the periods, constant before the first and after the last."""
    at, level = [], []
    for start, stop in periods:
        index = start + np.flatnonzero(seen[start:stop])
        if len(index):
            at.append(float(index.mean()))
            level.append(float(x[index].mean()))
    if not at:
        raise FlightError(
            f"{name} was not observed in clean air", hint="state other periods with --clean-air START/END"
        )
    return np.interp(np.arange(len(x)), at, level)


def _stamp(time: np.datetime64) -> str:
    return f"{time.astype('datetime64[s]')}Z"
