"""A ground station in this process for API tests, and small flights to upload."""

from __future__ import annotations

import asyncio
import atexit
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx

from pc2dae.web.forks import Template, child_environment
from pc2dae.web.server import Server, open_socket
from pc2dae.web.settings import Limits, Settings
from pc2dae.web.template import PACKET

NUMBERS = count()
LIMITS = Limits(upload_bytes=3_000_000, upload_files=40, json_bytes=20_000, quiet_s=1.0, members=50)


@cache
def first_template() -> socket.socket:
    """The control socket of a template of which those of all servers of this process are forks."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen([sys.executable, "-P", "-m", "pc2dae.web.template"], stdin=theirs,
                                   stdout=subprocess.DEVNULL, env=child_environment())  # fmt: skip

    @atexit.register
    def end() -> None:
        ours.close()
        process.wait()

    return ours


class ForkedTemplate(Template):
    """A template that has imported everything already: two seconds less per server; test_forks.py starts real ones."""

    returncode = 0

    async def start(self) -> None:
        """Fork it."""
        ours, theirs = socket.socketpair()
        self.control = ours.dup()
        self.stdout, self.writer = await asyncio.open_connection(sock=ours)  # its output is the same socket
        packet = json.dumps({"fork": next(NUMBERS), "module": "__main__"}).encode().ljust(PACKET)
        with theirs:
            socket.send_fds(first_template(), [packet], [theirs.fileno()])
        self.process = self  # type: ignore[assignment]
        self.reading = asyncio.create_task(self._read())

    def terminate(self) -> None:
        """End it; `_read` waits until it has."""
        self.control.shutdown(socket.SHUT_WR)

    async def wait(self) -> None:
        """It has ended, and is reaped by the first."""
        self.writer.close()


class Ground:
    """A running server and a client to it."""

    def __init__(self, settings: Settings, port: int) -> None:
        self.settings, self.port = settings, port
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120)

    def get(self, path: str, **query: Any) -> Any:
        """The response of a path, which must exist."""
        answer = self.client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def drop(self, *files: tuple[str, bytes], **fields: str) -> dict[str, Any]:
        """Upload files and wait until they are read; the flight as it is then."""
        answer = self.client.post("/api/flights", files=[("files", file) for file in files], data=fields)
        assert answer.status_code == 202, answer.text
        self.wait(answer.json()["job"]["id"])
        return dict(self.get(f"/api/flights/{answer.json()['flight']['id']}"))

    def denoise(self, flight: str, **wanted: Any) -> dict[str, Any]:
        """Ask for a run and wait for it; the run as it is then."""
        answer = self.client.post(f"/api/flights/{flight}/runs", json=wanted)
        assert answer.status_code == 202, answer.text
        if answer.json()["job"] is not None:
            self.wait(answer.json()["job"]["id"])
        number = answer.json()["run"]["id"]
        return dict(next(run for run in self.get(f"/api/flights/{flight}")["runs"] if run["id"] == number))

    def wait(self, job: str) -> dict[str, Any]:
        """Follow a job's events to its end."""
        with self.client.stream("GET", f"/api/jobs/{job}/events") as events:
            told = [json.loads(line[5:]) for line in events.iter_lines() if line.startswith("data:")]
        assert told[-1]["state"] in ("done", "failed", "cancelled")
        return dict(told[-1])

    def send(self, *pieces: bytes, pause_s: float = 0.0, wait_s: float = 6.0) -> bytes:
        """The response to malformed bytes."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait_s) as line:
            try:
                for piece in pieces:
                    line.sendall(piece)
                    time.sleep(pause_s)
                while block := line.recv(65536):
                    answer += block
            except (TimeoutError, ConnectionError):
                pass
        return answer


@contextmanager
def grounded(data: Path, **changes: Any) -> Iterator[Ground]:
    """A server in a thread of its own, stopped at the end."""
    settings = replace(Settings(data=data, port=0, gallery=False, limits=LIMITS), **changes)
    listener = open_socket(settings)
    with patch("pc2dae.web.station.Template", ForkedTemplate):
        server = Server(settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    ground = Ground(settings, listener.getsockname()[1])
    try:
        wait_for(lambda: server.started or not thread.is_alive())
        yield ground
    finally:
        ground.client.close()
        server.should_exit = True
        thread.join(30)
        listener.close()
        assert not thread.is_alive()


def wait_for(fact: Any, seconds: float = 60.0) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def plain_csv(rows: int = 120) -> bytes:
    """Black Kite's gas family with a plume, one row a second, no flags."""
    names = ("no_a", "no_b", "no2_a", "no2_b", "o3_a", "o3_b", "so2_a", "co_a", "co_b")
    lines = [",".join(["time", *names])]
    for n in range(rows):
        wobble = [((n * 37 + 11 * k) % 23) - 11 + 300 * (80 < n < 100) for k in range(len(names))]
        lines.append(",".join([f"2025-10-01T{12 + n // 3600}:{n // 60 % 60:02}:{n % 60:02}Z", *map(str, wobble)]))
    return "\n".join(lines).encode()
