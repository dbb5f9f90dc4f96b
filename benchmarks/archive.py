"""What a cluster costs and gains: flights and samples per second for 1 and 2 workers, against a plain loop.

    python benchmarks/archive.py campaign --flights 24

The loop opens, denoises and writes each flight, as `pc2dae denoise` would, one after another in one process. "With
index" it also makes the row of the index and hashes, which is all that a worker does. A cluster's time is from the
first flight handed out to the last marker, once every worker has done one flight: starting is printed apart.
Processor time (client, scheduler and workers together) says what the cluster costs even where the machine is shared.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from pc2dae.archive.cluster import connected
from pc2dae.archive.place import Archive
from pc2dae.archive.run import denoise_all
from pc2dae.archive.sources import Source, find_sources, open_source
from pc2dae.archive.work import Order, denoise_one, order_of
from pc2dae.models import load_model
from pc2dae.pipeline import denoise


def processor_s() -> float:
    """Processor time of this process and all that it started and that still run [s]."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(sum(process.cpu_times()[:2]) for process in processes)


@dataclass
class Clock:
    """Wall and processor time since it was made [s]."""

    wall: float = field(default_factory=time.perf_counter)
    processor: float = field(default_factory=processor_s)

    def spent(self) -> tuple[float, float]:
        """Both, as they have gone by."""
        return time.perf_counter() - self.wall, processor_s() - self.processor


def fresh(folder: Path, name: str) -> Archive:
    """An empty archive."""
    archive = Archive(folder / name)
    archive.prepare()
    return archive


def plain(sources: list[Source], order: Order, archive: Archive) -> tuple[float, float]:
    """A loop that opens, denoises and writes."""
    model, clock = load_model(order.model), Clock()
    for source in sources:
        archive.write(denoise(open_source(source), model=model), source.name)
    return clock.spent()


def with_index(sources: list[Source], order: Order, archive: Archive) -> tuple[float, float]:
    """A loop that does all that a worker does."""
    clock = Clock()
    for source in sources:
        denoise_one(source, order, archive)
    return clock.spent()


def on_cluster(sources: list[Source], order: Order, folder: Path, workers: int) -> tuple[float, float]:
    """The same on a cluster whose workers have each done one flight."""
    archive, clock = fresh(folder, f"on_{workers}"), Clock()
    with connected(workers=workers) as client:
        client.run(denoise_one, sources[0], order, fresh(folder, f"warm_{workers}"))
        print(f"{workers} workers: started and warm after {clock.spent()[0]:.1f} s")
        clock = Clock()
        failures = [r["error"] for r in denoise_all(sources, archive, order, client) if r["status"] != "done"]
        spent = clock.spent()
        resident = max(client.run(lambda: psutil.Process().memory_info().rss).values())
    print(f"{workers} workers: {resident / 1e6:.0f} MB in the largest worker after {len(sources)} flights")
    if failures:
        raise SystemExit(f"{len(failures)} flights failed: {failures[0]}")
    return spent


def main() -> None:
    """Print a line for every way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a tree of flights")
    parser.add_argument("--flights", type=int, default=24)
    parser.add_argument("--model", default="adaptive")
    chosen = parser.parse_args()
    sources = find_sources(chosen.source.resolve())[: chosen.flights]
    order, count = order_of(chosen.model), min(chosen.flights, len(sources))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        samples = denoise_one(sources[0], order, fresh(folder, "first"))["rows"] * count  # and warms up
        loop = plain(sources, order, fresh(folder, "loop"))
        rows = with_index(sources, order, fresh(folder, "rows"))
        one, two = (on_cluster(sources, order, folder, workers) for workers in (1, 2))
    for key, (wall, processor) in {"loop": loop, "loop with index": rows, "1 worker": one, "2 workers": two}.items():
        print(f"{key:16s} {count / wall:6.2f} flights/s {samples / wall:7.0f} samples/s {wall:7.1f} s"
              f" {processor / count:6.2f} processor s per flight")  # fmt: skip
    for what, other in (("the loop with index", rows), ("the loop", loop)):
        print(f"1 worker against {what}: {100 * (one[1] / other[1] - 1):+.1f} % processor time,"
              f" {100 * (one[0] / other[0] - 1):+.1f} % wall time")  # fmt: skip
    print(f"scaling from 1 to 2 workers: {100 * one[0] / (2 * two[0]):.0f} % of twice as fast")
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"{count} flights, {samples:,} samples; {platform.machine()}, {os.cpu_count()} cores, load {load}")


if __name__ == "__main__":
    main()
