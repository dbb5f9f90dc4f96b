"""Workers are forked from a process that uploads cannot influence, and end with it and with the server."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys

import psutil
import pytest
from ground import wait_for

from pc2dae.web.forks import Child, Fork, Template
from pc2dae.web.template import spawn

SERVER = """
import asyncio
from pc2dae.web.forks import Template
async def main():
    template = Template()
    worker = await template.fork("pc2dae.web.worker")
    print(template.process.pid, flush=True)
    await worker.wait()
asyncio.run(main())
"""


ENDING = """
import asyncio
from pc2dae.web.forks import Template
template = Template()
async def work(started):
    worker = await template.fork("pc2dae.web.worker")
    started.set()
    try:
        await worker.readline()
    finally:
        await worker.end()
async def main():
    started = asyncio.Event()
    asyncio.ensure_future(work(started))
    await started.wait()
asyncio.run(main())
"""


async def forked(template: Template, count: int = 1) -> tuple[Fork, psutil.Process, psutil.Process]:
    """A worker, the last of `count`, that waits for its job; its process and the template's."""
    fork = await template.fork("pc2dae.web.worker")
    parent = psutil.Process(template.process.pid)
    while len(workers := parent.children()) < count or len(files(workers[-1])) != 4:
        await asyncio.sleep(0.02)
    return fork, workers[-1], parent


def files(process: psutil.Process) -> list[str]:
    return [os.readlink(f"/proc/{process.pid}/fd/{n}") for n in sorted(map(int, os.listdir(f"/proc/{process.pid}/fd")))]


def is_running(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_workers_share_nothing_but_what_was_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PC2DAE_TOKEN", "a-secret-token")
    monkeypatch.setenv("PC2DAE_MQTT_PASSWORD", "another-secret")

    async def work() -> None:
        template = Template()
        await template.start()
        first, other, parent = await forked(template)
        second, worker, _ = await forked(template, 2)
        assert parent.num_threads() == 1  # a lock held by another would stay locked in a fork
        assert os.getsid(worker.pid) == os.getpgid(worker.pid) == worker.pid
        for process in (parent, worker):
            assert not {"PC2DAE_TOKEN", "PC2DAE_MQTT_PASSWORD"} & set(process.environ())
        own, *_ = files(worker)
        assert files(worker) == [own, "/dev/null", "/dev/null", own]  # the last for messages, see `web/worker.py`
        assert own.startswith("socket:")
        assert own not in files(parent) + files(other)
        await first.end()
        assert await first.wait() == -signal.SIGKILL
        assert is_running(worker)
        second.writer.write(b"not JSON\n")
        assert await second.wait() == 1  # an error, which is the end of the worker and not of the template
        await second.end()
        third, _, _ = await forked(template)
        third.close_input()
        assert await third.wait() == 0  # no job
        await third.end()
        assert not parent.children()  # not even as zombies
        await template.stop()
        assert not is_running(parent)

    asyncio.run(asyncio.wait_for(work(), 60))


def test_a_template_that_is_killed_ends_its_workers_and_is_started_again() -> None:
    async def work() -> None:
        template = Template()
        fork, worker, parent = await forked(template)
        os.kill(parent.pid, signal.SIGKILL)
        assert await fork.wait() == -signal.SIGKILL
        other, _, again = await forked(template)  # at once: the first template may not be reaped yet
        assert again.pid != parent.pid
        assert await fork.readline() == b""
        while is_running(worker):  # its input is closed
            await asyncio.sleep(0.02)
        await template.stop()
        assert await other.wait() == -signal.SIGKILL

    asyncio.run(asyncio.wait_for(work(), 60))


def test_template_and_workers_end_with_a_server_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        template = psutil.Process(int(server.stdout.readline()))
        wait_for(template.children)
        family = [template, *template.children()]
        server.kill()
    wait_for(lambda: not any(map(is_running, family)))


def test_tasks_that_outlive_the_main_one_end_with_their_workers() -> None:
    subprocess.run([sys.executable, "-c", ENDING], check=True, timeout=60)


def test_a_child_that_is_stopped_before_it_starts_gets_no_task() -> None:
    async def work() -> list[object]:
        template = Template()
        child = Child(template, "pc2dae.web.worker")
        run = asyncio.create_task(messages(child))
        await asyncio.sleep(0)  # it waits for the template
        await child.end()
        received = await run
        await template.stop()
        return received

    async def messages(child: Child) -> list[object]:
        return [message async for message in child.run({"kind": "unknown"})]

    assert asyncio.run(asyncio.wait_for(work(), 60)) == []


@pytest.mark.parametrize(("text", "status"), [(b"", 0), (b"not JSON\n", 1)])
def test_where_nothing_can_be_forked_a_worker_is_a_new_interpreter(text: bytes, status: int) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = spawn("pc2dae.web.worker", theirs.fileno())
        assert os.getsid(process) == process
        ours.sendall(text)
        ours.shutdown(socket.SHUT_WR)
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == status
