"""Child processes of the server: workers forked from the template, and other Python modules."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import count
from typing import Any

from pc2dae.own_process import ONE_THREAD
from pc2dae.web.template import PACKET

_GENTLY_S = 3.0
_LINE = 1 << 20  # bytes: longest message from a worker
_SECRETS = ("PC2DAE_TOKEN", "PC2DAE_MQTT_PASSWORD")


def child_environment() -> dict[str, str]:
    """The environment of a child: without secrets, with one thread per library."""
    return {k: v for k, v in os.environ.items() if k not in _SECRETS} | ONE_THREAD | {"MPLBACKEND": "Agg"}


async def start_process(
    module: str, *arguments: str, stdin: int = asyncio.subprocess.DEVNULL
) -> asyncio.subprocess.Process:
    """A Python process in its own session."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", module, *arguments,
        stdin=stdin, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env=child_environment(), limit=_LINE, start_new_session=True,
    )  # fmt: skip


async def end_process(process: asyncio.subprocess.Process) -> None:
    """Kill a process and all its descendants."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _packet(request: dict[str, Any]) -> bytes:
    return json.dumps(request).encode().ljust(PACKET)


class Fork:
    """A child of the template, with a socket as its standard input and output."""

    def __init__(
        self, number: int, control: socket.socket, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    ) -> None:
        self.number, self.control = number, control
        self.reader, self.writer = streams
        self.status: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def send(self, spec: dict[str, Any]) -> None:
        """Send the task; a child that has ended already does not receive it."""
        with suppress(ConnectionError):
            self.writer.write(json.dumps(spec).encode() + b"\n")
            await self.writer.drain()

    async def readline(self) -> bytes:
        """The child's next line; empty when it has ended."""
        try:
            return await self.reader.readline()
        except ConnectionError:
            return b""

    def close_input(self) -> None:
        """Close the child's standard input, which asks it to end."""
        with suppress(OSError):
            self.writer.write_eof()

    async def wait(self) -> int:
        """The exit status; negative for a signal."""
        return await asyncio.shield(self.status)

    async def end(self) -> None:
        """Kill the child and all its descendants."""
        if not self.status.done():
            with suppress(OSError):
                self.control.send(_packet({"kill": self.number}))
        await self.wait()
        self.writer.close()


class Template:
    """The process that workers are forked from (`web/template.py`); started again if it has ended."""

    def __init__(self) -> None:
        self.numbers = count()
        self.forks: dict[int, Fork] = {}
        self.reading: asyncio.Task[None] | None = None
        self.starting = asyncio.Lock()

    async def start(self) -> None:
        """Start the process; it answers when it has imported everything."""
        self.control, theirs = socket.socketpair()
        self.control.setblocking(False)
        with theirs:
            self.process = await start_process("pc2dae.web.template", stdin=theirs.fileno())
        self.reading = asyncio.create_task(self._read())

    async def stop(self) -> None:
        """End the process and its children."""
        if self.reading is not None and not self.reading.done():
            with suppress(ProcessLookupError):
                self.process.terminate()
            await self.reading

    async def fork(self, module: str) -> Fork:
        """Start a module in a child process."""
        async with self.starting:
            if self.reading is None or self.control.fileno() < 0:  # closed: the process has ended
                await self.start()
        ours, theirs = socket.socketpair()
        fork = Fork(next(self.numbers), self.control, await asyncio.open_connection(sock=ours, limit=_LINE))
        self.forks[fork.number] = fork
        with theirs:
            try:
                socket.send_fds(fork.control, [_packet({"fork": fork.number, "module": module})], [theirs.fileno()])
            except OSError:  # the process has just ended
                self.forks.pop(fork.number).status.set_result(-signal.SIGKILL)
        return fork

    async def _read(self) -> None:
        """Note which children have ended, until the process has."""
        process = self.process  # another one may be started while this one is reaped
        assert process.stdout is not None  # nosec B101  # for the type checker
        try:
            while line := await process.stdout.readline():
                message = json.loads(line)
                self.forks.pop(message["number"]).status.set_result(message["status"])
        finally:  # also if it is cancelled at the end of the event loop, where tasks may be waiting for their children
            self.control.close()
            for fork in self.forks.values():
                fork.status.set_result(-signal.SIGKILL)
                fork.writer.close()
            self.forks.clear()
            await end_process(process)


class Child:
    """A pc2dae module running in a child process, which exits when its standard input is closed."""

    def __init__(self, template: Template, module: str) -> None:
        self.template, self.module = template, module
        self.process: Fork | None = None
        self.is_stopped = False

    async def run(self, spec: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Start the process and yield its messages until it exits."""
        self.process = await self.template.fork(self.module)
        try:
            if self.is_stopped:  # before it was started
                return
            await self.process.send(spec)
            while line := await self.process.readline():
                with suppress(ValueError):
                    yield dict(json.loads(line))
        finally:
            await self.process.end()

    async def end(self, *, gently: bool = False) -> None:
        """Stop the process; `gently` lets it disconnect from the broker first."""
        self.is_stopped = True
        if self.process is None:
            return
        if gently:
            self.process.close_input()
            with suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), _GENTLY_S)
        await self.process.end()
