"""Real clusters: identical bytes for any number of workers, and kill −9 at any time loses no finished flight."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pc2dae.archive.layout import Archive
from pc2dae.archive.run import pending
from pc2dae.archive.sources import digest
from pc2dae.archive.task import denoise_one, order_of
from pc2dae.archive.verify import verify

CODE = "import sys; sys.argv[0] = 'pc2dae'; from pc2dae.cli import main; main()"
EPOCH = "1760000000"


def command(*arguments: str | Path) -> subprocess.Popen[str]:
    """The command line in its own process."""
    return subprocess.Popen(
        [sys.executable, "-c", CODE, "archive", *map(str, arguments)],
        env=os.environ | {"SOURCE_DATE_EPOCH": EPOCH}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=200)
    return process.returncode, out, err


@pytest.fixture(scope="module")
def loop(many: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """SHA-256 by flight of the output of a plain loop in one process."""
    archive, order = Archive(tmp_path_factory.mktemp("loop") / "clean"), order_of("savgol")
    archive.prepare()
    records = [denoise_one(source, order, archive, EPOCH) for source in pending(many, archive, order)[0]]
    return {record["flight"]: record["output_sha256"] for record in records}


def hashes(archive: Archive) -> dict[str, str]:
    names = [record["flight"] for record in archive.records() if record["status"] == "done"]
    return {name: digest(archive.output(name)) for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 4])  # two are killed and started again below
def test_the_same_bytes_as_a_loop_for_any_number_of_workers(
    many: Path, loop: dict[str, str], tmp_path: Path, workers: int
) -> None:
    code, out, err = finished(command("denoise", many, tmp_path / "c", "--workers", str(workers), "--model", "savgol"))
    assert (code, err.strip()) == (0, "")
    assert out.startswith("12 flights: 12 denoised, 0 done before, 0 failed\n")
    assert hashes(Archive(tmp_path / "c")) == loop


def template_of(client: subprocess.Popen[str]) -> psutil.Process:
    """The process that workers are forked from."""
    return next(
        p for p in psutil.Process(client.pid).children() if "multiprocessing.forkserver" in " ".join(p.cmdline())
    )


def workers_of(client: subprocess.Popen[str]) -> list[psutil.Process]:
    return template_of(client).children()


def wait_for(archive: Archive, count: int, client: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 120
    while len(list(archive.records())) < count:
        assert time.monotonic() < end
        assert client.poll() is None
        time.sleep(0.02)


@pytest.fixture
def killable() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that must not outlive the test."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_kill_9_of_a_worker_and_then_of_the_client(
    many: Path, loop: dict[str, str], tmp_path: Path, killable: list[subprocess.Popen[str]]
) -> None:
    archive = Archive(tmp_path / "c")
    client = command("denoise", many, archive.root, "--workers", "2", "--model", "savgol")
    killable.append(client)
    wait_for(archive, 1, client)
    processes = [psutil.Process(client.pid), *workers_of(client)]
    heard = {c.laddr.ip for p in processes for c in p.net_connections() if c.status == psutil.CONN_LISTEN}
    assert heard == {"127.0.0.1"}  # nobody outside this machine can reach the cluster
    assert template_of(client).num_threads() == 1  # a lock held by another would stay locked in a fork
    workers_of(client)[0].kill()
    wait_for(archive, 3, client)

    workers = workers_of(client)
    assert workers
    workers.append(template_of(client))
    client.send_signal(signal.SIGKILL)
    client.wait()
    assert psutil.wait_procs(workers, timeout=20)[1] == []  # no worker outlives its client
    before = {name: (archive.marker(name).stat().st_mtime_ns, sha) for name, sha in hashes(archive).items()}
    assert 3 <= len(before) < 12
    assert all(sha == loop[name] for name, (_, sha) in before.items())

    code, out, err = finished(command("denoise", many, archive.root, "--workers", "2", "--model", "savgol"))
    assert (code, err.strip()) == (0, "")
    assert out.startswith(f"12 flights: {12 - len(before)} denoised, {len(before)} done before, 0 failed\n")
    assert {name: archive.marker(name).stat().st_mtime_ns for name in before} == {n: t for n, (t, _) in before.items()}
    assert hashes(archive) == loop
    assert verify(archive) == ([], 12)


@pytest.mark.slow
def test_a_scheduler_of_somebody_else_and_a_flight_that_fails(
    tree: Path, tmp_path: Path, killable: list[subprocess.Popen[str]]
) -> None:
    (tree / "day_1" / "torn.nc").write_bytes(b"torn")
    killable.append(scheduler := _scheduler(tmp_path / "scheduler.json"))
    address = _address(tmp_path / "scheduler.json", scheduler)
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
    killable.append(subprocess.Popen([*worker, "--no-nanny"], stderr=subprocess.DEVNULL, text=True))
    code, out, err = finished(command("denoise", tree, tmp_path / "c", "--scheduler", address, "--model", "savgol"))
    assert code == 1
    assert out.startswith("4 flights: 3 denoised, 0 done before, 1 failed\n")
    assert "day_1/torn: torn.nc cannot be read as netCDF" in err
    assert "Traceback" not in err
    assert verify(Archive(tmp_path / "c"))[1] == 3


def _scheduler(file: Path) -> subprocess.Popen[str]:
    code = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    return subprocess.Popen(
        [*code, "--no-dashboard", "--scheduler-file", str(file)], stderr=subprocess.DEVNULL, text=True
    )


def _address(file: Path, process: subprocess.Popen[str]) -> str:
    end = time.monotonic() + 60
    while not file.exists() or not file.read_text():
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.05)
    return str(json.loads(file.read_text())["address"])


def test_no_scheduler_there_is_one_line() -> None:
    from pc2dae.archive.cluster import ClusterError, connected

    with (
        pytest.raises(ClusterError, match="no scheduler responds at tcp") as caught,
        connected(scheduler="tcp://127.0.0.1:9", timeout_s=1),
    ):
        pass
    assert "\n" not in str(caught.value)


def test_archives_need_no_torch() -> None:
    rooms = ["cluster", "index", "index_row", "layout", "run", "sources", "task", "validation", "verify"]
    code = f"import sys; import {', '.join(f'pc2dae.archive.{r}' for r in rooms)}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
