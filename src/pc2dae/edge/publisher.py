"""A sender with guaranteed delivery: samples are sent again until the gateway has acknowledged them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import paho.mqtt.client as mqtt
from pydantic import ValidationError

from pc2dae.edge.broker import Broker
from pc2dae.edge.messages import Ack
from pc2dae.errors import Pc2daeError

_WINDOW = 200  # messages sent, but not acknowledged
_RESEND_S = 3.0  # without an acknowledgement for this long, they are sent again
_FIRST_S = 20.0  # longest wait for the first connection
_GREETING_S = 1.0  # wait for the acknowledgement of an earlier run


class Publisher:
    """Publishes messages 0 … `count` − 1 of one flight, at `rate_hz` or as fast as they are acknowledged."""

    def __init__(self, broker: Broker, *, topic: str, flight: str, count: int, message: Callable[[int], bytes]) -> None:
        self.broker, self.topic, self.flight, self.count, self.message = broker, topic, flight, count, message
        self.taken = -1
        self.is_met = threading.Event()  # connected and subscribed
        self.connections = 0
        self.refusal = ""
        self.client = broker.client("")
        self.client.on_connect, self.client.on_message = self._on_connect, self._on_message
        self.client.on_subscribe = lambda c, u, mid, codes, properties: self.is_met.set()
        self.client.on_disconnect = lambda c, u, flags, code, properties: self.is_met.clear()

    def run(
        self, *, rate_hz: float, progress: Callable[[int], None] | None = None, stop: threading.Event | None = None
    ) -> int:
        """Send until all are acknowledged (or `stop`), and return how many are."""
        self.broker.connect(self.client)
        try:
            if not self.is_met.wait(_FIRST_S) and self.connections == 0:
                reason = f"refused the connection: {self.refusal}" if self.refusal else "does not respond"
                raise Pc2daeError(f"the broker at {self.broker.host}:{self.broker.port} {reason}",
                                  hint="check host and port, user and password, --tls or --ca")  # fmt: skip
            time.sleep(_GREETING_S)
            self._send(rate_hz, progress, stop or threading.Event())
        finally:
            self.client.disconnect()
            self.client.loop_stop()
        return self.taken + 1

    def _send(self, rate_hz: float, progress: Callable[[int], None] | None, stop: threading.Event) -> None:
        pace, reported = _Pace(rate_hz, self.taken, self.connections), self.taken
        while self.taken < self.count - 1 and not stop.is_set():
            pace.update(self.taken, self.connections)
            if progress is not None and self.taken != reported:
                reported = self.taken
                progress(reported + 1)
            while pace.following <= min(pace.due(), self.taken + _WINDOW, self.count - 1) and self.is_met.is_set():
                self.client.publish(self.topic, self.message(pace.following), qos=1)
                pace.following += 1
            time.sleep(min(0.02, 1.0 / rate_hz))
        if progress is not None:
            progress(self.taken + 1)

    def _on_connect(self, client: mqtt.Client, data: Any, flags: Any, code: Any, properties: Any) -> None:
        self.refusal = str(code) if code.is_failure else ""
        if not code.is_failure:
            self.connections += 1
            client.subscribe(f"{self.topic}/ack/{self.flight}", qos=1)

    def _on_message(self, client: mqtt.Client, data: Any, message: mqtt.MQTTMessage) -> None:
        try:
            ack = Ack.model_validate_json(message.payload)
        except ValidationError:
            return
        if ack.flight == self.flight:
            self.taken = min(ack.seq, self.count - 1)


class _Pace:
    """The next message to send, and the last one that may be sent now."""

    def __init__(self, rate_hz: float, taken: int, connections: int) -> None:
        self.rate_hz = rate_hz
        self.connections, self.taken, self.moved = connections, taken, time.monotonic()
        self._start_at(taken + 1)

    def _start_at(self, seq: int) -> None:
        self.started, self.first, self.following = time.monotonic(), seq, seq

    def update(self, taken: int, connections: int) -> None:
        """Continue after what an earlier run has sent; after a lost connection or a long silence send again."""
        now = time.monotonic()
        if taken != self.taken:
            self.taken, self.moved = taken, now
        if taken >= self.following:
            self._start_at(taken + 1)
        if connections != self.connections or now - self.moved > _RESEND_S:
            self.following, self.connections, self.moved = taken + 1, connections, now

    def due(self) -> int:
        """The last message that is due."""
        return self.first + int((time.monotonic() - self.started) * self.rate_hz)
