"""Set-up of a process that runs nothing but pc2dae: a command, or a worker."""

from __future__ import annotations

import atexit
import gc
import os
import sys

CAN_FORK = sys.platform != "darwin"  # Apple's libraries, which numpy uses there, crash or hang in a forked process
# Environment of a process that is forked: with threads, which libraries start unasked, that is not safe.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false",
}  # fmt: skip
_ALLOCATIONS = 200_000  # new objects between two searches for cycles; Python's 700 cost a command a quarter of its time
_OPTIONAL = ("dask", "pint", "pyarrow")  # xarray and pandas import them if they are installed: 0.7, 0.2 and 0.15 s


def set_up_process(*used: str) -> None:
    """Hide what other packages would import although only `used` is needed; one thread; rare searches for cycles.

    To be called before numpy is imported. `suite.units` finds pint all the same. At its end the process gives back its
    memory without a last search.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # matrices are small: threads that wait cost more than they compute
    for module in _OPTIONAL:
        if module not in used:
            sys.modules.setdefault(module, None)  # type: ignore[arg-type]
    gc.set_threshold(_ALLOCATIONS, 20, 20)
    atexit.register(gc.freeze)
