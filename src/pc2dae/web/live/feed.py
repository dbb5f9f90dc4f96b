"""Joins the estimates and samples of a live stream by time, and keeps the last minutes for pages."""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

from pydantic import ValidationError

from pc2dae.edge.messages import Clean, Health, Sample, parse_sample
from pc2dae.edge.receipts import Receipts
from pc2dae.web.live.alarms import Alarms
from pc2dae.web.live.link import Link
from pc2dae.web.live.recorder import Recorder

KEPT = 1800  # events sent to a newly opened page: samples and estimates of 15 minutes
_SAMPLES = 4000  # kept until their estimate arrives
_FLIGHTS = 64  # whose sequence numbers are kept


class LiveBuffer:
    """A buffer of the last events, numbered, and the listeners waiting for the next one."""

    def __init__(self) -> None:
        self.events: deque[tuple[int, str, str]] = deque(maxlen=KEPT)  # number, kind, JSON
        self.last = 0
        self.changed = asyncio.Event()
        self.closed = False

    def add(self, kind: str, text: str) -> None:
        """Send an event to every page."""
        self.last += 1
        self.events.append((self.last, kind, text))
        self.notify()

    def notify(self) -> None:
        """Wake all listeners."""
        self.changed.set()
        self.changed = asyncio.Event()

    def close(self) -> None:
        """Close the buffer; all listeners stop."""
        self.closed = True
        self.notify()

    async def listen(self, since: int, every_s: float) -> AsyncIterator[tuple[int, str, str] | None]:
        """Events after number `since`; None when something else may have changed, at least every `every_s`."""
        if since > self.last:
            since = 0  # the number is from an earlier server process
        while not self.closed:
            yield None
            changed = self.changed
            for event in [e for e in self.events if e[0] > since]:
                since = event[0]
                yield event
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), every_s)


class LiveFeed:
    """Forwards every estimate once, counts gaps and duplicates, and adds the measured values of that time."""

    def __init__(self, recorder: Recorder | None = None) -> None:
        self.recorder = recorder
        self.buffer = LiveBuffer()
        self.alarms = Alarms(lambda alarm: self.buffer.add("alarm", alarm.model_dump_json()))
        self.receipts = Receipts(flights=_FLIGHTS)
        self.link = Link()
        self.samples: OrderedDict[tuple[str, int], tuple[int, Sample]] = OrderedDict()  # with their arrival
        self.sampled = self.late = self.refused = self.quarantined = 0
        self.latency_s: float | None = None
        self.flight: str | None = None
        self.calibrated: list[str] = []
        self.seen: set[str] = set()  # names in the samples of the flight, or in its estimates if samples are not seen
        self.with_data: set[str] = set()
        self.latest: dict[str, int] = {}  # time of the last estimate of each flight

    def restart(self, rate_hz: float, confirmed: dict[str, int]) -> None:
        """Start to listen to another stream."""
        self.resume(confirmed)
        self.link.rate_hz = rate_hz
        self.link.restart(None)
        self.seen, self.with_data = set(), set()
        self.samples.clear()

    def resume(self, confirmed: dict[str, int]) -> None:
        """Continue after the estimates of a gateway that were confirmed to it; the counters continue."""
        before, self.receipts = self.receipts, Receipts(confirmed, flights=_FLIGHTS)
        self.receipts.estimates, self.receipts.duplicates = before.estimates, before.duplicates
        self.latest = {}

    def add_health(self, payload: bytes) -> None:
        """Counters of the gateway."""
        try:
            health = Health.model_validate_json(payload)
        except ValidationError:
            self.refused += 1
            return
        self.late, self.refused, self.quarantined = health.late, health.refused, health.quarantined

    def add_sample(self, payload: bytes) -> None:
        """Send a sample to the page, and store it until its estimate arrives."""
        try:
            sample = parse_sample(payload)
        except (ValueError, RecursionError):
            self.refused += 1
            return
        self.sampled += 1
        if self.recorder is not None:
            self.recorder.add_sample(sample)
        now, at = round(time.time() * 1000), sample.microseconds // 1000
        if sample.flight != self.link.flight:
            self.seen, self.with_data = set(), set()
        self.link.take(sample, now)
        self._see(sample.values)
        self.samples[sample.flight, at] = (now, sample)
        self.alarms.judge_sample(sample.flight, at, sample.values)
        if sample.end:
            self.alarms.end(sample.flight)
        while len(self.samples) > _SAMPLES:
            self.samples.popitem(last=False)
        event = {"flight": sample.flight, "seq": sample.seq, "time": at, "arrived": now,
                 "values": sample.values, **_motion(sample)}  # fmt: skip
        self.buffer.add("sample", json.dumps(event, separators=(",", ":")))

    def add_estimate(self, payload: bytes, *, in_order: bool) -> None:
        """Send an estimate to the page unless it is a duplicate or, with `in_order`, not the next one."""
        try:
            clean = Clean.model_validate_json(payload)
        except (ValidationError, RecursionError):
            self.refused += 1
            return
        at, now = round(clean.time.timestamp() * 1000), round(time.time() * 1000)
        numbers = self.receipts.sequences.get(clean.flight)
        if numbers is not None and clean.seq < numbers.following and at > self.latest.get(clean.flight, at):
            self.receipts.forget(clean.flight)  # a gateway without its earlier state
        if not self.receipts.is_new(clean.flight, clean.seq, in_order=in_order):
            return
        if self.recorder is not None:
            self.recorder.add_estimate(clean)
        self.latest = {clean.flight: max(at, self.latest.get(clean.flight, at))}
        self.latency_s, self.flight, self.calibrated = clean.latency_s, clean.flight, clean.calibrated
        arrived, sample = self.samples.pop((clean.flight, at), (None, None))
        self.link.estimated(at, arrived, now)
        if self.link.flight is None:
            self._see(clean.estimate)
        self.with_data.update(name for name, x in clean.estimate.items() if x is not None)
        self.alarms.set_calibrated(clean.calibrated)
        self.alarms.judge_estimate(clean.flight, at, clean.estimate)
        measured = sample.values if sample is not None else {}
        raw = {name: x for name, x in measured.items() if name not in clean.calibrated}  # readings in other units
        event = {"flight": clean.flight, "seq": clean.seq, "time": at, "estimate": clean.estimate,
                 "uncertainty": clean.uncertainty, "response": clean.response, "target": clean.target,
                 "raw": raw, "qc": clean.qc, **_motion(sample),
                 "latency_s": clean.latency_s, "arrived": now}  # fmt: skip
        self.buffer.add("estimate", json.dumps(event, separators=(",", ":")))

    def _see(self, values: Mapping[str, float | None]) -> None:
        self.seen.update(values)
        self.with_data.update(name for name, x in values.items() if x is not None)

    def counters(self) -> dict[str, int]:
        """Counters for the page."""
        receipts = self.receipts
        return {"samples": self.sampled, "estimates": receipts.estimates, "duplicates": receipts.duplicates,
                "lost": receipts.lost, "late": self.late, "refused": self.refused,
                "quarantined": self.quarantined}  # fmt: skip


def _motion(sample: Sample | None) -> dict[str, dict[str, float]]:
    """Known motion and wind of a sample."""
    parts = {} if sample is None else {"motion": sample.motion, "wind": sample.wind}
    return {key: part.known for key, part in parts.items() if part is not None}
