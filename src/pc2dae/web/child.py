"""A child process that receives its task on standard input and reports on standard output."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from pc2dae.web.forks import Fork, Template

_GENTLY_S = 3.0


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
