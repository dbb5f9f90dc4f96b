"""What a cluster costs and gains: flights per second and core with 1 and 2 workers, against a plain loop; memory.

    OMP_NUM_THREADS=1 python benchmarks/archive.py campaign --flights 48

Every process is set up as a command is. The loop opens, denoises and writes each flight, as `pc2dae denoise` would,
one after another in one process. "With index" it also makes the row of the index and hashes, which is all that a
worker does. All ways take turns, a few flights each, in an order that turns round: on a shared machine a processor
second is worth more in one minute than in the next. What is paid once (processes, imports, a first flight) is
separate from what each further flight costs. Processor time is that of client, scheduler and workers together; a
flight per processor second is one per second and core. The peak is the largest resident memory of a worker, or of the
loop's process.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from statistics import median

import psutil

from pc2dae.archive.cluster import connected
from pc2dae.archive.layout import DONE, Archive, FlightRecord
from pc2dae.archive.run import denoise_all
from pc2dae.archive.sources import FlightSource, find_sources, open_source
from pc2dae.archive.task import Order, denoise_one, order_of
from pc2dae.denoising import denoise
from pc2dae.own_process import set_up_process
from pc2dae.registry import load_model

PLAIN, INDEXED, ONE, TWO = WAYS = ("loop", "loop with index", "1 worker", "2 workers")
WORKERS = {ONE: 1, TWO: 2}
IDLE_S = 10.0


@dataclass(frozen=True)
class Spent:
    """What a turn took, or all turns together."""

    wall_s: float
    processor_s: float

    def __sub__(self, earlier: Spent) -> Spent:
        return Spent(self.wall_s - earlier.wall_s, self.processor_s - earlier.processor_s)


@dataclass
class Turns:
    """One way's process, what it spent to get ready, on nothing, and on each turn."""

    process: BaseProcess
    pipe: Connection
    ready: Spent
    idle: float  # of a core, with nothing to do
    spent: list[Spent] = field(default_factory=list)
    peak_mb: float = 0.0

    def per_flight(self, flights: int) -> Spent:
        """The mean over all turns."""
        return Spent(*(sum(getattr(s, key) for s in self.spent) / flights for key in ("wall_s", "processor_s")))


def so_far() -> Spent:
    """What this process and all that it started, and that still run, have spent since it was started."""
    own = psutil.Process()
    processes = [own, *own.children(recursive=True)]
    return Spent(time.time() - own.create_time(), sum(sum(one.cpu_times()[:2]) for one in processes))


def peak_mb() -> float:
    """Largest resident memory of this process so far; that of getrusage includes the process it was forked from."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024 / 1e6


def station(way: str, first: list[FlightSource], order: Order, folder: Path, pipe: Connection) -> None:
    """A process of its own for each way: get ready with a flight per worker, then do what comes until nothing does."""
    set_up_process("dask", "pyarrow")
    with connected(workers=WORKERS[way]) if way in WORKERS else nullcontext() as client:
        model, archive = load_model(order.model), fresh(folder, "first")
        if client is None:
            denoise_one(first[0], order, archive)
        else:
            check(list(denoise_all(first[: WORKERS[way]], archive, order, client)))
        pipe.send(so_far())
        before = so_far()
        time.sleep(IDLE_S)
        pipe.send((so_far() - before).processor_s / IDLE_S)
        while sources := pipe.recv():
            archive, before = fresh(folder, sources[0].name), so_far()
            if way == PLAIN:
                for source in sources:
                    archive.write(denoise(open_source(source), model=model), source.name)
            elif client is None:
                check([denoise_one(source, order, archive) for source in sources])
            else:
                check(list(denoise_all(sources, archive, order, client)))
            pipe.send(so_far() - before)
        pipe.send(peak_mb() if client is None else max(client.run(peak_mb).values()))


def fresh(folder: Path, name: str) -> Archive:
    """An empty archive."""
    archive = Archive(folder / name)
    archive.prepare()
    return archive


def check(records: list[FlightRecord]) -> None:
    """A flight that failed was quick, and says nothing."""
    if failures := [record["error"] for record in records if record["status"] != DONE]:
        raise SystemExit(f"{len(failures)} flights failed: {failures[0]}")


def measure(sources: list[FlightSource], order: Order, turn: int) -> dict[str, Turns]:
    """All ways over all flights, so many at a turn."""
    context, ways = get_context("spawn"), {}
    with tempfile.TemporaryDirectory() as folder:
        for way in WAYS:
            here, there = context.Pipe()
            process = context.Process(target=station, args=(way, sources[:2], order, Path(folder) / way, there))
            process.start()
            there.close()
            ways[way] = Turns(process, here, here.recv(), here.recv())
        for begin in range(0, len(sources), turn):
            for way in WAYS if begin // turn % 2 == 0 else reversed(WAYS):
                ways[way].pipe.send(sources[begin : begin + turn])
                ways[way].spent.append(ways[way].pipe.recv())
        for one in ways.values():
            one.pipe.send([])
            one.peak_mb = one.pipe.recv()
            one.process.join()
    return ways


def pairs(one: Turns, other: Turns) -> Iterator[tuple[Spent, Spent]]:
    """The same flights in two ways, turn by turn."""
    return zip(one.spent, other.spent, strict=True)


def spread(percents: list[float], form: str) -> str:
    """Median and range over the turns."""
    return f"{median(percents):{form}} % ({min(percents):{form}} to {max(percents):{form}} over {len(percents)} turns)"


def main() -> None:
    """Print a line for every way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a tree of flights")
    parser.add_argument("--flights", type=int, default=48)
    parser.add_argument("--turn", type=int, default=8, help="flights before the next way has its turn")
    parser.add_argument("--model", default="adaptive")
    chosen = parser.parse_args()
    sources = find_sources(chosen.source.resolve())[: chosen.flights]
    ways = measure(sources, order_of(chosen.model), chosen.turn)
    rows = open_source(sources[0]).sizes["time"]  # simulated flights are of one length
    print(f"{'':16s} flights/s   per core   each flight: wall, processor s   once: wall, processor s   peak [MB]")
    for name, way in ways.items():
        each = way.per_flight(len(sources))
        print(f"{name:16s} {1 / each.wall_s:9.2f} {1 / each.processor_s:10.3f} {each.wall_s:20.2f}"
              f" {each.processor_s:11.3f} {way.ready.wall_s:12.1f} {way.ready.processor_s:11.1f}"
              f" {way.peak_mb:11.0f}")  # fmt: skip
    for what in (INDEXED, PLAIN):
        once = ways[ONE].ready.processor_s - ways[what].ready.processor_s
        more = spread([100 * (a.processor_s / b.processor_s - 1) for a, b in pairs(ways[ONE], ways[what])], "+.1f")
        print(f"1 worker against the {what}, processor time: {more} per flight, and {once:+.1f} s once")
    print(
        f"with nothing to do: 1 worker {100 * ways[ONE].idle:.1f} %, 2 workers {100 * ways[TWO].idle:.1f} % of a core"
    )
    one, loop = (ways[name].per_flight(len(sources)) for name in (ONE, INDEXED))
    same = 100 * ways[ONE].idle * one.wall_s / loop.processor_s
    print(
        f"of the cost of 1 worker, {same:.1f} % are what it takes with nothing to do, in {one.wall_s:.1f} s per flight"
    )
    half = spread([50 * a.wall_s / b.wall_s for a, b in pairs(ways[ONE], ways[TWO])], ".0f")
    print(f"scaling from 1 to 2 workers: {half} of twice as fast")
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"{len(sources)} flights of {rows:,} samples; {platform.machine()}, {os.cpu_count()} cores, load {load}")


if __name__ == "__main__":
    main()
