"""Any payload over a real mosquitto with users and TLS: reasons for refusals, passwords, the wrong suite."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ground import Ground, grounded, wait_for

from pc2dae.edge.broker import Broker
from pc2dae.edge.publisher import Publisher
from pc2dae.web.live.connection import BrokerConnection

PASSWORD = "smoke over Konza"
KONZA = {
    "channels": [
        {"column": "CO_ppm", "name": "co", "units": "ppm", "family": "gas"},
        {"column": "CO2_ppm", "name": "co2", "units": "ppm", "family": "gas"},
        {"column": "PM25", "name": "pm25", "units": "ug m-3", "family": "pm"},
    ]
}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a self-signed certificate and a password file."""
    if shutil.which("openssl") is None or shutil.which("mosquitto_passwd") is None:
        pytest.skip("openssl or mosquitto_passwd is not installed: make system")
    folder = tmp_path_factory.mktemp("broker")
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*command, "-keyout", "key.pem", "-out", "ca.pem"], cwd=folder, check=True, capture_output=True)
    subprocess.run(["mosquitto_passwd", "-b", "-c", "users", "pilot", PASSWORD], cwd=folder, check=True)
    (folder / "users").chmod(0o644)
    return folder


def secured(folder: Path) -> list[str]:
    """Lines of a mosquitto configuration: TLS and the user pilot."""
    return ["allow_anonymous false", f"password_file {folder / 'users'}", f"certfile {folder / 'ca.pem'}",
            f"keyfile {folder / 'key.pem'}"]  # fmt: skip


def reason_of(ground: Ground, **wanted: Any) -> str:
    """The reason that a connection gets; it must come within three seconds, and it goes on trying."""
    start = time.monotonic()
    answer = ground.client.post("/api/live", json=wanted)
    assert answer.status_code == 200, answer.text
    wait_for(lambda: ground.get("/api/live")["message"], 20)
    state, took = ground.get("/api/live"), time.monotonic() - start
    assert took < 3.5, took
    assert (state["state"], state["link"]["status"]) == ("connecting", "waiting")
    assert state["link"]["reason"] == state["message"]
    return str(state["message"])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # paho leaves a failed socket open
@pytest.mark.slow
def test_a_connection_that_fails_has_its_reason_at_once(
    tmp_path: Path, mosquitto: Callable[..., Any], free_port: int, certificate: Path
) -> None:
    with (
        socket.socket() as mute,
        socket.socket() as closed,
        mosquitto(tmp_path, free_port, *secured(certificate)),
        grounded(tmp_path / "data", any_broker=True, ca=certificate / "ca.pem") as ground,
    ):
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        closed.bind(("127.0.0.1", 0))
        ports = free_port, mute.getsockname()[1], closed.getsockname()[1]
        here, silent, dead = (f"127.0.0.1:{port}" for port in ports)
        assert reason_of(ground, broker=dead, tls=False) == f"no broker on {dead}: connection refused"
        assert reason_of(ground, broker="no-such-host.invalid:1883", tls=False) in (
            "unknown host 'no-such-host.invalid'", "no-such-host.invalid:1883 does not respond")  # fmt: skip
        assert "does not respond" in reason_of(ground, broker=silent, tls=False)
        assert "it may require TLS" in reason_of(ground, broker=here, tls=False)
        assert "Not authorized" in reason_of(ground, broker=here, user="pilot", password="wrong")
        assert "Not authorized" in reason_of(ground, broker=here)
        ground.client.delete("/api/live")
    with mosquitto(tmp_path, free_port), grounded(tmp_path / "other", any_broker=True) as ground:
        assert "does not use TLS" in reason_of(ground, broker=here, tls=True)
    with mosquitto(tmp_path, free_port, *secured(certificate)), grounded(tmp_path / "other", any_broker=True) as ground:
        assert "is not trusted: self-signed certificate" in reason_of(ground, broker=here, tls=True)


def test_a_connection_is_closed_even_at_the_moment_its_reason_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        found: asyncio.Future[str] = loop.create_future()

        async def to_thread(*_: Any) -> str:
            return await found

        own = SimpleNamespace(**vars(asyncio) | {"to_thread": to_thread})  # servers in other threads keep theirs
        monkeypatch.setattr("pc2dae.web.live.connection.asyncio", own)
        connection = BrokerConnection(Broker("127.0.0.1", 9), [], on_state=lambda: None, on_message=lambda *_: None)
        connection.loop, connection.since = loop, loop.time()
        connection.search = asyncio.create_task(connection._search())
        while not found._callbacks:  # type: ignore[attr-defined]
            await asyncio.sleep(0)
        found.set_result("no broker")
        await asyncio.sleep(0)
        connection.search.cancel()
        await asyncio.wait([connection.search], timeout=5)
        assert connection.search.cancelled()

    asyncio.run(work())


@contextmanager
def sending(ground: Ground, broker: Broker, count: int, **values: float) -> Iterator[None]:
    """A payload that sends `count` samples at 20 Hz with stamps of now."""
    start = datetime.now(UTC) - timedelta(seconds=count)

    def message(n: int) -> bytes:
        at = (start + timedelta(seconds=n)).isoformat()
        return json.dumps({"flight": "konza", "seq": n, "time": at, "values": values, "end": n == count - 1}).encode()

    assert Publisher(broker, topic="smoke/raw", flight="konza", count=count, message=message).run(rate_hz=20) == count
    yield


@pytest.mark.slow
def test_any_payload_with_password_and_tls_and_a_restart(
    tmp_path: Path, mosquitto: Callable[..., Any], free_port: int, certificate: Path
) -> None:
    """No channel of the stream is in the suite: it is said with the suite that fits, and switching to it works."""
    broker = Broker("127.0.0.1", free_port, "pilot", PASSWORD, ca=certificate / "ca.pem")
    settings = {"broker": f"127.0.0.1:{free_port}", "ca": certificate / "ca.pem"}
    with mosquitto(tmp_path, free_port, *secured(certificate)):
        with grounded(tmp_path / "data", **settings) as ground:
            assert ground.client.put("/api/suites/konza", json=KONZA).status_code == 200
            unknown = ground.client.post("/api/live", json={"suite": "konza", "exclude": ["wings"]})
            assert unknown.status_code == 422
            answer = ground.client.post("/api/live", json={"user": "pilot", "password": PASSWORD, "exclude": ["pm"]})
            assert (answer.json()["user"], answer.json()["tls"]) == ("pilot", True)
            wait_for(lambda: ground.get("/api/live")["gateway"] == "own")
            with sending(ground, broker, 5, co=0.4, co2=410.0, spare=1.0):
                wait_for(lambda: ground.get("/api/live")["mismatch"])
            state = ground.get("/api/live")
            assert state["fitting"] == "konza"
            assert state["mismatch"] == ("the stream sends co, co2, spare, but suite black-kite has none of these; "
                                         "suite konza fits best")  # fmt: skip
            assert not any(channel["has_data"] for channel in state["channels"])
            wanted = {"user": "pilot", "suite": "konza", "exclude": ["pm"], "model": "adaptive-causal"}
            ground.client.post("/api/live", json=wanted)  # with the password given before
            wait_for(lambda: ground.get("/api/live")["gateway"] == "own")
            seen = json.dumps(ground.get("/api/live")) + (tmp_path / "data" / "live.json").read_text()
        secret = tmp_path / "data" / "live" / "password"
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
        assert PASSWORD not in seen
        with grounded(tmp_path / "data", **settings) as ground:  # reconnects with the stored password
            wait_for(lambda: ground.get("/api/live")["gateway"] == "own")
            with sending(ground, broker, 12, co=0.4, co2=410.0, spare=1.0):
                wait_for(lambda: ground.get("/api/live")["counters"]["estimates"] == 12)
            state = ground.get("/api/live")
            assert (state["mismatch"], state["ignored"]) == (None, ["spare"])
            assert [(c["name"], c["units"], c["has_data"]) for c in state["channels"]] == [
                ("co", "ppm", True), ("co2", "ppm", True)]  # fmt: skip
            assert (state["counters"]["lost"], state["counters"]["duplicates"]) == (0, 0)
            elsewhere = ground.client.post("/api/live", json=wanted | {"tls": False}).json()
            assert elsewhere["tls"] is False
            wait_for(lambda: ground.get("/api/live")["message"])  # nor is the password sent unencrypted
            ground.client.delete("/api/live")
        assert not secret.exists()
