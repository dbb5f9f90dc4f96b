"""Judges live values against limits: every crossing is an alarm, whether or not a page is open.

Raw samples (medians of three seconds) and estimates are judged alike, so that a wrong estimate cannot hide smoke and a
failed gateway cannot silence alarms. Both cross the limit in one plume; the second joins the alarm of the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import TypeGuard

from pc2dae.suite import Suite
from pc2dae.web.live.alarm_limits import Alarm, AlarmFile, AlarmKind, AlarmLimits, AlarmSource, Limit
from pc2dae.web.live.alarm_series import SILENT_S, Arrivals, LimitSeries
from pc2dae.web.live.live_models import LinkState
from pc2dae.web.problems import nothing
from pc2dae.web.store import new_id, now_ms

KEPT = 1000  # alarms; the oldest that have ended are dropped first
_FLIGHTS = 8  # judged at the same time
_JOINS_MS = 10_000  # raw and estimated crossings this close belong to one alarm
_ANNOUNCE = 2.0  # times the announced peak: announced again
_UPDATE = 0.1  # relative change of the peak that is sent to the pages
_ENDED = 64  # flights whose late estimates may follow
_TIMES = 4000  # of raw samples, by which those sent again are recognised
_About = tuple[str, str | None, AlarmKind, AlarmSource]  # flight, channel


class Alarms:
    """Limits and the alarms raised so far; `on_change` is called with each that changed."""

    def __init__(self, on_change: Callable[[Alarm], None]) -> None:
        self.on_change = on_change
        self.limits = AlarmLimits()
        self.alarms: dict[str, Alarm] = {}  # oldest first
        self.is_saved = True
        self._series: dict[tuple[str, str, AlarmSource], LimitSeries] = {}
        self._arrivals: dict[tuple[str, str], Arrivals] = {}
        self._ended: dict[str, None] = {}  # flights
        self._judged: dict[str, dict[int, None]] = {}  # times of raw samples, by flight
        self._joined: dict[str, set[AlarmSource]] = {}
        self._silence: Alarm | None = None
        self._sent: dict[str, float] = {}  # peak
        self._announced: dict[str, float] = {}  # peak
        self._changed = 0

    def adopt(self, suite: Suite, calibrated: Collection[str] = ()) -> None:
        """Judge the channels of another suite."""
        units = {name: suite[name].units for name in suite.names}
        self._forget(lambda series: units.get(series.channel) != self.limits.units.get(series.channel))
        self.limits.units = units
        self.set_calibrated(calibrated)

    def set_calibrated(self, names: Collection[str]) -> None:
        """Channels whose raw readings are not in the units of their estimates."""
        if (now := frozenset(names)) != self.limits.calibrated:
            self.limits.calibrated = now
            self._forget(lambda series: series.source == "raw" and series.channel in now)

    def set_limits(self, wanted: Mapping[str, Limit | None]) -> None:
        """Replace the limits of the channels named; active alarms of changed ones end, and the next value is judged."""
        changed = self.limits.replace(wanted)
        self._forget(lambda series: series.channel in changed)
        self.is_saved = False

    # ── judging ──

    def judge_sample(self, flight: str, time_ms: int, values: Mapping[str, float | None]) -> None:
        """Judge raw values."""
        times = self._times(flight)
        if time_ms in times:
            return  # sent again
        times[time_ms] = None
        self._ended.pop(flight, None)
        if len(times) > _TIMES:
            del times[next(iter(times))]
        for name, limit in self.limits.applied():
            series, value = self._of(flight, name, "raw"), values.get(name)
            arrivals = self._arrivals.setdefault((flight, name), Arrivals(time_ms))
            if not _is_finite(value):
                self._judge_gap(series, arrivals, time_ms)
                continue
            if (gap := series.active.pop("no_data", None)) is not None:
                self._advance(gap, (time_ms - gap.since) / 1000, time_ms)
                self._end(gap, time_ms)
            arrivals.add(time_ms)
            middle = series.median.add(time_ms, value)
            if middle is not None and name not in self.limits.calibrated:
                self._judge(series, limit, middle, time_ms)

    def judge_estimate(self, flight: str, time_ms: int, values: Mapping[str, float | None]) -> None:
        """Judge estimates."""
        self._times(flight)
        for name, limit in self.limits.applied():
            if _is_finite(value := values.get(name)):
                self._judge(self._of(flight, name, "estimate"), limit, value, time_ms)

    def judge_silence(self, now_ms: int, link: LinkState) -> None:
        """Raise or end the alarm for a payload that no longer sends; a link that is off ends all alarms."""
        for flight in self._ended.keys() & self._judged.keys():
            self._end_flight(flight)
        if link.status == "off":
            for flight in list(self._judged):
                self._end_flight(flight)
            self._silence = None
            for alarm in [a for a in self.alarms.values() if a.until is None]:
                self._end(alarm, alarm.last_time)
        if link.status == "silent":
            age_s = link.age_s if link.age_s is not None else SILENT_S
            if self._silence is None:
                flight = next(reversed(self._judged), "")
                since = now_ms - round(1000 * age_s)
                self._silence = self._raise((flight, None, "no_data", "raw"), SILENT_S, "s", age_s, (since, now_ms), 0)
            self._silence.last = self._silence.peak = age_s
            self._silence.last_time = now_ms
        elif self._silence is not None and link.status != "waiting":
            silence, self._silence = self._silence, None
            self._end(silence, now_ms)

    def end(self, flight: str) -> None:
        """End the alarms of a flight after its last sample, and those of estimates that follow."""
        self._ended[flight] = None
        if len(self._ended) > _ENDED:
            del self._ended[next(iter(self._ended))]

    def _judge_gap(self, series: LimitSeries, arrivals: Arrivals, time_ms: int) -> None:
        silent_ms = time_ms - arrivals.last
        if "no_data" in series.active:
            self._advance(series.active["no_data"], silent_ms / 1000, time_ms)
        elif silent_ms >= arrivals.longest_ms:
            about: _About = (series.flight, series.channel, "no_data", series.source)
            limit_s, times = arrivals.longest_ms / 1000, (arrivals.last, time_ms)
            series.active["no_data"] = self._raise(about, limit_s, "s", silent_ms / 1000, times, 0)

    def _judge(self, series: LimitSeries, limit: Limit, value: float, time_ms: int) -> None:
        for kind, level in (("above", limit.above), ("below", limit.below)):
            if level is not None:
                margin = limit.hysteresis
                if margin is None:
                    margin = min(max(3 * series.recent.noise(), 0.05 * abs(level)), 0.5 * abs(level))
                self._cross(series, kind, level, value, time_ms, margin)  # type: ignore[arg-type]
        series.recent.add(time_ms, value)
        if limit.rise_per_min is not None and (rise := series.recent.rise_per_min()) is not None:
            self._cross(series, "rise", limit.rise_per_min, rise, time_ms, 0.5 * limit.rise_per_min)

    def _cross(
        self, series: LimitSeries, kind: AlarmKind, level: float, value: float, time_ms: int, margin: float
    ) -> None:
        sign = -1 if kind == "below" else 1
        alarm = series.active.get(kind)
        if alarm is None:
            if sign * (value - level) <= 0:
                return
            alarm = self._joinable(series, kind, level, time_ms)
            if alarm is None:
                units = self.limits.units[series.channel] + (" min-1" if kind == "rise" else "")
                about = (series.flight, series.channel, kind, series.source)
                alarm = self._raise(about, level, units, value, (time_ms, time_ms), level - sign * margin)
            self._joined[alarm.id].add(series.source)
            series.active[kind] = alarm
        if sign * (value - alarm.ends_at) <= 0:
            del series.active[kind]
            alarm.last_time = max(alarm.last_time, time_ms)
            if alarm.until is not None or not any(s.active.get(kind) is alarm for s in self._series.values()):
                self._end(alarm, time_ms)
            return
        if alarm.until is not None and time_ms > alarm.until + _JOINS_MS:
            alarm.until = None  # ended by the other source, but this one is still beyond the limit
            self._send(alarm)
        self._advance(alarm, value, time_ms)

    def _joinable(self, series: LimitSeries, kind: AlarmKind, level: float, time_ms: int) -> Alarm | None:
        """The alarm of the same crossing: raised by the other source, or by the same values before a restart."""
        for alarm in reversed(self.alarms.values()):
            if (alarm.flight, alarm.channel, alarm.kind, alarm.limit) == (series.flight, series.channel, kind, level):
                is_other = series.source not in self._joined[alarm.id]
                if is_other and alarm.until is None:
                    latest: float = math.inf
                else:
                    latest = alarm.last_time + (_JOINS_MS if is_other else 0)
                if alarm.since - (_JOINS_MS if is_other else 0) <= time_ms <= latest:
                    return alarm
        return None

    # ── alarms ──

    def _raise(
        self, about: _About, limit: float, units: str, value: float, times: tuple[int, int], ends_at: float
    ) -> Alarm:
        (flight, channel, kind, source), (since, last_time) = about, times
        alarm = Alarm(
            id=new_id(), flight=flight, channel=channel, kind=kind, source=source, limit=limit, units=units,
            since=since, until=None, peak=value, last=value, last_time=last_time, seen=False, raised=now_ms(), calls=1,
            ends_at=ends_at, changed=0,
        )  # fmt: skip
        self.alarms[alarm.id] = alarm
        self._joined[alarm.id], self._announced[alarm.id] = {source}, value
        held = {a.id for series in self._series.values() for a in series.active.values()}
        ended = [a.id for a in self.alarms.values() if a.until is not None and a.id not in held]
        for number in ended[: max(len(self.alarms) - KEPT, 0)]:
            for by_id in (self.alarms, self._joined, self._announced, self._sent):
                by_id.pop(number, None)
        self._send(alarm)
        return alarm

    def _advance(self, alarm: Alarm, value: float, time_ms: int) -> None:
        """Take over a value of an active alarm."""
        alarm.last, alarm.last_time = value, max(time_ms, alarm.last_time)
        alarm.peak = (min if alarm.kind == "below" else max)(alarm.peak, value)
        announced, sent = self._announced[alarm.id], self._sent[alarm.id]
        if alarm.kind in ("above", "rise") and alarm.peak >= _ANNOUNCE * announced > 0:
            self._announced[alarm.id] = alarm.peak
            alarm.calls, alarm.seen = alarm.calls + 1, False
            self._send(alarm)
        elif alarm.kind != "no_data" and abs(alarm.peak - sent) > _UPDATE * abs(sent):
            self._send(alarm)

    def _end(self, alarm: Alarm, time_ms: int) -> None:
        alarm.until = max(time_ms, alarm.last_time, alarm.until or 0)
        self._send(alarm)

    def _send(self, alarm: Alarm) -> None:
        self._changed = alarm.changed = max(self._changed + 1, now_ms())
        self._sent[alarm.id] = alarm.peak
        self.is_saved = False
        self.on_change(alarm)

    def acknowledge(self, number: str | None) -> None:
        """Mark an alarm, or all, as seen."""
        if number is not None and number not in self.alarms:
            raise nothing("alarm", number)
        for alarm in [a for a in self.alarms.values() if not a.seen and number in (None, a.id)]:
            alarm.seen = True
            self._send(alarm)

    def _times(self, flight: str) -> dict[int, None]:
        """Times of the flight's samples; the flight that was not heard for longest is ended if there are too many."""
        times = self._judged[flight] = self._judged.pop(flight, {})
        if len(self._judged) > _FLIGHTS:
            self._end_flight(next(iter(self._judged)))
        return times

    def _of(self, flight: str, channel: str, source: AlarmSource) -> LimitSeries:
        key = (flight, channel, source)
        return self._series.setdefault(key, LimitSeries(*key))

    def _forget(self, is_meant: Callable[[LimitSeries], bool]) -> None:
        """End the alarms of some series and judge these from the beginning."""
        for key, series in [(k, s) for k, s in self._series.items() if is_meant(s)]:
            del self._series[key]
            for alarm in series.active.values():
                if alarm.until is None:
                    self._end(alarm, alarm.last_time)

    def _end_flight(self, flight: str) -> None:
        del self._judged[flight]
        self._arrivals = {key: a for key, a in self._arrivals.items() if key[0] != flight}
        self._forget(lambda series: series.flight == flight)

    # ── restarts ──

    def dump(self) -> str:
        """Limits and alarms as JSON; afterwards they count as saved."""
        self.is_saved = True
        return AlarmFile(limits=self.limits.listed(), alarms=list(self.alarms.values())).model_dump_json()

    def load(self, text: bytes) -> None:
        """Continue with the limits and alarms of an earlier server process; raises ValidationError."""
        saved = AlarmFile.model_validate_json(text)
        self.limits.load(saved.limits)
        for alarm in saved.alarms:
            self.alarms[alarm.id] = alarm
            self._joined[alarm.id] = {alarm.source}
            self._announced[alarm.id] = self._sent[alarm.id] = alarm.peak
            self._changed = max(self._changed, alarm.changed)
            if alarm.channel is None:
                self._silence = alarm if alarm.until is None else None
            elif alarm.until is None:
                self._of(alarm.flight, alarm.channel, alarm.source).active[alarm.kind] = alarm


def _is_finite(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)
