"""Conversion of time stamps (text, numbers, local time) to UTC; ambiguous stamps are refused."""

from __future__ import annotations

import re
from datetime import UTC, date, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import numpy as np
from numpy.typing import NDArray

from pc2dae.arrays import Mask
from pc2dae.errors import LogError, nearest
from pc2dae.logs.cells import Cells, Characters, different
from pc2dae.logs.zone_abbreviations import zone_hint

Times = NDArray[np.datetime64]
_DAY_FIRST = r"\s*(?P<one>\d{1,2})[-/.](?P<two>\d{1,2})[-/.](?P<last>\d{4}|\d\d(?!\d))"  # or month first
_STAMP = re.compile(
    rf"(?:\s*(?P<year>\d{{4}})(?=-\d+-|[/.]\d+[/.]).(?P<month>\d{{1,2}}).(?P<day>\d{{1,2}})|{_DAY_FIRST})"
    r"(?:[T ](?=\d\d)|[T ]+(?=\d:))(?P<hour>\d{1,2}):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?(?:\s*(?P<half>[apAP])\.?[mM]\.?)?"
    r"(?P<zone>\s*UTC|Z|[+-](?P<zone_hour>\d\d)(?::?(?P<zone_minute>\d\d))?)?\s*",
    re.ASCII,
)
_HALF_DAY = r"(?i)[T ](0?\d|1[0-2])(:\d\d){1,2}(\.\d+)?\s*[ap]\.?m"  # 01:05:00 PM
_CLOCK = re.compile(r"(?i)\s*\d?\d:\d\d(:\d\d([.,]\d+)?)?\s*([ap]\.?m\.?)?\s*(utc|z|[+-]\d\d(:?\d\d)?)?\s*")  # no date
_COUNTED = r"\s*\d{9,13}(\.\d*)?\s*"  # seconds or milliseconds since the epoch
_FIRST_YEAR = 1800  # nanoseconds reach from 1678 to 2262
_MONTHS = np.arange(f"{_FIRST_YEAR}-01", "2250-01", dtype="datetime64[M]").astype("datetime64[D]").astype(np.int64)
_EARLIEST, _LATEST = np.datetime64("1900-01-01", "ns"), np.datetime64("2200-01-01", "ns")


class NeedsChoice(LogError):
    """Ambiguous stamps or an invalid calibration sheet: the user must decide, so the file is not silently skipped."""


class StampParser:
    """Parses a file's stamps block by block, with the format determined by the first block."""

    def __init__(
        self,
        file: str,
        stamp_format: str | None = None,
        *,
        epoch: str = "1970-01-01",
        order: str | None = None,
        date: date | None = None,
    ) -> None:
        self.file = file
        self.format = stamp_format if date is None or stamp_format is None else f"%Y-%m-%d {stamp_format}"
        self.date = date  # of the first row, where stamps are times of day
        self.days = 0  # midnights since
        self.time_of_day = np.datetime64("NaT", "ns")  # of the last row
        self.epoch = np.datetime64(epoch, "ns")
        self.order = order  # "dmy" or "mdy", known from the instrument or decided by the first block
        self.may_shorten_years = order is not None  # 10/09/23 is unambiguous only if the instrument's order is known
        self.is_zoned: bool | None = None
        self.counts_milliseconds: bool | None = None  # of stamps that are numbers
        self.has_seconds = self.has_half_days = False  # if True, a stamp without them is truncated or damaged
        self.last = np.datetime64("NaT", "ns")
        self.hours: set[int] = set()
        self.half_day: tuple[int, str, str] | None = None  # line, stamps around a step back as of a 12-hour clock
        self.leap = 0

    def parse(self, cells: Cells, at: NDArray[np.int64]) -> Times:
        """The stamps as datetime64[ns], NaT where one cannot be read."""
        if self.date is None:
            self._check_date(cells, at)
            return self._parsed(cells, at)
        texts = [text if _CLOCK.fullmatch(text) or self.format else "" for text in cells.texts()]
        if not any(texts):
            raise LogError(f"{self.file}, line {int(at[0]):,}: '{cells[0].strip()}' is not a time of day",
                           hint="remove `date` from the suite's [time]")  # fmt: skip
        times = self._parsed(Cells.of([f"{self.date} {text.strip()}" for text in texts]), at)
        return self._past_midnights(times)

    def _check_date(self, cells: Cells, at: NDArray[np.int64]) -> None:
        """Refuse stamps that are times of day."""
        is_clock = not re.search("%[djxcsDF]", self.format) if self.format is not None else _CLOCK.fullmatch(cells[0])
        if is_clock:
            raise NeedsChoice(
                f"{self.file}, line {int(at[0]):,}: '{cells[0].strip()}' is a time of day without a date",
                hint='state the date of the first row in the suite: [time] date = "2025-10-05"',
            )

    def _past_midnights(self, times: Times) -> Times:
        """Times of one day with a day more after each step back by more than half a day."""
        good = np.flatnonzero(~np.isnat(times))
        if not len(good):
            return times
        steps = np.diff(times[good], prepend=self.time_of_day) / np.timedelta64(1, "h")
        days = self.days + np.cumsum((steps < -12).astype(int) - (steps > 23))  # +24 h: a late row of before midnight
        self.time_of_day, self.days = times[good[-1]], int(days[-1])
        moved = times.copy()
        moved[good] += days * np.timedelta64(1, "D")
        return moved

    def _parsed(self, cells: Cells, at: NDArray[np.int64]) -> Times:
        if self.format is not None:
            times = self._formatted(cells, at)
            if "%p" not in self.format and not self.is_zoned:
                self._look_for_half_days(times, at)
            return times
        times, is_zoned = self._read(cells, at)
        if is_zoned is not None:
            if self.is_zoned is not None and self.is_zoned != is_zoned:
                raise LogError(
                    f"{self.file}, line {int(at[0]):,}: some stamps carry a time zone and others do not",
                    hint="correct the stamps",
                )
            self.is_zoned = is_zoned
        times = np.where((times >= _EARLIEST) & (times < _LATEST), times, np.datetime64("NaT"))
        if not self.is_zoned and not self.has_half_days:
            self._look_for_half_days(times, at)
        return times

    def _look_for_half_days(self, times: Times, at: NDArray[np.int64]) -> None:
        """Record the hours of the day and the first step back by about half a day."""
        good = ~np.isnat(times)
        known = np.concatenate([[self.last], times[good]])
        self.hours |= set(np.flatnonzero(np.bincount(known[1:].astype("datetime64[h]").astype(np.int64) % 24)).tolist())
        back = np.diff(known)
        steps = (back <= -np.timedelta64(6, "h")) & (back > -np.timedelta64(12, "h"))
        if steps.any() and self.half_day is None:
            row = int(np.argmax(steps))
            old, new = (str(t.astype("datetime64[s]"))[11:] for t in known[row : row + 2])
            self.half_day = int(at[good][row]), old, new
        self.last = known[-1]

    def check(self) -> None:
        """Refuse, after all rows, a 12-hour clock without AM and PM."""
        if self.half_day is not None and self.hours <= set(range(1, 13)):
            line, old, new = self.half_day
            raise LogError(
                f"{self.file}, line {line:,}: the clock steps back from {old} to {new} and never shows 13 to 24 hours:"
                " a 12-hour clock without AM and PM?",
                hint="write stamps of 24 hours, or with AM and PM",
            )

    def _read(self, cells: Cells, at: NDArray[np.int64]) -> tuple[Times, bool | None]:
        """The stamps as they are written, and whether they include a time zone (None if there are none)."""
        matrix = cells.matrix()
        if (matrix > 127).any():
            matrix = Cells.of([text.strip() for text in cells.texts()]).matrix()
        digits = matrix - np.uint8(ord("0"))
        shapes, _, each = different(np.where(digits < 10, np.uint8(ord("0")), matrix))
        is_counted = np.array([re.fullmatch(_COUNTED, shape, re.ASCII) is not None for shape in shapes])[each]
        if is_counted.mean() > 0.5:
            return self._seconds(cells, is_counted), True
        found = self._fields(digits, shapes, each)
        if (found["one"] >= 0).any():
            self._order_fields(found, cells, at)
        good = found["hour"] >= 0
        if not self.has_half_days and any(re.search(_HALF_DAY, shape) for shape in shapes):
            self.has_half_days = any(re.search(_HALF_DAY, text) for text in cells.texts())
        if self.has_half_days:
            good &= (found["half"] >= 0) & (found["hour"] >= 1) & (found["hour"] <= 12)
            found["hour"] = found["hour"] % 12 + 12 * found["half"]
        else:
            good &= found["half"] < 0
        has_seconds = good & (found["second"] >= 0)
        self.has_seconds |= bool(has_seconds.any())
        good = has_seconds if self.has_seconds else good
        if not good.any():
            return np.full(len(cells), np.datetime64("NaT", "ns")), None
        are_zoned = found["zone"] >= 0
        is_zoned = bool(are_zoned[np.argmax(good)])
        others = good & (are_zoned != is_zoned)
        if others.any():
            raise LogError(
                f"{self.file}, line {int(at[np.argmax(others)]):,}: some stamps carry a time zone and others do not",
                hint="correct the stamps",
            )
        finest = found["second"] if self.has_seconds else found["minute"]
        leap = good & (finest == 60)
        self.leap += int(leap.sum())
        finest[leap] = 59
        times = _times(found, good)
        return times + leap * np.timedelta64(1, "s"), is_zoned

    def _fields(self, digits: Characters, shapes: list[str], each: NDArray[np.intp]) -> dict[str, NDArray[np.int64]]:
        """The numbers in each stamp, -1 where it has none; signs of zones as 0, 1, 2; AM and PM as 0 and 1."""
        found = {name: np.full(len(digits), -1, dtype=np.int64) for name in _STAMP.groupindex}
        for number, shape in enumerate(shapes):
            match = _STAMP.fullmatch(shape) or re.match(_DAY_FIRST, shape, re.ASCII)
            if match is None or (len(match["last"] or "") == 2 and not self.may_shorten_years):
                continue
            rows = slice(None) if len(shapes) == 1 else np.flatnonzero(each == number)
            for name, text in match.groupdict().items():
                if name == "half" and text:
                    found[name][rows] = "ap".index(text.lower())
                elif name == "zone" and text:
                    found[name][rows] = 1 + (text[0] == "+") - (text[0] == "-")
                elif text:
                    value = np.zeros(len(found[name][rows]), dtype=np.int64)
                    for place in range(*match.span(name)):
                        value = value * 10 + digits[rows, place]
                    found[name][rows] = value * (10 ** (9 - len(text)) if name == "fraction" else 1)
            if len(match["last"] or "") == 2:
                found["last"][rows] += 2000
        return found

    def _order_fields(self, found: dict[str, NDArray[np.int64]], cells: Cells, at: NDArray[np.int64]) -> None:
        """Tell days from months where the year is last; an error if no stamp does."""
        one, two = found["one"], found["two"]
        if self.order is None:
            if one.max() > 12 >= two.max():
                self.order = "dmy"
            elif two.max() > 12 >= one.max():
                self.order = "mdy"
            else:
                text = cells[0].strip()
                clock = "%I:%M:%S %p" if re.search(_HALF_DAY, text) else "%H:%M:%S"
                raise NeedsChoice(f"{self.file}, line {int(at[0]):,}: '{text}' may be day/month or month/day",
                               hint=f'say which in the suite: [time] format = "%d/%m/%Y {clock}"')  # fmt: skip
        where = one >= 0
        for name, values in zip(("day", "month") if self.order == "dmy" else ("month", "day"), (one, two), strict=True):
            found[name][where] = values[where]
        found["year"][where] = found["last"][where]

    def _seconds(self, cells: Cells, is_counted: Mask) -> Times:
        """Seconds (or milliseconds) since the epoch."""
        seconds = np.full(len(cells), np.nan)
        seconds[is_counted] = [float(text) for text in cells.texts(is_counted)]
        is_milliseconds = seconds > 1e11
        if self.counts_milliseconds is None:
            self.counts_milliseconds = bool(np.median(is_milliseconds[np.isfinite(seconds)]) > 0.5)
        seconds[is_milliseconds != self.counts_milliseconds] = np.nan  # a digit is missing or extra
        seconds /= 1000.0 if self.counts_milliseconds else 1.0
        seconds[seconds > 7e9] = np.nan  # the year 2191: nanoseconds wrap around soon after
        whole = np.floor(np.nan_to_num(seconds))
        nanoseconds = (
            whole.astype(np.int64) * 1_000_000_000
            + np.round((np.nan_to_num(seconds) - whole) * 1e6).astype(np.int64) * 1000
        )
        times: Times = self.epoch + nanoseconds.astype("timedelta64[ns]")
        return np.where(np.isnan(seconds), np.datetime64("NaT", "ns"), times)

    def _formatted(self, cells: Cells, at: NDArray[np.int64]) -> Times:
        import pandas as pd

        assert self.format is not None  # nosec B101  # for the type checker
        is_zoned = "%z" in self.format or "%Z" in self.format
        try:
            parsed = pd.to_datetime(
                pd.Series(cells.texts(), dtype=object), format=self.format, errors="coerce", utc=is_zoned
            )
        except (ValueError, TypeError) as error:
            raise LogError(
                f"{self.file}, line {int(at[0]):,}: the suite's time format '{self.format}' cannot be used ({error})"
            ) from None
        self.is_zoned = is_zoned
        if is_zoned:
            parsed = parsed.dt.tz_convert("UTC").dt.tz_localize(None)
        times = parsed.to_numpy(dtype="datetime64[ns]")
        if np.isnat(times).all():
            raise LogError(
                f"{self.file}, line {int(at[0]):,}: '{cells[0]}' does not fit the suite's time format '{self.format}'"
            )
        return np.asarray(times)

    def listed(self) -> list[str]:
        """A line for each kind of repair."""
        return [f"{self.leap} leap seconds (…:60) carried over"] if self.leap else []


def _times(found: dict[str, NDArray[np.int64]], good: Mask) -> Times:
    """Moments from years to fractions of a second [ns] and offset from UTC, NaT where not `good` or out of range."""
    months = (found["year"] - _FIRST_YEAR) * 12 + found["month"] - 1
    is_valid = good & (months >= 0) & (months < len(_MONTHS) - 1) & (found["month"] >= 1) & (found["month"] <= 12)
    months = np.where(is_valid, months, 0)
    is_valid &= (found["day"] >= 1) & (found["day"] <= _MONTHS[months + 1] - _MONTHS[months])
    for name, limit in (("hour", 24), ("minute", 60), ("second", 60), ("zone_hour", 24), ("zone_minute", 60)):
        is_valid &= found[name] < limit
    seconds = (_MONTHS[months] + found["day"] - 1) * 86400
    for name, length in (("hour", 3600), ("minute", 60), ("second", 1)):
        seconds += np.maximum(found[name], 0) * length
    for name, length in (("zone_hour", 3600), ("zone_minute", 60)):
        seconds -= np.maximum(found[name], 0) * length * (found["zone"] - 1)
    times: Times = (seconds * 1_000_000_000 + np.maximum(found["fraction"], 0)).astype("datetime64[ns]")
    times[~is_valid] = np.datetime64("NaT")
    return times


def zone_of(text: str) -> tzinfo:
    """Parse a time zone: "UTC", "-05:00", "UTC+5", "America/Regina"."""
    plain = text.strip()
    if plain.upper() in ("UTC", "Z", "GMT"):
        return UTC
    match = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d\d))?", plain)
    if match:
        minutes = int(match[2]) * 60 + int(match[3] or 0)
        if minutes <= 14 * 60:
            return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    try:
        return ZoneInfo(plain)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        close = nearest(plain, [zone for zone in available_timezones() if "/" in zone])
        hint = zone_hint(plain) or f'write "UTC", "-05:00" or a place; {close}'
        raise NeedsChoice(f"unknown time zone '{text}'", hint=hint) from None


def to_utc(local: Times, zone: str | None, *, file: str, repairs: list[str]) -> Times:
    """Wall-clock stamps of a zone as UTC; without a zone they are refused."""
    if zone is None:
        raise NeedsChoice(
            f"{file}: the time stamps carry no time zone",
            hint='pass --zone (as in "UTC" or "-05:00") or set it in the suite',
        )
    place = zone_of(zone)
    if isinstance(place, timezone):
        offset = int(place.utcoffset(None).total_seconds())
        return local - np.timedelta64(offset, "s")
    import pandas as pd

    wall = pd.DatetimeIndex(local)
    second_pass = _second_pass(local)
    utc = wall.tz_localize(zone, ambiguous=~second_pass, nonexistent="NaT").tz_convert("UTC").tz_localize(None)
    skipped = np.asarray(utc.isna()) & ~np.isnat(local)
    if skipped.any():
        at = int(np.argmax(skipped))
        raise LogError(f"{file}: {wall[at]} does not exist in {zone} (clocks went forward)", hint="is the zone right?")
    other = wall.tz_localize(zone, ambiguous=second_pass, nonexistent="NaT").tz_convert("UTC").tz_localize(None)
    twice = np.asarray(other != utc) & ~np.isnat(local)
    if twice.any():
        again = int((twice & second_pass).sum())
        runs = f"{int(twice.sum()) - again:,} taken as its first run, {again:,} as its second"
        repairs.append(f"{int(twice.sum()):,} stamps lie in the hour that happens twice in {zone}: {runs}")
    return np.asarray(utc.to_numpy(dtype="datetime64[ns]"))


def _second_pass(local: Times) -> Mask:
    """Which stamps are after the local clock was set back, in the second pass of the repeated hour."""
    back = np.diff(local) < -np.timedelta64(30, "m")
    return np.concatenate([[False], np.cumsum(back) > 0])
