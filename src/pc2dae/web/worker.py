"""The child process that runs one job and exits; uploaded files are opened nowhere else.

It receives a job as one line of JSON on standard input and reports progress as JSON lines on standard output. It is
forked from the template (`web/template.py`), which has imported what it needs, and exits when the server does.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, BinaryIO

from pc2dae.errors import explain
from pc2dae.web import tasks
from pc2dae.web.limits import confine, when_input_ends


def main() -> None:
    """Wait for a job, run it, report the outcome."""
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # output printed by libraries must not be read as messages
    line = sys.stdin.buffer.readline()
    if not line.strip():
        return
    job = json.loads(line)
    when_input_ends(lambda: os._exit(1))
    confine(**job.pop("limits"))

    def tell(fraction: float, message: str) -> None:
        _say(out, {"fraction": round(fraction, 4), "message": message})

    try:
        _say(out, {"done": tasks.KINDS[job.pop("kind")](progress=tell, **job)})
    except Exception as error:  # noqa: BLE001  an uploaded file may break a library anywhere
        problem = explain(error, with_path=False)
        _say(out, {"error": Exception.__str__(problem), "hint": problem.hint})
    out.flush()
    os._exit(0)  # no clean-up: a damaged file may have left a library in a bad state


def _say(out: BinaryIO, message: dict[str, Any]) -> None:
    out.write(json.dumps(message).encode() + b"\n")
