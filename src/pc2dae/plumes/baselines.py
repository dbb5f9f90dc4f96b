"""Backgrounds to choose from, beside the running level of clean air."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from inspect import getmembers, isfunction

import numpy as np

from pc2dae.arrays import Array, Floats, Mask
from pc2dae.calibration.intervals import stamp
from pc2dae.errors import FlightError, Pc2daeError
from pc2dae.plumes.encounters import runs
from pc2dae.suite import Channel

RUNNING, PERCENTILE, CLEAN_AIR, STATED, PYBASELINES = "running", "percentile", "clean-air", "stated", "pybaselines"
BACKGROUNDS = (RUNNING, PERCENTILE, f"{PERCENTILE}:P", CLEAN_AIR, STATED, f"{PYBASELINES}:NAME")
_PERCENT = 10.0  # percentile that is taken as clean air
_POINTS = 1000  # length of a record for which the defaults of baseline methods are made
_LEAST_S = 60.0  # of a stretch of clean air that is found …
_MOST_S = 300.0  # … and how much of it is averaged
_SHOWN = 12  # names in an error
_NOT_ALONE = {"collab_pls", "interp_pts"}  # baseline methods that need more than one record

Period = tuple[np.datetime64, np.datetime64]


@dataclass(frozen=True)
class Background:
    """A choice of background: its kind, the percentile [%] or the name of a baseline method."""

    kind: str = RUNNING
    percent: float = _PERCENT
    method: str = ""


def parse_background(text: str) -> Background:
    """A background as users write it: running, percentile[:P], clean-air, stated or pybaselines:NAME.

    >>> parse_background("percentile:5")
    Background(kind='percentile', percent=5.0, method='')
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
    if kind == PYBASELINES:
        if argument not in (names := baseline_methods()):
            raise Pc2daeError(f"unknown method '{argument}' of pybaselines", hint=_nearest_first(argument, names))
        return Background(kind, method=argument)
    if colon or kind not in (RUNNING, PERCENTILE, CLEAN_AIR, STATED):
        raise Pc2daeError(f"unknown background '{text}'", hint=_nearest_first(text, BACKGROUNDS))
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


def baseline_methods() -> list[str]:
    """Names of the baseline methods of pybaselines that need one record only."""
    from pybaselines import Baseline

    return [name for name, _ in getmembers(Baseline, isfunction) if name[0] != "_" and name not in _NOT_ALONE]


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
    if choice.kind == CLEAN_AIR:
        return _line(x, seen, channel.name, periods)
    return _baseline(choice.method, x)


def clean_periods(
    time: Sequence[np.datetime64] | Array, clean: Mask, stated: Iterable[Period], *, rate_hz: float
) -> list[tuple[int, int]]:
    """Clean air through which a line is drawn, [start, stop) samples: the stated periods.

    Without any, what is `clean` for a minute or more at the beginning and at the end of the record, five minutes of
    each; or the longest such stretch if there is one only.
    """
    t = np.asarray(time)
    found = []
    for start, end in stated:
        first, last = (int(i) for i in np.searchsorted(t, [start, end]))
        if last - first < 1:
            raise FlightError(
                f"no samples of clean air from {start} to {end}", hint=f"the flight is from {t[0]} to {t[-1]} (UTC)"
            )
        found.append((first, last))
    if found:
        return sorted(found)
    most = round(_MOST_S * rate_hz)
    long = [(int(a), int(b)) for a, b in runs(clean) if b - a >= _LEAST_S * rate_hz]
    if not long:
        raise FlightError("no clean air of a minute or more was found", hint="state some with --clean-air START/END")
    (begin, a), (b, finish) = long[0], long[-1]
    return [(begin, min(a, begin + most)), (max(b, finish - most), finish)] if len(long) > 1 else long


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


def _baseline(method: str, x: Array) -> Array:
    """A baseline by pybaselines with its defaults, of means so long that the record has up to 1,000 of them."""
    from pybaselines import Baseline

    size = -(-len(x) // _POINTS)
    pad = np.concatenate([x, np.full(-len(x) % size, x[-1])])
    means = pad.reshape(-1, size).mean(axis=1)
    at = np.minimum((np.arange(len(means)) + 0.5) * size - 0.5, len(x) - 1.0)
    fit: Callable[[Array], tuple[Array, dict[str, object]]] = getattr(Baseline(at), method)
    try:
        level, _ = fit(means)
    except (ValueError, TypeError, IndexError, np.linalg.LinAlgError) as error:
        raise FlightError(
            f"pybaselines:{method} fails on this record: {error}", hint="choose another background"
        ) from error
    return np.interp(np.arange(len(x)), at, level)


def _nearest_first(name: str, choices: Iterable[str]) -> str:
    near = sorted(choices, key=lambda choice: -SequenceMatcher(None, name.lower(), choice.lower()).ratio())
    more = f" and {len(near) - _SHOWN} more" if len(near) > _SHOWN else ""
    return f"choose one of {', '.join(near[:_SHOWN])}{more}"
