"""Set-up of a local worker: leave Ctrl-C to the client, and preload what every flight needs."""

from __future__ import annotations

import signal
import sys
from typing import Any


def dask_setup(worker: Any) -> None:
    """Called by Dask in the worker's own process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes; the client stops its workers
    sys.modules.setdefault("pint", None)  # type: ignore[arg-type]  # as in `cli.entry`: xarray imports it if it is there
    import pc2dae.archive.task  # noqa: F401
