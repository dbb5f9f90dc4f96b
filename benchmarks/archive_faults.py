"""Kill −9 the client, a worker or the scheduler of `pc2dae archive denoise` at random moments; count what is torn.

    python benchmarks/archive_faults.py campaign clean --kills 50
    python benchmarks/archive_faults.py campaign clean.zarr --kills 50 --seed 1

Two stages take turns: a client with two workers of its own, and a client of `dask scheduler` with two `dask worker`.
After each kill: is every flight that is marked done whole, was none done twice, does no worker outlive its client? In
the end the run is let through, verified, and some flights are compared byte for byte with a plain loop.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from pc2dae.archive.layout import DONE, Archive
from pc2dae.archive.run import pending
from pc2dae.archive.sources import digest
from pc2dae.archive.task import denoise_one, order_of
from pc2dae.archive.verify import verify

_CODE = "from pc2dae.cli import main; main()"
_EPOCH = "1760000000"


@dataclass
class Stage:
    """The processes of one run, and what was seen of its archive."""

    source: Path
    archive: Archive
    model: str
    log: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    address: str | None = None  # of a scheduler that is not the client's own
    seen: dict[str, int] = field(default_factory=dict)  # when each flight was marked done

    def start(self, role: str) -> None:
        """Start the client, the scheduler or one of its workers."""
        commands = {
            "client": [sys.executable, "-c", _CODE, "archive", "denoise", str(self.source), str(self.archive.root),
                       "--model", self.model,
                       *(["--workers", "2"] if self.address is None else ["--scheduler", self.address])],
            "scheduler": [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard",
                          "--host", "127.0.0.1", "--port", (self.address or "").rpartition(":")[2]],
            "worker": [sys.executable, "-m", "distributed.cli.dask_worker", str(self.address), "--nthreads", "1",
                       "--host", "127.0.0.1", "--no-dashboard", "--death-timeout", "120"],
        }  # fmt: skip
        with self.log.open("ab") as log:
            self.running[role] = subprocess.Popen(
                commands[role.rstrip("12")], stdout=log, stderr=log, env=os.environ | {"SOURCE_DATE_EPOCH": _EPOCH}
            )

    def begin(self, *, with_scheduler: bool) -> None:
        """Start all processes of a stage."""
        self.end()
        self.address = None
        if with_scheduler:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
            self.start("scheduler")
            self._wait_for_scheduler()
            for role in ("worker1", "worker2"):
                self.start(role)
        self.start("client")

    def _wait_for_scheduler(self) -> None:
        """Until it answers: the client gives up after 20 s, which a busy machine takes to import Dask."""
        port = int((self.address or "").rpartition(":")[2])
        while self.running["scheduler"].poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                return
            time.sleep(0.2)

    def let_work(self, processor_s: float) -> None:
        """Wait until the processes have used so many processor seconds, or the client has ended.

        By the clock, a busy machine would see every kill fall into the start.
        """
        before = self._used()
        while self.running["client"].poll() is None and self._used() - before < processor_s:
            time.sleep(0.2)

    def _used(self) -> float:
        total = 0.0
        for root in self.running.values():
            for one in [psutil.Process(root.pid), *_children(root.pid)] if root.poll() is None else []:
                with contextlib.suppress(psutil.NoSuchProcess):
                    total += sum(one.cpu_times()[:2])
        return total

    def end(self) -> None:
        """End what still runs."""
        for process in self.running.values():
            for one in [*_children(process.pid), process]:
                with contextlib.suppress(psutil.NoSuchProcess):  # ended by itself meanwhile
                    one.kill()
            process.wait()
        self.running.clear()

    def kill(self, role: str, chance: random.Random) -> float | None:
        """Kill −9 one process; gives back how long the client's own workers outlived it [s], None if there was none."""
        if role == "worker":
            owner = "client" if self.address is None else chance.choice(["worker1", "worker2"])
            workers = [p for p in _children(self.running[owner].pid) if _is_worker(p)]
            if not workers:
                return None
            chance.choice(workers).kill()
            return 0.0
        children = _children(self.running[role].pid)
        self.running[role].kill()
        self.running[role].wait()
        begun = time.monotonic()
        gone, alive = psutil.wait_procs(children, timeout=30)
        return float("inf") if alive else time.monotonic() - begun if gone else 0.0

    def look(self) -> tuple[int, int]:
        """How many flights are torn, and how many were done twice, since the last look."""
        torn = twice = 0
        for record in self.archive.records():
            name = record["flight"]
            if record["status"] != DONE:
                continue
            at = self.archive.marker(name).stat().st_mtime_ns
            if self.seen.get(name, at) != at:
                twice += 1
                made = self.archive.output(name).stat().st_mtime_ns
                print(f"{name}: marked again, {(at - made) / 1e9:.3f} s after its output was made", file=sys.stderr)
            if name not in self.seen:
                torn += digest(self.archive.output(name)) != record["output_sha256"]
            self.seen[name] = at
        return torn, twice


def _children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _is_worker(process: psutil.Process) -> bool:
    """Started by a nanny, or forked from the process that has imported everything."""
    parent = process.parent()
    above = parent.cmdline() if parent is not None else []
    return "spawn_main" in " ".join(process.cmdline()) or "multiprocessing.forkserver" in " ".join(above)


def run(source: Path, target: Path, *, kills: int, seed: int = 0, model: str = "adaptive", compared: int = 5,
        every_s: tuple[float, float] = (1.0, 25.0)) -> dict[str, float]:  # fmt: skip
    """Kill until it was often enough, then let the run through; how much was torn, doubled, orphaned, different."""
    chance, counts = random.Random(seed), dict.fromkeys(("client", "worker", "scheduler"), 0)
    begun, torn, twice, orphaned_s, ended_s = time.monotonic(), 0, 0, 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(source, Archive(target.resolve()), model, Path(folder) / "log")
        try:
            while sum(counts.values()) < kills:
                stage.begin(with_scheduler=chance.random() < 0.4)
                while sum(counts.values()) < kills:
                    stage.let_work(chance.uniform(*every_s))
                    if stage.running["client"].poll() is not None:
                        break  # all done already: what follows only starts and looks
                    role = chance.choice(list(counts) if stage.address is not None else ["client", "worker"])
                    outlived_s = stage.kill(role, chance)
                    if outlived_s is None:
                        continue
                    orphaned_s, counts[role] = max(orphaned_s, outlived_s), counts[role] + 1
                    torn, twice = (a + b for a, b in zip((torn, twice), stage.look(), strict=True))
                    print(f"kill {sum(counts.values())}: {role}, {len(stage.seen)} flights done", file=sys.stderr)
                    if role == "scheduler":  # the client must say so and end by itself
                        asked = time.monotonic()
                        stage.running["client"].wait(timeout=600)
                        ended_s = max(ended_s, time.monotonic() - asked)
                    if role != "worker":
                        break
                if stage.running["client"].poll() == 0:
                    break
            killed_s = time.monotonic() - begun
            stage.begin(with_scheduler=False)
            code = stage.running["client"].wait()
            torn, twice = (a + b for a, b in zip((torn, twice), stage.look(), strict=True))
        finally:
            stage.end()
        findings, whole = verify(stage.archive)
        different = _different(stage, Path(folder) / "loop", chance.sample(sorted(stage.seen), compared))
    return {
        "kills": sum(counts.values()), **{f"kills_{role}": n for role, n in counts.items()}, "flights": whole,
        "torn": torn, "done_twice": twice, "workers_outlived_client_s": round(orphaned_s, 2),
        "client_noticed_scheduler_s": round(ended_s, 1), "exit_code": code, "findings_of_verify": len(findings),
        "compared": compared, "different_from_a_loop": different,
        "duration_s": round(time.monotonic() - begun, 1), "of_which_killing_s": round(killed_s, 1),
    }  # fmt: skip


def _different(stage: Stage, folder: Path, names: list[str]) -> int:
    """How many of the named flights a plain loop in this process makes differently."""
    order, loop = order_of(stage.model), Archive(folder / stage.archive.root.name)
    loop.prepare()
    todo, _ = pending(stage.source, loop, order)
    for one in todo:
        if one.name in names:
            denoise_one(one, order, loop, _EPOCH)
    return sum(digest(loop.output(name)) != digest(stage.archive.output(name)) for name in names)


def main() -> None:
    """Print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a tree of flights")
    parser.add_argument("target", type=Path, help="a folder, or NAME.zarr")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", default="adaptive")
    parser.add_argument("--compared", type=int, default=5, help="flights made again in a plain loop")
    parser.add_argument(
        "--every", type=float, nargs=2, default=(1.0, 25.0), help="processor seconds between kills, from … to"
    )
    chosen = parser.parse_args()
    print(json.dumps(run(chosen.source, chosen.target, kills=chosen.kills, seed=chosen.seed, model=chosen.model,
                         compared=chosen.compared, every_s=tuple(chosen.every))))  # fmt: skip


if __name__ == "__main__":
    main()
