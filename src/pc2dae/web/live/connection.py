"""The connection to an MQTT broker on the event loop, with the reason while there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal

import paho.mqtt.client as mqtt

from pc2dae.edge.broker import Broker
from pc2dae.edge.messages import LARGEST

_REASON_S = 2.0  # longest search for a reason
_RETRY_S = 3.0
_LONGEST = 16 * LARGEST
Callback = Callable[..., None]


class BrokerConnection:
    """Subscribes to `topics`, reconnects by itself, and looks for the reason whenever it is not connected."""

    def __init__(
        self, broker: Broker, topics: Sequence[tuple[str, int]], *, on_state: Callback, on_message: Callback
    ) -> None:
        self.broker, self.topics = broker, list(topics)
        self.on_state, self.on_message = on_state, on_message
        self.state: Literal["connecting", "connected", "lost"] = "connecting"
        self.reason = ""
        self.client = broker.client("")

    def open(self) -> None:
        """Connect in the background."""
        self.loop = asyncio.get_running_loop()
        self.since = self.loop.time()
        self.client.on_connect, self.client.on_disconnect = self._on_connect, self._on_disconnect
        self.client.on_message, self.client.on_subscribe = self._on_message, self._on_subscribe
        self.broker.connect(self.client)
        self.search = asyncio.create_task(self._search())

    async def close(self) -> None:
        """Disconnect."""
        self.search.cancel()
        await asyncio.gather(self.search, return_exceptions=True)
        await asyncio.to_thread(_close, self.client)

    def publish(self, topic: str, text: str) -> None:
        """Publish with QoS 1."""
        self.client.publish(topic, text, qos=1)

    async def _search(self) -> None:
        """Find the reason while not connected: the client itself only retries."""
        while True:
            if self.state != "connected":
                where = f"{self.broker.host}:{self.broker.port}"
                try:
                    async with asyncio.timeout(_REASON_S):  # not `wait_for`, which can lose the cancellation by `close`
                        reason = await asyncio.to_thread(self.broker.problem, _REASON_S)
                except TimeoutError:  # the name server does not respond
                    reason = f"{where} does not respond"
                is_mute = self.loop.time() - self.since > _REASON_S and not self.reason
                self._explain(reason or (f"{where} does not respond as an MQTT broker" if is_mute else ""))
            await asyncio.sleep(_RETRY_S if self.state == "connected" or self.reason else 0.5)

    # ── called by the client's thread ──

    def _on_connect(self, client: mqtt.Client, data: Any, flags: Any, code: Any, properties: Any) -> None:
        if code.is_failure:
            self._soon(self._set, "lost" if self.state == "lost" else "connecting", f"refused by the broker: {code}")
            return
        client.subscribe(self.topics)
        self._soon(self._set, "connected", "")

    def _on_subscribe(self, client: mqtt.Client, data: Any, number: int, codes: Any, properties: Any) -> None:
        refused = [topic for (topic, _), code in zip(self.topics, codes, strict=False) if code.is_failure]
        if refused:
            self._soon(self._set, "connected", f"this user may not read {', '.join(refused)}")

    def _on_disconnect(self, client: mqtt.Client, data: Any, flags: Any, code: Any, properties: Any) -> None:
        self._soon(self._disconnected)

    def _on_message(self, client: mqtt.Client, data: Any, message: mqtt.MQTTMessage) -> None:
        if len(message.payload) <= _LONGEST:
            self._soon(self.on_message, message.topic, bytes(message.payload))

    def _soon(self, call: Callback, *arguments: Any) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            self.loop.call_soon_threadsafe(call, *arguments)

    # ── on the event loop ──

    def _disconnected(self) -> None:
        if self.state == "connected":
            self.since = self.loop.time()
            self._set("lost", "connection to the broker lost")
        elif not self.reason:
            is_plain = not self.broker.tls and self.broker.ca is None
            self._set(self.state, "the broker closed the connection" + ("; it may require TLS" if is_plain else ""))

    def _explain(self, reason: str) -> None:
        if reason and self.state != "connected":
            self._set(self.state, reason)

    def _set(self, state: Literal["connecting", "connected", "lost"], reason: str) -> None:
        if not self.search.cancelled():
            self.state, self.reason = state, reason
            self.on_state()


def _close(client: mqtt.Client) -> None:
    client.disconnect()
    client.loop_stop()
