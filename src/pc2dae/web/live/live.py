"""The live view: forwards estimates from the broker to the page, runs a gateway if none is online, replays flights."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pc2dae.calibration.curve import read_calibration
from pc2dae.calibration.series import CalibrationSeries
from pc2dae.edge.broker import Broker
from pc2dae.errors import Pc2daeError
from pc2dae.response.payload import read_response, with_response
from pc2dae.suite import Suite, load_suite
from pc2dae.web.forks import Child, Template
from pc2dae.web.live.connection import BrokerConnection
from pc2dae.web.live.feed import LiveFeed
from pc2dae.web.live.live_models import Connect, LinkState, LiveState, Play, Replay
from pc2dae.web.live.payload_match import Match, Payload
from pc2dae.web.live.recorder import LivePayload, Recorder, Recording
from pc2dae.web.live.saved import ConfirmedEstimates, SavedAlarms, SavedConnection
from pc2dae.web.problems import Refused
from pc2dae.web.settings import Settings
from pc2dae.web.store import now_ms
from pc2dae.web.suites import Suites

_log = logging.getLogger(__name__)
_GREETING_S = 1.5  # a running gateway announces itself within this time
_CONFIRM_S = 0.5


class Live:
    """The connection to the broker, the gateway and the replay."""

    def __init__(
        self, settings: Settings, suites: Suites, *, template: Template, land: Callable[[Recording], None]
    ) -> None:
        self.settings, self.suites, self.template = settings, suites, template
        self.saved = SavedConnection(settings)
        self.wanted = self.saved.completed(Connect(), None)
        self.calibration: tuple[Path, ...] = ()  # of its readings; a replayed flight has its own
        self.response: Path | None = None  # likewise
        self.payload = Payload("black-kite", load_suite("black-kite"))
        self.match = Match(suites)
        self.message: str | None = None  # of the gateway, or of the start
        self.gateway: Literal["own", "online", "offline", "unknown"] = "unknown"
        self.recorder = Recorder(settings.data / "recordings", self._recorded_payload, land)
        self.feed = LiveFeed(self.recorder)
        self.feed.alarms.adopt(self.payload.suite)
        self.alarm_file = SavedAlarms(self.feed.alarms, settings.data / "alarms.json")
        self.stopping = asyncio.Event()
        self.watching: asyncio.Task[None] | None = None
        self.connection: BrokerConnection | None = None
        self.own: Child | None = None
        self.replay: Replay | None = None
        self.player: Child | None = None
        self.playing: asyncio.Task[None] | None = None
        self.tasks: list[asyncio.Task[None]] = []

    @property
    def state(self) -> Literal["off", "connecting", "connected", "lost"]:
        """The state of the connection."""
        return "off" if self.connection is None else self.connection.state

    async def start(self) -> None:
        """Restore the connection of the previous server process."""
        self.alarm_file.load()
        if (wanted := self.saved.load()) is not None:
            try:
                await self.connect(wanted)
            except (Pc2daeError, OSError) as error:  # the broker may no longer be allowed, the suite be deleted
                self.message = str(error)
        self.recorder.start(is_connected=self.state != "off")
        self.watching = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """Close everything; the next start connects again."""
        self.feed.buffer.close()
        self.stopping.set()
        if self.watching is not None:
            await self.watching
        await self._close()
        await self.recorder.stop()

    def _recorded_payload(self, flight: str) -> LivePayload:
        """What is being received, for a new recording."""
        is_replay = self.replay is not None and self.replay.name == flight
        title = f"Replay of {flight[:-7]}" if is_replay else ""  # without its random end
        readings = self._described(self.payload.source, self.response)
        return LivePayload(readings, self.wanted.model, self.payload.exclude, self.calibration, title)

    @staticmethod
    def _described(source: str | Path, response: Path | None) -> Suite:
        """The suite of the readings, with their responses where a file states them."""
        suite = load_suite(source)
        return suite if response is None else with_response(suite, read_response(response).channels)

    # ── alarms ──

    async def _watch(self) -> None:
        """Judge silence every second, and save alarms; a last time when the server stops."""
        while not self.stopping.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), 1.0)
            self.feed.alarms.judge_silence(now_ms(), self._link())
            try:
                await self.alarm_file.save()
            except Refused as error:
                _log.warning("%s", error)

    def _link(self) -> LinkState:
        """How the samples arrive."""
        return self.feed.link.shown(now_ms(), is_on=self.state != "off" or self._is_playing, reason=self._reason)

    @property
    def _reason(self) -> str:
        """Why there is no connection, if one is wanted."""
        return "" if self.connection is None else self.connection.reason

    @property
    def _is_playing(self) -> bool:
        return self.replay is not None and self.replay.state in ("starting", "running")

    # ── the connection ──

    async def connect(self, wanted: Connect) -> None:
        """Connect to a broker, replacing the current connection."""
        wanted = self.saved.completed(wanted, self.wanted)
        broker = Broker.parse(**self.saved.login(wanted))
        if not self.settings.allows(f"{broker.host}:{broker.port}"):
            raise Refused(403, "only brokers named when the server was started may be used",
                          hint="restart it with --broker HOST:PORT")  # fmt: skip
        source = self.suites.source(wanted.suite)
        suite = self._described(source, self.settings.response)
        calibrations = [read_calibration(path) for path in self.settings.calibration]
        if wanted.exclude:
            suite.only(wanted.exclude)  # an unknown name is an error
        series = CalibrationSeries(calibrations, suite) if calibrations else None
        suite, calibrated = (series.suite, series.units) if series is not None else (suite, ())
        out = str(wanted.topic_out)
        topics = [(out, 1), (f"{out}/status", 1), (f"{out}/model", 1), (f"{out}/health", 0), (str(wanted.topic_in), 0)]
        connection = BrokerConnection(broker, topics, on_state=self._changed, on_message=self._take)
        await self._close()
        self.wanted = wanted
        self.payload = Payload(str(source), suite, tuple(wanted.exclude))
        self.calibration, self.response = self.settings.calibration, self.settings.response
        self.saved.store(wanted)
        self.message, self.gateway = None, "unknown"
        self.match.foreign = None
        self.feed.alarms.adopt(suite, calibrated)
        self.feed.restart(suite.rate_hz, self._confirmed().read())
        self.connection = connection
        connection.open()
        self.tasks = [asyncio.create_task(self._confirm())]
        if not wanted.listen_only:
            self.tasks.append(asyncio.create_task(self._run_gateway()))
        self.feed.buffer.notify()

    async def disconnect(self) -> None:
        """Disconnect, and do not reconnect at the next start."""
        await self._close()
        self.wanted.password = None
        self.saved.delete()
        self.recorder.end_all()

    async def _close(self) -> None:
        await self.stop_replay()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.tasks = []
        if self.own is not None:
            await self.own.end(gently=True)
            self.own = None
        if self.connection is not None:
            connection, self.connection = self.connection, None
            await connection.close()
        self.gateway = "unknown"
        self.feed.link.restart(None)
        self.feed.buffer.notify()

    def _changed(self) -> None:
        """The connection has changed its state."""
        self.feed.receipts.is_behind |= self.state == "connected"
        self.feed.buffer.notify()

    def _take(self, topic: str, payload: bytes) -> None:
        out = str(self.wanted.topic_out)
        if topic == out:
            self.feed.add_estimate(payload, in_order=self.own is not None)
        elif topic == f"{out}/health":
            self.feed.add_health(payload)
        elif topic == f"{out}/model":
            self.match.read_card(payload)
        elif topic == f"{out}/status":
            if payload == b"online":
                self.feed.receipts.expect_repeats()
            if self.own is None:
                self.gateway = "online" if payload == b"online" else "offline" if payload == b"offline" else "unknown"
            self.feed.buffer.notify()
        else:
            self.feed.add_sample(payload)

    def _confirmed(self) -> ConfirmedEstimates:
        return ConfirmedEstimates(self.settings.data / "live", self.wanted.model, self.payload, self.calibration)

    async def _confirm(self) -> None:
        """Confirm estimates to our own gateway, which keeps them until then."""
        while True:
            await asyncio.sleep(_CONFIRM_S)
            if self.own is None or self.connection is None or self.state != "connected":
                continue
            confirmation = self.feed.receipts.confirmation()
            if confirmation is not None:
                await asyncio.to_thread(self.recorder.sync)
                await asyncio.to_thread(self._confirmed().write, confirmation)  # first: the gateway deletes them
                self.connection.publish(f"{self.wanted.topic_out}/taken", confirmation.model_dump_json())

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
            if self.own is None:
                self.feed.resume(self._confirmed().read())  # the numbers of another gateway are not ours
            self.own = Child(self.template, "pc2dae.web.live.live_processes")
            self.gateway = "own"
            self.feed.buffer.notify()
            spec = {"kind": "gateway", "broker": self.saved.login(self.wanted), "topic_in": self.wanted.topic_in,
                    "topic_out": self.wanted.topic_out, "model": self.wanted.model, "suite": self.payload.source,
                    "exclude": self.payload.exclude, "calibration": [str(path) for path in self.calibration],
                    "response": self.response and str(self.response),
                    "state": str(self.settings.data / "live"), "recordings": str(self.recorder.folder)}  # fmt: skip
            async for report in self.own.run(spec):
                self.message = report.get("error", self.message)
            await asyncio.sleep(1.0)

    async def play(self, wanted: Play, name: str, folder: Path, exclude: list[str]) -> Replay:
        """Send a stored flight as if it were flying; without a broker, through a gateway in the child process."""
        if self._is_playing:
            raise Refused(409, "a flight is being replayed", hint="stop it first")
        before, suite = (self.payload, self.calibration), str(folder / "suite.json")
        self.payload, self.calibration, self.response = Payload(suite, load_suite(suite), tuple(exclude)), (), None
        self.feed.alarms.adopt(self.payload.suite)
        if (self.payload, self.calibration) != before:
            if self.own is not None:
                await self.own.end(gently=True)  # it is restarted with this flight's payload
            self.feed.restart(self.payload.suite.rate_hz, self._confirmed().read())
        self.replay = Replay(flight=wanted.flight, name=name, speed=wanted.speed, state="starting",
                             direct=self.state == "off")  # fmt: skip
        spec = {"kind": "replay", **wanted.model_dump(), "file": str(folder / "flight.nc"), "name": name,
                "broker": self.saved.login(self.wanted), "topic": self.wanted.topic_in, "direct": self.replay.direct,
                "model": self.wanted.model, "suite": suite, "exclude": exclude}  # fmt: skip
        self.player = Child(self.template, "pc2dae.web.live.live_processes")
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
        self.recorder.end(replay.name, is_complete=replay.direct)
        self.feed.buffer.notify()

    async def stop_replay(self) -> None:
        """Stop the replay."""
        if self.player is not None and self.replay is not None:
            if self.replay.state in ("starting", "running"):
                self.replay.state = "stopped"
            await self.player.end()
            self.player = None
            if self.feed.link.flight == self.replay.name:
                self.feed.link.restart(None)
            self.feed.buffer.notify()

    def shown(self) -> LiveState:
        """Live state except for the estimates."""
        feed, wanted, replay = self.feed, self.wanted, self.replay
        channels = self.match.channels(self.payload, feed.with_data, is_own=self.gateway == "own" or self._is_playing)
        mismatch, fitting = self.match.judge(self.payload, feed.seen, channels)
        error = replay.error if replay is not None else None
        return LiveState(
            state=self.state, broker=str(wanted.broker), topic_in=str(wanted.topic_in),
            topic_out=str(wanted.topic_out), model=wanted.model, suite=self.payload.suite.name,
            exclude=list(self.payload.exclude), user=wanted.user, tls=bool(wanted.tls),
            listen_only=wanted.listen_only, channels=channels,
            ignored=[] if mismatch else self.match.ignored(self.payload, feed.seen, channels),
            mismatch=mismatch, fitting=fitting, link=self._link(),
            is_replay=self._is_playing or (feed.link.speed is not None and self.state != "off"),
            gateway=self.gateway, flight=feed.flight, latency_s=feed.latency_s, calibrated=feed.calibrated,
            counters=feed.counters(), replay=replay, recording=self.recorder.shown(),
            message=self._reason or self.message or error or self.recorder.problem,
        )  # fmt: skip
