"""The live view: estimates from the broker to the page, a gateway of our own where there is none, and replay."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import paho.mqtt.client as mqtt
from pydantic import ValidationError

from pc2dae.atomic import write_text
from pc2dae.edge.broker import Broker
from pc2dae.edge.messages import LARGEST, Clean, Health, Taken, parse_sample
from pc2dae.errors import Pc2daeError
from pc2dae.suite import Suite, load_suite
from pc2dae.web.child import Child
from pc2dae.web.live_buffer import Heard
from pc2dae.web.live_models import Connect, LiveChannel, LiveState, Replay
from pc2dae.web.problems import Refused
from pc2dae.web.settings import Settings
from pc2dae.web.suites import Suites

_GREETING_S = 1.5  # a gateway that is there says so within this time
_CONFIRM_S = 0.5
_ASK_S = 3.0
_SAMPLES = 4000  # kept until their estimate comes
_LONGEST = 16 * LARGEST
_log = logging.getLogger(__name__)


class Live:
    """The line to the broker and all that hangs on it; lives in the event loop, the client's thread only hands over."""

    def __init__(self, settings: Settings, suites: Suites) -> None:
        self.settings, self.suites = settings, suites
        self.path = settings.data / "live.json"
        self.taken = settings.data / "live" / "taken.json"  # how far we are with a gateway of our own
        self.wanted = Connect(broker=settings.broker, topic_in=settings.topic_in, topic_out=settings.topic_out)
        self.payload: tuple[str, tuple[str, ...]] = ("black-kite", ())  # suite's name or file, families left out
        self.suite: Suite = load_suite("black-kite")
        self.state: Any = "off"
        self.message: str | None = None
        self.gateway: Any = "unknown"
        self.heard = Heard()
        self.samples: OrderedDict[tuple[str, int], dict[str, float | None]] = OrderedDict()
        self.latency_s: float | None = None
        self.flight: str | None = None
        self.is_behind = False
        self.client: mqtt.Client | None = None
        self.own: Child | None = None
        self.replay: Replay | None = None
        self.player: Child | None = None
        self.playing: asyncio.Task[None] | None = None
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Go on listening where an earlier server was."""
        self.loop = asyncio.get_running_loop()
        with suppress(OSError, ValidationError):
            self.heard.resume(Taken.model_validate_json(self.taken.read_bytes()).taken)
        with suppress(OSError, ValidationError):
            try:
                await self.connect(Connect.model_validate_json(self.path.read_bytes()))
            except Pc2daeError as error:  # as when the broker of the last time is no longer allowed
                self.message = str(error)

    async def stop(self) -> None:
        """Let go of everything, and remember what was wanted."""
        self.heard.close()
        await self._leave()

    # ── the line ──

    async def connect(self, wanted: Connect) -> None:
        """Listen to a broker; lines that were there are ended first."""
        broker = Broker.parse(wanted.broker or self.settings.broker)
        if not self.settings.allows(wanted.broker or self.settings.broker):
            raise Refused(403, "only brokers named when the server was started may be used",
                          hint="restart it with --broker HOST:PORT")  # fmt: skip
        await self._leave()
        self.wanted = wanted.model_copy(update={
            "broker": wanted.broker or self.settings.broker,
            "topic_in": wanted.topic_in or self.settings.topic_in,
            "topic_out": wanted.topic_out or self.settings.topic_out,
        })  # fmt: skip
        source = self.suites.source(wanted.suite)
        self.payload, self.suite = (str(source), ()), load_suite(source)
        write_text(self.path, self.wanted.model_dump_json())
        self.state, self.message, self.gateway = "connecting", None, "unknown"
        self.client = broker.client("")
        self.client.on_connect = self._on_connect
        self.client.on_disconnect = self._on_disconnect
        self.client.on_message = self._on_message
        broker.connect(self.client)
        self.tasks = [asyncio.create_task(self._confirm())]
        if not wanted.listen_only:
            self.tasks.append(asyncio.create_task(self._see_to_gateway()))
        self.heard.wake()

    async def disconnect(self) -> None:
        """Stop listening, and do not begin again at the next start."""
        await self._leave()
        self.path.unlink(missing_ok=True)

    async def _leave(self) -> None:
        await self.stop_replay()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.tasks = []
        if self.own is not None:
            await self.own.end(gently=True)
            self.own = None
        if self.client is not None:
            client, self.client = self.client, None
            await asyncio.to_thread(_close, client)
        self.state, self.gateway = "off", "unknown"
        self.heard.wake()

    def _on_connect(self, client: mqtt.Client, data: Any, flags: Any, code: Any, properties: Any) -> None:
        if code.is_failure:
            self._soon(self._set, "lost" if self.state == "connected" else self.state, f"the broker refuses us: {code}")
            return
        out = str(self.wanted.topic_out)
        client.subscribe([(out, 1), (f"{out}/status", 1), (f"{out}/health", 0), (str(self.wanted.topic_in), 0)])
        self._soon(self._set, "connected", None)

    def _on_disconnect(self, client: mqtt.Client, data: Any, flags: Any, code: Any, properties: Any) -> None:
        self._soon(self._set, "lost", "the broker is gone; trying again")

    def _on_message(self, client: mqtt.Client, data: Any, message: mqtt.MQTTMessage) -> None:
        if len(message.payload) <= _LONGEST:
            self._soon(self._take, message.topic, bytes(message.payload))

    def _soon(self, call: Any, *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self.loop.call_soon_threadsafe(call, *arguments)

    def _set(self, state: str, message: str | None) -> None:
        if self.client is not None:
            self.is_behind = self.is_behind or state == "connected"
            self.state, self.message = state, message
            self.heard.wake()

    # ── what comes ──

    def _take(self, topic: str, payload: bytes) -> None:
        out = str(self.wanted.topic_out)
        try:
            if topic == out:
                self._estimate(payload)
            elif topic == f"{out}/status":
                said = payload.decode("utf-8", "replace")
                self.gateway = "own" if self.own is not None else said if said in ("online", "offline") else "unknown"
                self.heard.wake()
            elif topic == f"{out}/health":
                told = Health.model_validate_json(payload)
                counts = self.heard.counts
                counts.late, counts.refused, counts.quarantined = told.late, told.refused, told.quarantined
            else:
                self._sample(payload)
        except (ValidationError, ValueError, RecursionError):
            self.heard.counts.refused += 1

    def _sample(self, payload: bytes) -> None:
        sample = parse_sample(payload)
        self.heard.counts.samples += 1
        self.samples[sample.flight, sample.microseconds // 1000] = dict(sample.values)
        while len(self.samples) > _SAMPLES:
            self.samples.popitem(last=False)

    def _estimate(self, payload: bytes) -> None:
        clean = Clean.model_validate_json(payload)
        if not self.heard.is_new(clean.flight, clean.seq, in_order=self.own is not None):
            self.is_behind = self.own is not None
            return
        at = round(clean.time.timestamp() * 1000)
        self.latency_s, self.flight = clean.latency_s, clean.flight
        event = {"flight": clean.flight, "seq": clean.seq, "time": at, "estimate": clean.estimate,
                 "uncertainty": clean.uncertainty, "raw": self.samples.pop((clean.flight, at), {}), "qc": clean.qc,
                 "latency_s": clean.latency_s, "arrived": round(time.time() * 1000)}  # fmt: skip
        self.heard.tell("estimate", json.dumps(event, separators=(",", ":")))

    async def _confirm(self) -> None:
        """Tell a gateway of our own how far we are: it keeps what we have not got."""
        told: dict[str, int] = {}
        asked = 0.0
        while True:
            await asyncio.sleep(_CONFIRM_S)
            if self.own is None or self.client is None or self.state != "connected":
                continue
            now = self.heard.taken()
            again = self.is_behind and time.monotonic() - asked > _ASK_S
            if again:
                self.is_behind, asked = False, time.monotonic()
            if again or now != told:
                told = now
                word = Taken(taken=now, again=again).model_dump_json()
                await asyncio.to_thread(write_text, self.taken, word)  # first: what is confirmed, the gateway forgets
                self.client.publish(f"{self.wanted.topic_out}/taken", word, qos=1)

    # ── the gateway and the player: children ──

    async def _see_to_gateway(self) -> None:
        """Run a gateway where nobody else does, and begin it anew should it end."""
        while self.state != "connected":
            await asyncio.sleep(0.1)
        await asyncio.sleep(_GREETING_S)
        while True:
            if self.own is None and self.gateway == "online":
                await asyncio.sleep(_GREETING_S)
                continue
            suite, exclude = self.payload
            self.own = Child("pc2dae.web.gateway")
            self.gateway = "own"
            self.heard.wake()
            spec = {"broker": self.wanted.broker, "topic_in": self.wanted.topic_in, "topic_out": self.wanted.topic_out,
                    "model": self.wanted.model, "suite": suite, "exclude": exclude,
                    "state": str(self.settings.data / "live")}  # fmt: skip
            async for told in self.own.run(spec):
                self.message = told.get("error", self.message)
            await asyncio.sleep(1.0)

    async def play(self, name: str, flight: str, file: str, suite: str, exclude: list[str], speed: float) -> Replay:
        """Send a stored flight as if it were flying; without a line to a broker, through a gateway in the child."""
        if self.replay is not None and self.replay.state in ("starting", "running"):
            raise Refused(409, "a flight is being replayed", hint="stop it first")
        described = load_suite(suite)
        before, self.payload, self.suite = self.payload, (suite, tuple(exclude)), described
        if self.own is not None and self.payload != before:
            await self.own.end(gently=True)  # it begins anew, with this flight's payload
        self.replay = Replay(flight=flight, name=name, speed=speed, state="starting", direct=self.state == "off")
        spec = {"file": file, "name": name, "speed": speed, "broker": self.wanted.broker,
                "topic": self.wanted.topic_in, "direct": self.replay.direct, "model": self.wanted.model,
                "suite": suite, "exclude": exclude}  # fmt: skip
        self.player = Child("pc2dae.web.rehearsal")
        self.playing = asyncio.create_task(self._play(self.player, self.replay, spec))
        return self.replay

    async def _play(self, player: Child, replay: Replay, spec: dict[str, Any]) -> None:
        async for told in player.run(spec):
            if "error" in told:
                replay.state, replay.error = "failed", str(told["error"])
            elif "estimate" in told:
                self._in_turn(self._estimate, str(told["estimate"]).encode())
            elif "sample" in told:
                self._in_turn(self._sample, str(told["sample"]).encode())
            else:
                replay.state, replay.sent, replay.of = "running", int(told["sent"]), int(told["of"])
                self.heard.wake()
        if replay.state in ("starting", "running"):
            replay.state = "done" if replay.sent == replay.of and replay.of else "failed"
        self.heard.wake()

    def _in_turn(self, take: Any, payload: bytes) -> None:
        with suppress(ValidationError, ValueError):
            take(payload)

    async def stop_replay(self) -> None:
        """End the replay."""
        if self.player is not None and self.replay is not None:
            if self.replay.state in ("starting", "running"):
                self.replay.state = "stopped"
            await self.player.end()
            self.player = None
            self.heard.wake()

    def shown(self) -> LiveState:
        """Everything but the estimates."""
        channels = [
            LiveChannel(name=c.name, units=c.units, family=family.name, lower_bound=c.lower_bound)
            for family in self.suite.family
            for c in family.channel
            if family.name not in self.payload[1]
        ]
        error = self.replay.error if self.replay is not None else None
        return LiveState(
            state=self.state, broker=str(self.wanted.broker), topic_in=str(self.wanted.topic_in),
            topic_out=str(self.wanted.topic_out), model=self.wanted.model, suite=self.suite.name,
            listen_only=self.wanted.listen_only, channels=channels, gateway=self.gateway, flight=self.flight,
            latency_s=self.latency_s, counters=asdict(self.heard.counts), replay=self.replay,
            message=self.message or error or "",
        )  # fmt: skip


def _close(client: mqtt.Client) -> None:
    client.disconnect()
    client.loop_stop()


def check_broker(text: str) -> None:
    """Refuse what cannot be a broker's address."""
    try:
        Broker.parse(text)
    except Pc2daeError as error:
        raise Refused(422, Exception.__str__(error), hint=error.hint) from None
