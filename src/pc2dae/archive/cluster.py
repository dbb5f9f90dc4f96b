"""A Dask cluster for the duration of a run: local workers, or an existing scheduler."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from pc2dae.errors import Pc2daeError
from pc2dae.own_process import CAN_FORK, ONE_THREAD

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")
AHEAD = 1000  # flights handed to the scheduler at a time: enough for hundreds of workers, little for its memory
_DASHBOARD, _ANY_PORT = "127.0.0.1:8787", "127.0.0.1:0"  # the scheduler serves its health page even without a dashboard
_CONFIG = {
    # A flight cannot be suspended: a paused worker would wait forever. Above its memory limit it is restarted.
    **{f"distributed.worker.memory.{key}": False for key in ("target", "spill", "pause")},
    "distributed.worker.profile.enabled": False,  # at 100 Hz it would take a tenth of a worker's time
    # Workers are forked from a process that has imported everything once, and has one thread.
    "distributed.worker.multiprocessing-method": "forkserver" if CAN_FORK else "spawn",
    # Without Dask's MALLOC_TRIM_THRESHOLD_, with which glibc maps and clears each large array: 13 % of the time.
    "distributed.nanny.pre-spawn-environ": ONE_THREAD,
    # The default ticks would take client and worker 6 % of a core, even idle.
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "500ms",
    # One flight per worker and none queued: a flight that kills its worker affects no other.
    "distributed.scheduler.worker-saturation": 1.0,
    # On a busy machine a worker's restart takes longer than the default of 15 s.
    "distributed.deploy.lost-worker-timeout": "1h",
}
_LEAST_BYTES = 1e9  # Python and the libraries alone use half of it
_log = logging.getLogger(__name__)


class ClusterError(Pc2daeError):
    """The cluster cannot be reached, or the connection was lost."""


@contextmanager
def connected(
    *,
    workers: int = 2,
    scheduler: str | None = None,
    memory: str = "auto",
    dashboard: bool = False,
    timeout_s: float = 20.0,
) -> Iterator[Client]:
    """A client of `scheduler`, or of a local cluster of single-threaded worker processes on loopback.

    Local workers exit with this process, even if it is killed; one that exceeds `memory` is restarted.
    """
    import dask.utils
    from distributed import Client, LocalCluster
    from distributed.utils import get_mp_context

    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=timeout_s, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise ClusterError(f"no scheduler responds at {scheduler} ({_first_line(error)})",
                               hint="start one with `dask scheduler`, or use --workers") from None  # fmt: skip
        with client:
            if not client.nthreads():
                _log.warning("the scheduler at %s has no workers yet: waiting for them", scheduler)
            yield client
        return
    if memory != "auto" and dask.utils.parse_bytes(memory) < _LEAST_BYTES:
        raise ClusterError(f"{memory} is too little memory for a worker", hint="give it 1GB or more")
    with dask.config.set(_CONFIG):
        get_mp_context().set_forkserver_preload(["distributed", "pc2dae.archive.preload"])
    with (
        dask.config.set(_CONFIG),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            memory_limit=memory,
            scheduler_kwargs={"dashboard": dashboard, "dashboard_address": _DASHBOARD if dashboard else _ANY_PORT},
            worker_dashboard_address=None,
            preload="pc2dae.archive.preload",
            silence_logs=logging.CRITICAL,
        ) as local,
        Client(local, set_as_default=False) as client,
    ):
        yield client


def each(client: Client, work: Callable[..., T], jobs: Iterable[tuple[str, tuple[Any, ...]]]
         ) -> Iterator[tuple[str, T | BaseException]]:  # fmt: skip
    """Run `work(*arguments)` for every job (name, arguments); yield name and result as each finishes.

    A job whose worker dies is repeated on another; if it kills several workers, or raises, the result is the error.
    Tasks carry the job's name, and a limited number is submitted to the scheduler at a time.
    """
    from distributed import as_completed

    run, waiting = uuid4().hex[:8], iter(jobs)
    running = as_completed(loop=client.loop)
    names = {}

    def submit(count: int) -> None:
        for name, arguments in islice(waiting, count):
            future = client.submit(_by_itself, work, *arguments, key=f"{name}-{run}", pure=False)
            names[future.key] = name
            running.add(future)

    submit(AHEAD)
    for future in running:
        name = names.pop(future.key)
        if future.cancelled():
            raise ClusterError("the connection to the scheduler was lost", hint="run the same command again to resume")
        error = future.exception()
        yield name, future.result() if error is None else error
        submit(1)


def _by_itself(work: Callable[..., T], *arguments: Any) -> T:
    """Run the work outside Dask's scheduler: otherwise xarray requests a distributed lock for every variable."""
    import dask

    with dask.config.set(scheduler="synchronous"):
        return work(*arguments)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__
