"""A child process that receives its task on standard input and reports on standard output."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from pc2dae.web.jobs import end_child, start_child

_GENTLY_S = 3.0


class Child:
    """A pc2dae module running in a child process, which exits when its standard input is closed."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.process: asyncio.subprocess.Process | None = None

    async def run(self, spec: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Start the process and yield its messages until it exits."""
        self.process = await start_child(self.module)
        assert self.process.stdin is not None  # nosec B101  # for the type checker
        assert self.process.stdout is not None  # nosec B101  # for the type checker
        try:
            with suppress(ConnectionError):
                self.process.stdin.write(json.dumps(spec).encode() + b"\n")
                await self.process.stdin.drain()
            while line := await self.process.stdout.readline():
                with suppress(ValueError):
                    yield dict(json.loads(line))
        finally:
            await end_child(self.process)

    async def end(self, *, gently: bool = False) -> None:
        """Stop the process; `gently` lets it disconnect from the broker first."""
        if self.process is None:
            return
        if gently and self.process.stdin is not None:
            self.process.stdin.close()
            with suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), _GENTLY_S)
        await end_child(self.process)
