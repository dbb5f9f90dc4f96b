"""The gateway on MQTT: reads samples from one topic, publishes estimates and status to others.

    IN                 samples in                      OUT            estimates out, QoS 1
    IN/ack/<flight>    last sample on disk             OUT/taken      last estimate that the consumer holds
    OUT/status         online, offline (last will)     OUT/error      messages that could not be used
    OUT/model          the model's card                OUT/health     counters

A sample is acknowledged to the broker and to its sender when it and its estimates are on disk, or, where it cannot be
used, when it is in the quarantine file. An estimate is deleted when the broker has it, or, with `confirm`, when the
consumer has confirmed it: a broker that is killed loses messages.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions
from pydantic import ValidationError

from pc2dae.edge.broker import Broker
from pc2dae.edge.card import Card
from pc2dae.edge.gateway import Gateway
from pc2dae.edge.messages import Ack, MessageProblem, Taken
from pc2dae.errors import Pc2daeError

HEALTH_S = 10.0
_TICK_S = 0.25  # longest wait for an event
_BATCH = 500  # messages per tick
_WINDOW = 200  # estimates sent to the broker, but not acknowledged
_ERRORS = 20  # reported per tick; all are counted
_ACK_EXPIRY_S = 7 * 86400
_log = logging.getLogger(__name__)


class Service:
    """Runs a gateway between two topics until it is stopped."""

    def __init__(
        self, gateway: Gateway, broker: Broker, *, topic_in: str, topic_out: str, card: Card, confirm: bool = False
    ) -> None:
        if any(mark in topic_out for mark in "#+") or not topic_in or not topic_out:
            raise Pc2daeError(f"invalid output topic '{topic_out}'", hint="expected one topic without + or # for --out")
        self.gateway, self.broker, self.confirm = gateway, broker, confirm
        self.topic_in, self.topic_out = topic_in, topic_out
        self.card = json.dumps(card)
        self.events: queue.Queue[tuple[int, mqtt.MQTTMessage | None]] = queue.Queue(20 * _BATCH)
        self.published: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.connection = 0  # number of the current one: packet ids are valid for one connection only
        self.waiting: list[tuple[int, mqtt.MQTTMessage]] = []  # not accepted yet, because the disk was full
        self.under_way: dict[int, int] = {}  # packet id → letter
        self.sent = 0  # last letter handed to the client
        self.client = self._client()

    def run(self, stop: threading.Event) -> None:
        """Connect and run until `stop` is set."""
        self.broker.connect(self.client)
        reported = 0.0
        try:
            while not stop.is_set():
                self._tick()
                if time.monotonic() - reported > HEALTH_S:
                    reported = time.monotonic()
                    self._publish("health", self.gateway.health.model_dump_json(), retain=True)
            self._publish("status", "offline", qos=1, retain=True)
            self._publish("health", self.gateway.health.model_dump_json(), retain=True)
        finally:
            self.client.disconnect()
            self.client.loop_stop()

    # ── called by the client's thread: these only queue events ──

    def _client(self) -> mqtt.Client:
        client = self.broker.client(f"pc2dae-stream:{self.topic_out}", is_lasting=True, manual_ack=True)
        client.will_set(f"{self.topic_out}/status", "offline", qos=1, retain=True)
        client.on_connect, client.on_message = self._on_connect, self._on_message
        client.on_publish = lambda c, u, mid, code, properties: self.published.put(mid)
        client.on_connect_fail = lambda c, u: _log.warning(
            "broker at %s:%d does not respond; retrying", *self.broker.address
        )
        client.on_disconnect = lambda c, u, flags, code, properties: _log.info("disconnected: %s", code)
        return client

    def _on_connect(self, client: mqtt.Client, data: Any, flags: Any, code: Any, properties: Any) -> None:
        if code.is_failure:
            _log.warning("broker refused the connection: %s", code)
            return
        self.connection += 1
        _log.info("connected to %s:%d", *self.broker.address)
        options = SubscribeOptions(qos=1, noLocal=True)
        client.subscribe([(self.topic_in, options), (f"{self.topic_out}/taken", options)])
        self._publish("status", "online", qos=1, retain=True)
        self._publish("model", self.card, qos=1, retain=True)
        self._queue(None)

    def _on_message(self, client: mqtt.Client, data: Any, message: mqtt.MQTTMessage) -> None:
        self._queue(message)

    def _queue(self, message: mqtt.MQTTMessage | None) -> None:
        try:
            self.events.put_nowait((self.connection, message))
        except queue.Full:
            _log.warning("too many messages at once; the sender must send them again")

    # ── called by `run` ──

    def _tick(self) -> None:
        """Store new messages on disk, then acknowledge them and send the estimates that are ready."""
        samples, self.waiting = self.waiting, []
        for connection, message in self._drain():
            if message is None:
                self.gateway.reconnected()
                self.sent, self.under_way = 0, {}  # unacknowledged estimates are sent again
                self._publish_acks(self.gateway.acks())  # a killed broker loses them
            elif message.topic == f"{self.topic_out}/taken":
                self._confirmed(message)
                self._acknowledge(connection, message)
            else:
                samples.append((connection, message))
        self._deliveries()
        if samples or self.gateway.is_waiting:
            self._take(samples)
        self._send()

    def _drain(self) -> list[tuple[int, mqtt.MQTTMessage | None]]:
        found = []
        try:
            found.append(self.events.get(timeout=_TICK_S if self.published.empty() else 0.001))
            while len(found) < _BATCH:
                found.append(self.events.get_nowait())
        except queue.Empty:
            pass
        return found

    def _take(self, samples: list[tuple[int, mqtt.MQTTMessage]]) -> None:
        payloads, topics = [bytes(message.payload) for _, message in samples], [message.topic for _, message in samples]
        answer = self.gateway.take(payloads, topics=topics)
        for problem in answer.problems[:_ERRORS]:
            self._publish("error", problem.model_dump_json())
            _log.warning("flight %s, seq %s: %s", problem.flight, problem.seq, problem.error)
        if not answer.is_taken:
            self.waiting = samples[: 20 * _BATCH]
            time.sleep(_TICK_S)
            return
        for connection, message in samples:
            self._acknowledge(connection, message)
        self._publish_acks(answer.acks)

    def _publish_acks(self, acks: list[Ack]) -> None:
        expiry = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        expiry.MessageExpiryInterval = _ACK_EXPIRY_S
        for ack in acks:
            topic = f"{ack.topic}/ack/{ack.flight}"
            self.client.publish(topic, ack.model_dump_json(), retain=True, properties=expiry)

    def _acknowledge(self, connection: int, message: mqtt.MQTTMessage) -> None:
        if connection == self.connection:
            self.client.ack(message.mid, message.qos)

    def _confirmed(self, message: mqtt.MQTTMessage) -> None:
        """Drop confirmed estimates, and resend the others if the consumer requests it."""
        try:
            confirmation = Taken.model_validate_json(message.payload)
        except ValidationError as error:
            reason = error.errors(include_url=False)[0]["msg"]
            self._publish("error", MessageProblem(error=f"{message.topic}: {reason}").model_dump_json())
            return
        if self.confirm:
            self.gateway.delivered(confirmed=confirmation.taken)
        if confirmation.again:
            self.sent = 0

    def _deliveries(self) -> None:
        """Drop letters that the broker has acknowledged."""
        numbers = []
        while not self.published.empty():
            letter = self.under_way.pop(self.published.get(), None)
            if letter is not None:
                numbers.append(letter)
        if numbers and not self.confirm:
            self.gateway.delivered(numbers)

    def _send(self) -> None:
        """Hand letters to the client, a limited number at a time."""
        room = _WINDOW - len(self.under_way)
        if room <= 0 or not self.client.is_connected():
            return
        for letter in self.gateway.letters(self.sent, room):
            sent = self.client.publish(self.topic_out, letter.payload, qos=1)
            self.under_way[sent.mid] = letter.n
            self.sent = letter.n

    def _publish(self, place: str, text: str, *, qos: int = 0, retain: bool = False) -> None:
        if qos or self.client.is_connected():
            self.client.publish(f"{self.topic_out}/{place}", text, qos=qos, retain=retain)
