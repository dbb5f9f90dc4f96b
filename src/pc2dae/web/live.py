"""The live view: forwards estimates from the broker to the page, runs a gateway if none is online, replays flights."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import paho.mqtt.client as mqtt
from pydantic import ValidationError

from pc2dae.atomic import write_text
from pc2dae.calibration.curve import read_calibration
from pc2dae.calibration.series import CalibrationSeries
from pc2dae.edge.broker import Broker
from pc2dae.edge.messages import LARGEST, Taken
from pc2dae.errors import Pc2daeError
from pc2dae.suite import Suite, load_suite
from pc2dae.web.child import Child
from pc2dae.web.live_feed import LiveFeed
from pc2dae.web.live_models import Connect, LiveChannel, LiveState, Replay
from pc2dae.web.problems import Refused
from pc2dae.web.settings import Settings
from pc2dae.web.suites import Suites

_GREETING_S = 1.5  # a running gateway announces itself within this time
_CONFIRM_S = 0.5
_LONGEST = 16 * LARGEST


class Live:
    """The connection to the broker, the gateway and the replay; the MQTT client's thread only enqueues messages."""

    def __init__(self, settings: Settings, suites: Suites) -> None:
        self.settings, self.suites = settings, suites
        self.path = settings.data / "live.json"
        self.confirmed = settings.data / "live" / "taken.json"  # what was received from our own gateway
        self.wanted = Connect(broker=settings.broker, topic_in=settings.topic_in, topic_out=settings.topic_out)
        self.payload: tuple[str, tuple[str, ...]] = ("black-kite", ())  # suite's name or file, families excluded
        self.calibration: tuple[Path, ...] = ()  # of its readings; a replayed flight has its own
        self.suite: Suite = load_suite("black-kite")
        self.state: Literal["off", "connecting", "connected", "lost"] = "off"
        self.message: str | None = None
        self.gateway: Literal["own", "online", "offline", "unknown"] = "unknown"
        self.feed = LiveFeed()
        self.client: mqtt.Client | None = None
        self.own: Child | None = None
        self.replay: Replay | None = None
        self.player: Child | None = None
        self.playing: asyncio.Task[None] | None = None
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Restore the connection of the previous server process."""
        self.loop = asyncio.get_running_loop()
        with suppress(OSError, ValidationError):
            self.feed.resume(Taken.model_validate_json(self.confirmed.read_bytes()))
        with suppress(OSError, ValidationError):
            try:
                await self.connect(Connect.model_validate_json(self.path.read_bytes()))
            except Pc2daeError as error:  # the broker may no longer be allowed
                self.message = str(error)

    async def stop(self) -> None:
        """Close everything; the next start connects again."""
        self.feed.buffer.close()
        await self._close()

    # ── the connection ──

    async def connect(self, wanted: Connect) -> None:
        """Connect to a broker, replacing the current connection."""
        address = wanted.broker or self.settings.broker
        broker = Broker.parse(address)
        if not self.settings.allows(address):
            raise Refused(403, "only brokers named when the server was started may be used",
                          hint="restart it with --broker HOST:PORT")  # fmt: skip
        source = self.suites.source(wanted.suite)
        suite, calibrations = load_suite(source), [read_calibration(path) for path in self.settings.calibration]
        suite = CalibrationSeries(calibrations, suite).suite if calibrations else suite
        await self._close()
        self.wanted = wanted.model_copy(update={
            "broker": address,
            "topic_in": wanted.topic_in or self.settings.topic_in,
            "topic_out": wanted.topic_out or self.settings.topic_out,
        })  # fmt: skip
        self.payload, self.suite, self.calibration = (str(source), ()), suite, self.settings.calibration
        write_text(self.path, self.wanted.model_dump_json())
        self.state, self.message, self.gateway = "connecting", None, "unknown"
        self.client = broker.client("")
        self.client.on_connect = self._on_connect
        self.client.on_disconnect = self._on_disconnect
        self.client.on_message = self._on_message
        broker.connect(self.client)
        self.tasks = [asyncio.create_task(self._confirm())]
        if not wanted.listen_only:
            self.tasks.append(asyncio.create_task(self._run_gateway()))
        self.feed.buffer.notify()

    async def disconnect(self) -> None:
        """Disconnect, and do not reconnect at the next start."""
        await self._close()
        self.path.unlink(missing_ok=True)

    async def _close(self) -> None:
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
        self.feed.buffer.notify()

    def _on_connect(self, client: mqtt.Client, data: Any, flags: Any, code: Any, properties: Any) -> None:
        if code.is_failure:
            state = "lost" if self.state == "connected" else self.state
            self._soon(self._set, state, f"broker refused the connection: {code}")
            return
        out = str(self.wanted.topic_out)
        client.subscribe([(out, 1), (f"{out}/status", 1), (f"{out}/health", 0), (str(self.wanted.topic_in), 0)])
        self._soon(self._set, "connected", None)

    def _on_disconnect(self, client: mqtt.Client, data: Any, flags: Any, code: Any, properties: Any) -> None:
        self._soon(self._set, "lost", "connection to the broker lost; reconnecting")

    def _on_message(self, client: mqtt.Client, data: Any, message: mqtt.MQTTMessage) -> None:
        if len(message.payload) <= _LONGEST:
            self._soon(self._take, message.topic, bytes(message.payload))

    def _soon(self, call: Any, *arguments: Any) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            self.loop.call_soon_threadsafe(call, *arguments)

    def _set(self, state: Literal["connecting", "connected", "lost"], message: str | None) -> None:
        if self.client is not None:
            self.feed.receipts.is_behind |= state == "connected"
            self.state, self.message = state, message
            self.feed.buffer.notify()

    def _take(self, topic: str, payload: bytes) -> None:
        out = str(self.wanted.topic_out)
        if topic == out:
            self.feed.add_estimate(payload, in_order=self.own is not None)
        elif topic == f"{out}/health":
            self.feed.add_health(payload)
        elif topic == f"{out}/status":
            if self.own is None:
                self.gateway = "online" if payload == b"online" else "offline" if payload == b"offline" else "unknown"
            self.feed.buffer.notify()
        else:
            self.feed.add_sample(payload)

    async def _confirm(self) -> None:
        """Confirm estimates to our own gateway, which keeps them until then."""
        while True:
            await asyncio.sleep(_CONFIRM_S)
            if self.own is None or self.client is None or self.state != "connected":
                continue
            confirmation = self.feed.receipts.confirmation()
            if confirmation is not None:
                text = confirmation.model_dump_json()
                await asyncio.to_thread(write_text, self.confirmed, text)  # first: the gateway deletes confirmed ones
                self.client.publish(f"{self.wanted.topic_out}/taken", text, qos=1)

    # ── child processes: gateway and replay ──

    async def _run_gateway(self) -> None:
        """Run a gateway unless another one is online, and restart it if it ends."""
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
            self.feed.buffer.notify()
            spec = {"broker": self.wanted.broker, "topic_in": self.wanted.topic_in, "topic_out": self.wanted.topic_out,
                    "model": self.wanted.model, "suite": suite, "exclude": exclude,
                    "calibration": [str(path) for path in self.calibration],
                    "state": str(self.settings.data / "live")}  # fmt: skip
            async for report in self.own.run(spec):
                self.message = report.get("error", self.message)
            await asyncio.sleep(1.0)

    async def play(self, name: str, flight: str, file: str, suite: str, exclude: list[str], speed: float) -> Replay:
        """Send a stored flight as if it were flying; without a broker, through a gateway in the child process."""
        if self.replay is not None and self.replay.state in ("starting", "running"):
            raise Refused(409, "a flight is being replayed", hint="stop it first")
        described = load_suite(suite)
        before = (self.payload, self.calibration)
        self.payload, self.suite, self.calibration = (suite, tuple(exclude)), described, ()
        if self.own is not None and (self.payload, self.calibration) != before:
            await self.own.end(gently=True)  # it is restarted with this flight's payload
        self.replay = Replay(flight=flight, name=name, speed=speed, state="starting", direct=self.state == "off")
        spec = {"file": file, "name": name, "speed": speed, "broker": self.wanted.broker,
                "topic": self.wanted.topic_in, "direct": self.replay.direct, "model": self.wanted.model,
                "suite": suite, "exclude": exclude}  # fmt: skip
        self.player = Child("pc2dae.web.replay")
        self.playing = asyncio.create_task(self._play(self.player, self.replay, spec))
        return self.replay

    async def _play(self, player: Child, replay: Replay, spec: dict[str, Any]) -> None:
        async for report in player.run(spec):
            if "error" in report:
                replay.state, replay.error = "failed", str(report["error"])
            elif "estimate" in report:
                self.feed.add_estimate(str(report["estimate"]).encode(), in_order=False)
            elif "sample" in report:
                self.feed.add_sample(str(report["sample"]).encode())
            else:
                replay.state, replay.sent, replay.of = "running", int(report["sent"]), int(report["of"])
                self.feed.buffer.notify()
        if replay.state in ("starting", "running"):
            replay.state = "done" if replay.sent == replay.of and replay.of else "failed"
        self.feed.buffer.notify()

    async def stop_replay(self) -> None:
        """Stop the replay."""
        if self.player is not None and self.replay is not None:
            if self.replay.state in ("starting", "running"):
                self.replay.state = "stopped"
            await self.player.end()
            self.player = None
            self.feed.buffer.notify()

    def shown(self) -> LiveState:
        """Live state except for the estimates."""
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
            listen_only=self.wanted.listen_only, channels=channels, gateway=self.gateway, flight=self.feed.flight,
            latency_s=self.feed.latency_s, calibrated=self.feed.calibrated, counters=self.feed.counters(),
            replay=self.replay, message=self.message or error or "",
        )  # fmt: skip


def _close(client: mqtt.Client) -> None:
    client.disconnect()
    client.loop_stop()


def check_broker(text: str) -> None:
    """Refuse an invalid broker address."""
    try:
        Broker.parse(text)
    except Pc2daeError as error:
        raise Refused(422, Exception.__str__(error), hint=error.hint) from None
