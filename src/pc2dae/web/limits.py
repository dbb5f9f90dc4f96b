"""What a child process sets up in itself: resource limits before it opens an uploaded file, and its end."""

from __future__ import annotations

import resource
import sys
import threading
from collections.abc import Callable


def confine(*, cpu_s: int, memory_bytes: int, file_bytes: int) -> None:
    """Limit CPU time (beyond that used so far), memory and file size of this process; disable core dumps.

    Memory is limited by RLIMIT_DATA, not RLIMIT_AS: onnxruntime and its threads reserve address space that they never
    use, so RLIMIT_AS would have to be several times the memory needed.
    """
    used = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2])) + 1
    _lower(resource.RLIMIT_CPU, used + cpu_s)
    _lower(resource.RLIMIT_DATA, memory_bytes)
    _lower(resource.RLIMIT_FSIZE, file_bytes)
    _lower(resource.RLIMIT_NOFILE, 256)
    _lower(resource.RLIMIT_CORE, 0)


def _lower(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (limit, limit))


def when_input_ends(act: Callable[[], object]) -> None:
    """Call `act` when standard input is closed: the server asks for it, or has died."""
    threading.Thread(target=lambda: (sys.stdin.buffer.read(), act()), daemon=True).start()
