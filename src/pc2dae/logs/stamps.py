"""Conversion of time stamps (text, numbers, local time) to UTC; ambiguous stamps are refused."""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pc2dae.arrays import Mask
from pc2dae.errors import LogError, nearest
from pc2dae.logs.zone_abbreviations import zone_hint

Times = NDArray[np.datetime64]
_ISO = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?$"
_SECONDS = r"^.{13}:\d\d:\d\d"
_HALF_DAY = r"(?i)^(\S+[T ]+)(0?[1-9]|1[0-2])((?::\d\d){1,2}(?:\.\d+)?)\s*[ap]\.?m\.?(.*)$"  # 01:05:00 PM
_DAY_FIRST = r"^\s*(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})"
_EARLIEST, _LATEST = np.datetime64("1900-01-01", "ns"), np.datetime64("2200-01-01", "ns")


class NeedsChoice(LogError):
    """Ambiguous stamps or an invalid calibration sheet: the user must decide, so the file is not silently skipped."""


class StampParser:
    """Parses a file's stamps block by block, with the format determined by the first block."""

    def __init__(
        self, file: str, stamp_format: str | None = None, *, epoch: str = "1970-01-01", order: str | None = None
    ) -> None:
        self.file, self.format = file, stamp_format
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

    def parse(self, texts: pa.Array, at: NDArray[np.int64]) -> Times:
        """The stamps as datetime64[ns], NaT where one cannot be read."""
        if self.format is not None:
            times = self._formatted(texts, at)
            if "%p" not in self.format and not self.is_zoned:
                self._look_for_half_days(times, at)
            return times
        try:
            times, is_zoned = self._iso(texts)
        except pa.ArrowInvalid:
            times, is_zoned = self._careful(texts, at)
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
        self.hours |= set(np.unique(known[1:].astype("datetime64[h]").astype(np.int64) % 24).tolist())
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

    def _iso(self, texts: pa.Array) -> tuple[Times, bool | None]:
        """ISO 8601 throughout, or an error."""
        first = next((t for t in texts[:50].to_pylist() if t), "")
        if not re.match(_ISO, first):
            raise pa.ArrowInvalid("not ISO")
        has_seconds = re.match(_SECONDS, first) is not None
        uniform = _SECONDS if has_seconds else r"^.{13}:\d\d($|Z|[+-])"
        if self.has_half_days or self.has_seconds > has_seconds or not _all_match(texts, uniform):
            raise pa.ArrowInvalid("not alike")
        self.has_seconds = has_seconds
        is_zoned = re.search(r"(Z|[+-]\d\d(:?\d\d)?)$", first[16:]) is not None
        cast = texts.cast(pa.timestamp("ns", "UTC") if is_zoned else pa.timestamp("ns"))
        return np.asarray(
            cast.cast(pa.timestamp("ns")) if not is_zoned else cast.to_numpy(zero_copy_only=False),
            dtype="datetime64[ns]",
        ), is_zoned

    def _careful(self, texts: pa.Array, at: NDArray[np.int64]) -> tuple[Times, bool | None]:
        text = pc.utf8_trim_whitespace(texts)
        numeric = pc.match_substring_regex(text, r"^\d{9,13}(\.\d*)?$")
        if pc.sum(numeric).as_py() > 0.5 * len(text):
            return self._seconds(text), True
        if self.may_shorten_years:
            text = pc.replace_substring_regex(text, r"^(\d{1,2}[-/.]\d{1,2}[-/.])(\d\d[T ])", r"\120\2")
        if pc.any(pc.match_substring_regex(text, _DAY_FIRST)).as_py():
            text = self._year_first(text, at)
        text = pc.replace_substring_regex(text, r"^(\d{4})[/.](\d{1,2})[/.]", r"\1-\2-")
        text = pc.replace_substring_regex(text, r"^(\d{4})-(\d)-", r"\1-0\2-")
        text = pc.replace_substring_regex(text, r"^(\d{4}-\d\d)-(\d)([T ])", r"\1-0\2\3")
        half_days = np.asarray(pc.match_substring_regex(text, _HALF_DAY))
        is_pm = half_days & np.asarray(pc.match_substring_regex(text, r"(?i)\d\s*p\.?m"))
        if half_days.any() or self.has_half_days:
            self.has_half_days = True
            bare = pc.replace_substring_regex(text, _HALF_DAY, r"\1\2\3\4")
            text = pc.if_else(half_days, pc.replace_substring_regex(bare, r"^(\S+[T ]+)12:", r"\100:"), "")
        text = pc.replace_substring_regex(text, r"^(\S{10})[T ]+(\d):", r"\1T0\2:")
        text = pc.replace_substring_regex(text, r"(:\d\d),(\d{1,9})", r"\1.\2")
        text = pc.replace_substring_regex(text, r"\s*UTC$", "Z")
        leap = np.asarray(pc.match_substring_regex(text, r":60(\.|Z|[+-]|$)"))
        if leap.any():
            self.leap += int(leap.sum())
            text = pc.replace_substring_regex(text, r":60(\.|Z|[+-]|$)", r":59\1")
        good = pc.match_substring_regex(text, _ISO)
        seconds = pc.and_(good, pc.match_substring_regex(text, _SECONDS))
        self.has_seconds |= bool(pc.any(seconds).as_py())
        good = seconds if self.has_seconds else good
        zoned = pc.match_substring_regex(text, r"\d(Z|[+-]\d\d(:?\d\d)?)$")
        zoned = pc.and_(zoned, pc.greater(pc.utf8_length(text), 16))
        shares = np.asarray(zoned)[np.asarray(good)]
        if not len(shares):
            return np.full(len(text), np.datetime64("NaT", "ns")), None
        is_zoned = bool(shares[0])
        if shares.any() != shares.all():
            line = int(at[np.asarray(good)][int(np.argmax(shares != shares[0]))])
            raise LogError(
                f"{self.file}, line {line:,}: some stamps carry a time zone and others do not",
                hint="correct the stamps",
            )
        kind = pa.timestamp("ns", "UTC") if is_zoned else pa.timestamp("ns")
        kept = pc.if_else(good, text, pa.scalar(None, pa.string()))
        try:
            times = np.asarray(kept.cast(kind).to_numpy(zero_copy_only=False), dtype="datetime64[ns]")
        except pa.ArrowInvalid:  # contains an invalid date: parse one by one
            times = np.array([_one(t, kind) for t in kept.to_pylist()], dtype="datetime64[ns]")
        later = leap * np.timedelta64(1, "s") + is_pm * np.timedelta64(12, "h")
        return np.asarray(times + later, dtype="datetime64[ns]"), is_zoned

    def _seconds(self, text: pa.Array) -> Times:
        """Seconds (or milliseconds) since the epoch."""
        valid = pc.match_substring_regex(text, r"^\d{9,13}(\.\d*)?$")
        seconds = np.array(
            pc.if_else(valid, text, pa.scalar(None, pa.string())).cast(pa.float64()).to_numpy(zero_copy_only=False),
            dtype=float,
        )
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

    def _year_first(self, text: pa.Array, at: NDArray[np.int64]) -> pa.Array:
        """16-09-2019 → 2019-09-16; an error if no stamp distinguishes day from month."""
        if self.order is None:
            parts = pc.extract_regex(
                text,
                _DAY_FIRST.replace("(", "(?P<a>", 1)
                .replace("(\\d{1,2})", "(?P<b>\\d{1,2})")
                .replace("(\\d{4})", "(?P<y>\\d{4})"),
            )
            first = np.array([int(p["a"]) if p else 0 for p in parts.to_pylist()])
            second = np.array([int(p["b"]) if p else 0 for p in parts.to_pylist()])
            if first.max() > 12 >= second.max():
                self.order = "dmy"
            elif second.max() > 12 >= first.max():
                self.order = "mdy"
            else:
                clock = "%I:%M:%S %p" if re.match(_HALF_DAY, str(text[0])) else "%H:%M:%S"
                raise NeedsChoice(f"{self.file}, line {int(at[0]):,}: '{text[0]}' may be day/month or month/day",
                               hint=f'say which in the suite: [time] format = "%d/%m/%Y {clock}"')  # fmt: skip
        text = pc.replace_substring_regex(text, r"^(\d)([-/.])", r"0\1\2")
        text = pc.replace_substring_regex(text, r"^(\d\d[-/.])(\d)([-/.])", r"\10\2\3")
        pattern = r"^(\d\d)[-/.](\d\d)[-/.](\d{4})"
        return pc.replace_substring_regex(text, pattern, r"\3-\2-\1" if self.order == "dmy" else r"\3-\1-\2")

    def _formatted(self, texts: pa.Array, at: NDArray[np.int64]) -> Times:
        import pandas as pd

        assert self.format is not None  # nosec B101  # for the type checker
        is_zoned = "%z" in self.format or "%Z" in self.format
        try:
            parsed = pd.to_datetime(
                pd.Series(texts.to_pylist()),
                format=self.format,
                errors="coerce",
                utc=is_zoned,
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
                f"{self.file}, line {int(at[0]):,}: '{texts[0]}' does not fit the suite's time format '{self.format}'"
            )
        return np.asarray(times)

    def listed(self) -> list[str]:
        """A line for each kind of repair."""
        return [f"{self.leap} leap seconds (…:60) carried over"] if self.leap else []


def _all_match(texts: pa.Array, pattern: str) -> bool:
    """Whether all non-empty cells match."""
    return bool(pc.all(pc.or_(pc.equal(texts, ""), pc.match_substring_regex(texts, pattern))).as_py())


def _one(text: str | None, kind: pa.DataType) -> np.datetime64:
    try:
        scalar = pa.scalar(text, pa.string()).cast(kind)
    except pa.ArrowInvalid:
        return np.datetime64("NaT", "ns")
    return np.datetime64(scalar.value, "ns") if scalar.is_valid else np.datetime64("NaT", "ns")


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
