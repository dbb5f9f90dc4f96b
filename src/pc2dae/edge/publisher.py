"""A sender that loses nothing: it keeps a sample until the gateway has it on disk, and goes back where it has not."""

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

_WINDOW = 200  # messages on their way
_RESEND_S = 3.0  # without an acknowledgement for so long, they are sent again
_FIRST_S = 20.0  # longest wait for the first connection
_GREETING_S = 1.0  # wait for the acknowledgement of an earlier run


class Publisher:
    """Publishes messages 0 … `count` − 1 of one flight, at `rate_hz` or as fast as they are acknowledged."""

    def __init__(self, broker: Broker, *, topic: str, flight: str, count: int, message: Callable[[int], bytes]) -> None:
        self.broker, self.topic, self.flight, self.count, self.message = broker, topic, flight, count, message
        self.taken = -1
        self.is_met = threading.Event()  # connected and subscribed
        self.lines = 0
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
            if not self.is_met.wait(_FIRST_S) and self.lines == 0:
                said = f"the broker at {self.broker.host}:{self.broker.port} " + (
                    f"refuses us: {self.refusal}" if self.refusal else "does not answer"
                )
                raise Pc2daeError(said, hint="check host and port, user and password, --tls or --ca")
            time.sleep(_GREETING_S)
            self._send(rate_hz, progress, stop or threading.Event())
        finally:
            self.client.disconnect()
            self.client.loop_stop()
        return self.taken + 1

    def _send(self, rate_hz: float, progress: Callable[[int], None] | None, stop: threading.Event) -> None:
        begun, first = time.monotonic(), self.taken + 1
        following, line, known, moved = first, self.lines, self.taken, begun
        while self.taken < self.count - 1 and not stop.is_set():
            now = time.monotonic()
            if self.taken != known:
                known, moved = self.taken, now
                if progress is not None:
                    progress(known + 1)
            if self.taken >= following:  # an earlier run had come further than we knew: go on from there, at our pace
                begun, first, following = now, self.taken + 1, self.taken + 1
            if line != self.lines or now - moved > _RESEND_S:
                following, line, moved = self.taken + 1, self.lines, now
            due = min(first + int((now - begun) * rate_hz), self.taken + _WINDOW, self.count - 1)
            while following <= due and self.is_met.is_set():
                self.client.publish(self.topic, self.message(following), qos=1)
                following += 1
            time.sleep(min(0.02, 1.0 / rate_hz))
        if progress is not None:
            progress(self.taken + 1)

    def _on_connect(self, client: mqtt.Client, data: Any, flags: Any, code: Any, properties: Any) -> None:
        self.refusal = str(code) if code.is_failure else ""
        if not code.is_failure:
            self.lines += 1
            client.subscribe(f"{self.topic}/ack/{self.flight}", qos=1)

    def _on_message(self, client: mqtt.Client, data: Any, message: mqtt.MQTTMessage) -> None:
        try:
            ack = Ack.model_validate_json(message.payload)
        except ValidationError:
            return
        if ack.flight == self.flight:
            self.taken = min(ack.seq, self.count - 1)
