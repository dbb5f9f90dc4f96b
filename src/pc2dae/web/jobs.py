"""Jobs in child processes: queue, progress, cancellation, time limits."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from pc2dae.errors import Pc2daeError
from pc2dae.web.forks import Fork, Template
from pc2dae.web.schemas import ServerJob
from pc2dae.web.settings import Limits

_KEPT = 500  # finished jobs to keep
_log = logging.getLogger(__name__)

Spec = dict[str, Any]
Finish = Callable[[ServerJob, dict[str, Any] | None], Awaitable[None]]  # the job, and a successful worker's result


class QueueFull(Pc2daeError):
    """Too many jobs are waiting."""


class Jobs:
    """All jobs; `on_start` is called when one starts, `finish` when one ends, to store its result."""

    def __init__(
        self,
        limits: Limits,
        template: Template,
        *,
        on_start: Callable[[ServerJob], None],
        finish: Finish,
        workers: int = 1,
    ) -> None:
        self.limits, self.template, self.on_start, self.finish = limits, template, on_start, finish
        self.count = workers
        self.jobs: OrderedDict[str, ServerJob] = OrderedDict()
        self.specs: dict[str, Spec] = {}  # of queued jobs
        self.under_way: dict[str, asyncio.Task[None]] = {}
        self.changed: dict[str, asyncio.Event] = {}
        self.work = asyncio.Semaphore(0)
        self.loops: list[asyncio.Task[None]] = []
        self.is_closed = False

    def start(self) -> None:
        """Start processing the queue."""
        self.loops = [asyncio.create_task(self._loop()) for _ in range(self.count)]

    async def stop(self) -> None:
        """Stop immediately; running jobs are restarted at the next start."""
        for task in [*self.loops, *self.under_way.values()]:
            task.cancel()
        await asyncio.gather(*self.loops, *self.under_way.values(), return_exceptions=True)

    def close(self) -> None:
        """Close the event streams of all followers."""
        self.is_closed = True
        for event in self.changed.values():
            event.set()

    def check_room(self) -> None:
        """Raise `QueueFull` if too many jobs are waiting."""
        if len(self.specs) >= self.limits.queue:
            raise QueueFull(f"{len(self.specs)} jobs are waiting", hint="try again when some are done")

    def add(self, job: ServerJob, spec: Spec) -> ServerJob:
        """Put a job at the end of the queue."""
        self.jobs[job.id] = job
        self.specs[job.id] = spec
        self.work.release()
        for old in [i for i, j in self.jobs.items() if j.state in ("done", "failed", "cancelled")][:-_KEPT]:
            self.jobs.pop(old)
        return job

    def listed(self) -> list[ServerJob]:
        """All jobs, newest last; queued jobs include their position in the queue."""
        return [self.shown(job) for job in self.jobs.values()]

    def shown(self, job: ServerJob) -> ServerJob:
        """The job with its position in the queue."""
        return job.model_copy(update={"position": list(self.specs).index(job.id) if job.id in self.specs else 0})

    @property
    def waiting(self) -> int:
        """Number of queued jobs."""
        return len(self.specs)

    async def cancel(self, job: ServerJob) -> None:
        """Remove a job from the queue, or kill its worker."""
        if self.specs.pop(job.id, None) is not None:
            await self._end(job, "cancelled", error="cancelled")
        elif (task := self.under_way.get(job.id)) is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._end(job, "cancelled", error="cancelled")

    async def follow(self, job: ServerJob) -> AsyncIterator[ServerJob]:
        """Yield the job now and after every change, until it has ended."""
        while not self.is_closed:
            event = self.changed.setdefault(job.id, asyncio.Event())
            message = self.shown(job)
            yield message
            if message.state not in ("queued", "working"):  # the state sent: the job may have ended since
                return
            with suppress(TimeoutError):  # the position in the queue changes without an event
                await asyncio.wait_for(event.wait(), 2.0)

    async def _loop(self) -> None:
        while True:
            await self.work.acquire()
            if not self.specs:
                continue  # cancelled while queued
            number = next(iter(self.specs))
            job, spec = self.jobs[number], self.specs.pop(number)
            task = asyncio.create_task(self._do(job, spec))
            self.under_way[number] = task
            await asyncio.wait([task])
            self.under_way.pop(number, None)
            if not task.cancelled() and (error := task.exception()) is not None:
                _log.error("job %s", job.kind, exc_info=error)
                await self._end(job, "failed", error="internal error", hint="see its log")

    async def _do(self, job: ServerJob, spec: Spec) -> None:
        job.state = "working"
        self.on_start(job)
        self._note(job)
        worker = await self.template.fork("pc2dae.web.worker")
        limits = {key: getattr(self.limits, key) for key in ("cpu_s", "memory_bytes", "file_bytes")}
        try:
            async with asyncio.timeout(self.limits.wall_s):
                message = await self._messages_of(job, worker, spec | {"kind": job.kind, "limits": limits})
        except TimeoutError:
            message = {"error": f"timed out after {self.limits.wall_s:g} s", "hint": "upload a shorter record"}
        finally:
            await worker.end()
        if "done" in message:
            job.fraction = 1.0
            await self._end(job, "done", result=message["done"])
        else:
            await self._end(job, "failed", error=str(message["error"])[:500], hint=message.get("hint"))

    async def _messages_of(self, job: ServerJob, worker: Fork, spec: Spec) -> dict[str, Any]:
        """Send a worker its job and read its messages until it ends."""
        await worker.send(spec)
        while True:
            try:
                line = await worker.readline()
                message = json.loads(line) if line else None
            except ValueError:
                return {"error": "worker sent invalid JSON", "hint": None}
            if message is None:
                return {"error": _exit_reason(await worker.wait(), self.limits), "hint": "is the file complete?"}
            if "done" in message or "error" in message:
                return dict(message)
            job.fraction, job.message = float(message["fraction"]), str(message["message"])[:200]
            self._note(job)

    async def _end(self, job: ServerJob, state: Any, *, result: Any = None, error: str | None = None,
                   hint: str | None = None) -> None:  # fmt: skip
        job.error, job.hint, job.message = error, hint, ""
        after = job.model_copy(update={"state": state})
        await self.finish(after, result if state == "done" else None)
        job.state = state  # only now: followers of the job find its result
        self._note(job)
        self.changed.pop(job.id, None)

    def _note(self, job: ServerJob) -> None:
        if (event := self.changed.pop(job.id, None)) is not None:
            event.set()


def _exit_reason(code: int, limits: Limits) -> str:
    """Why a worker ended without a message."""
    if code == -signal.SIGXCPU or code == -signal.SIGKILL:
        return f"stopped: more than {limits.cpu_s} s of processor time, or out of memory"
    if code == -signal.SIGABRT:  # how libraries in C++ end where Python raises MemoryError
        return f"out of memory ({limits.memory_bytes / 1e6:,.0f} MB), or the file crashed the reader (SIGABRT)"
    return f"the file crashed the reader ({signal.Signals(-code).name})" if code < 0 else f"the worker ended ({code})"
