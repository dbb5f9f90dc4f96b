"""What a child process may use; called inside it, before it opens an uploaded file."""

from __future__ import annotations

import resource


def confine(*, cpu_s: int, memory_bytes: int, file_bytes: int) -> None:
    """Limit this process: seconds of computing beyond those used so far, memory, size of a file written; no core dump.

    Memory is what the process may write to (RLIMIT_DATA), not its address space: onnxruntime and its threads reserve
    addresses they never use, so that RLIMIT_AS would have to be several times what is needed.
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
