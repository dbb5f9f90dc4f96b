"""Set-up of local workers: import what every flight needs before they are forked, leave Ctrl-C to the client."""

from __future__ import annotations

import signal
from typing import Any

from pc2dae.own_process import set_up_process

set_up_process("dask", "pyarrow")
import pc2dae.archive.task  # noqa: E402, F401


def dask_setup(worker: Any) -> None:
    """Called by Dask in the worker's own process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes; the client stops its workers
