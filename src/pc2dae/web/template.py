"""The process that starts the workers: it imports what they need once, forks, and never opens an uploaded file.

Standard input is a socket to the server. A packet `{"fork": NUMBER, "module": NAME}` with a descriptor starts the
`main` of a module in a child, with the descriptor as its standard input and output; `{"kill": NUMBER}` kills a child
and its descendants. When a child has ended, a line `{"number": …, "status": …}` is written to standard output. The
template ends when the server closes the socket or dies, and its children with it. Where processes cannot be forked,
each child is a new interpreter that imports for itself.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

from pc2dae.own_process import CAN_FORK, set_up_process

_MODULES = (
    "pc2dae.web.worker", "pc2dae.web.live.live_processes",
    # What nearly every job imports when it is needed. Not onnxruntime: it starts a thread.
    "scipy.signal", "pc2dae.align.ingest_report", "pc2dae.filters",
)  # fmt: skip
PACKET = 128  # bytes of a request, padded: sockets that keep messages apart are not known to every system


def main() -> None:
    """Import, then start children on request until the server is gone."""
    set_up_process()
    for name in _MODULES if CAN_FORK else ():
        import_module(name)
    gc.collect()
    gc.freeze()  # a collection in a child would write to, and so copy, every page of memory it shares
    server = socket.socket(fileno=os.dup(0))
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    children: dict[int, int] = {}  # process by the server's number
    while True:
        ready = select.select([server.fileno(), woken], [], [])[0]
        if woken in ready:
            if signal.SIGTERM in os.read(woken, 4096):
                break
            _report_ended(children)
        if server.fileno() in ready:
            packet, descriptors, _, _ = socket.recv_fds(server, PACKET, 1, socket.MSG_WAITALL)
            if not packet:
                break
            request = json.loads(packet)
            if "kill" in request:
                _kill(children.get(request["kill"]))
                continue
            start = _fork if CAN_FORK else spawn
            children[request["fork"]] = start(request["module"], descriptors[0])
            os.close(descriptors[0])
    for process in children.values():
        _kill(process)
        os.waitpid(process, 0)


def _fork(module: str, descriptor: int) -> int:
    if (process := os.fork()) == 0:
        _become(module, descriptor)
    return process


def spawn(module: str, descriptor: int) -> int:
    """Run the `main` of a module in a new interpreter, with a descriptor as its standard input and output."""
    code = f"from pc2dae.own_process import set_up_process as s; s()\nfrom {module} import main\nmain()"
    files = [(os.POSIX_SPAWN_DUP2, descriptor, number) for number in (0, 1)]
    command = [sys.executable, "-P", "-c", code]
    return os.posix_spawn(sys.executable, command, os.environ, file_actions=files, setsid=True)


def _become(module: str, descriptor: int) -> NoReturn:
    """In the child: run `main` in a session of its own, with no file open but `descriptor`."""
    status = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(descriptor, 0)
        os.dup2(descriptor, 1)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        sys.modules[module].main()
        sys.stdout.flush()
        status = 0
    finally:
        os._exit(status)  # whatever happened: a child must not go on as a second template


def _kill(process: int | None) -> None:
    """Kill a child that is not reaped yet, and its descendants."""
    if process is not None:
        with suppress(ProcessLookupError, PermissionError):  # the latter on macOS, if it has ended
            os.killpg(process, signal.SIGKILL)
        os.kill(process, signal.SIGKILL)  # if it has no session of its own yet, it has no descendants either


def _report_ended(children: dict[int, int]) -> None:
    for number, process in list(children.items()):
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            del children[number]
            line = json.dumps({"number": number, "status": os.waitstatus_to_exitcode(status)})
            with suppress(BrokenPipeError):  # the server has gone: the next read says so
                os.write(1, line.encode() + b"\n")


if __name__ == "__main__":
    main()
