"""What the model on paper of a million flights needs: files, bytes and processor time per flight, and of the index.

    pc2dae archive denoise campaign clean
    OMP_NUM_THREADS=1 python benchmarks/archive_model.py campaign clean --flights 10000

The index is made from the markers of `clean`, multiplied to so many flights with other names, hashes and numbers.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from statistics import median

from pc2dae.archive.index import write_index
from pc2dae.archive.layout import Archive, FlightRecord, open_archive
from pc2dae.archive.run import pending
from pc2dae.archive.sources import files_of
from pc2dae.archive.task import order_of
from pc2dae.flight import read_flight, write_flight
from pc2dae.flight.zarr import write_zipped

WRITERS = {"clean.nc": write_flight, "clean.zarr.zip": write_zipped}
REPEATS = 5


def processor_s(work: Callable[[], object]) -> float:
    """Processor time of this process."""
    started = time.process_time()
    work()
    return time.process_time() - started


def size(paths: list[Path]) -> str:
    """Number of files and their bytes."""
    return f"{len(paths):3d} files, {sum(path.stat().st_size for path in paths) / 1e6:7.3f} MB"


def multiplied(records: list[FlightRecord], archive: Archive, count: int) -> None:
    """So many markers and empty outputs, with other names, hashes and numbers."""
    chance = random.Random(0)
    for k in range(count):
        record = records[k % len(records)]
        other = {key: value * chance.uniform(0.5, 2) for key, value in record.items() if isinstance(value, float)}
        other |= {key: sha256(f"{key}{k}".encode()).hexdigest() for key in ("source_sha256", "output_sha256")}
        name = f"day_{k // 100}/flight_{k % 100:03d}"
        for path in (archive.marker(name), archive.output(name)):
            path.parent.mkdir(parents=True, exist_ok=True)
        archive.marker(name).write_text(json.dumps(record | other | {"flight": name}, indent=1) + "\n")
        archive.output(name).touch()


def main() -> None:
    """Print a line per figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a tree of flights")
    parser.add_argument("archive", type=Path, help="the archive of them, as netCDF")
    parser.add_argument("--flights", type=int, default=10_000, help="of the index")
    chosen = parser.parse_args()
    archive = open_archive(chosen.archive.resolve())
    records = list(archive.records())
    first = records[0]["flight"]
    print(f"{'read':15s} {size(files_of(Path(records[0]['source'])))}")
    print(f"{'marker':15s} {size([archive.marker(first)])}")
    with tempfile.TemporaryDirectory() as folder:
        flight = read_flight(archive.output(first))
        spent: dict[str, list[float]] = {name: [] for name in WRITERS}
        for _ in range(REPEATS):
            for name, write in WRITERS.items():
                spent[name].append(processor_s(partial(write, flight, Path(folder, name))))
        for name, seconds in spent.items():
            print(f"{name:15s} {size([Path(folder, name)])}, written in {median(seconds):.2f} processor s")
        look = partial(pending, chosen.source, archive, order_of("adaptive"))
        found = median(processor_s(look) for _ in range(REPEATS)) / len(look()[1])
        print(f"finding what is missing: {1e3 * found:.1f} processor ms per flight")
        large = Archive(Path(folder, "large"))
        multiplied(records, large, chosen.flights)
        made = processor_s(partial(write_index, large))
        print(f"index of {chosen.flights:,} flights: {size([large.index])}, {made:.1f} processor s")


if __name__ == "__main__":
    main()
