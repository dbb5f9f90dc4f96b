"""Joins the estimates and samples of a live stream by time, for the page."""

from __future__ import annotations

import json
import time
from collections import OrderedDict

from pydantic import ValidationError

from pc2dae.edge.messages import Clean, Health, Taken, parse_sample
from pc2dae.edge.receipts import Receipts
from pc2dae.web.live_buffer import LiveBuffer

_SAMPLES = 4000  # kept until their estimate arrives
_FLIGHTS = 64  # whose sequence numbers are kept


class LiveFeed:
    """Forwards every estimate once, counts gaps and duplicates, and adds the measured values of that time."""

    def __init__(self) -> None:
        self.buffer = LiveBuffer()
        self.receipts = Receipts(flights=_FLIGHTS)
        self.samples: OrderedDict[tuple[str, int], dict[str, float | None]] = OrderedDict()
        self.sampled = self.late = self.refused = self.quarantined = 0
        self.latency_s: float | None = None
        self.flight: str | None = None
        self.calibrated: list[str] = []

    def resume(self, confirmed: Taken) -> None:
        """Continue after the estimates that an earlier server process received."""
        self.receipts = Receipts(confirmed.taken, flights=_FLIGHTS)

    def add_health(self, payload: bytes) -> None:
        """Counters of the gateway."""
        try:
            health = Health.model_validate_json(payload)
        except ValidationError:
            self.refused += 1
            return
        self.late, self.refused, self.quarantined = health.late, health.refused, health.quarantined

    def add_sample(self, payload: bytes) -> None:
        """Store a sample until its estimate arrives."""
        try:
            sample = parse_sample(payload)
        except (ValueError, RecursionError):
            self.refused += 1
            return
        self.sampled += 1
        self.samples[sample.flight, sample.microseconds // 1000] = dict(sample.values)
        while len(self.samples) > _SAMPLES:
            self.samples.popitem(last=False)

    def add_estimate(self, payload: bytes, *, in_order: bool) -> None:
        """Send an estimate to the page unless it is a duplicate or, with `in_order`, not the next one."""
        try:
            clean = Clean.model_validate_json(payload)
        except (ValidationError, RecursionError):
            self.refused += 1
            return
        if not self.receipts.is_new(clean.flight, clean.seq, in_order=in_order):
            return
        at = round(clean.time.timestamp() * 1000)
        self.latency_s, self.flight, self.calibrated = clean.latency_s, clean.flight, clean.calibrated
        measured = self.samples.pop((clean.flight, at), {})
        raw = {name: x for name, x in measured.items() if name not in clean.calibrated}  # readings in other units
        event = {"flight": clean.flight, "seq": clean.seq, "time": at, "estimate": clean.estimate,
                 "uncertainty": clean.uncertainty, "response": clean.response, "target": clean.target,
                 "raw": raw, "qc": clean.qc,
                 "latency_s": clean.latency_s, "arrived": round(time.time() * 1000)}  # fmt: skip
        self.buffer.add("estimate", json.dumps(event, separators=(",", ":")))

    def counters(self) -> dict[str, int]:
        """Counters for the page."""
        receipts = self.receipts
        return {"samples": self.sampled, "estimates": receipts.estimates, "duplicates": receipts.duplicates,
                "lost": receipts.lost, "late": self.late, "refused": self.refused,
                "quarantined": self.quarantined}  # fmt: skip
