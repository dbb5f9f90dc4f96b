"""How long a 25-minute flight takes on one core, in memory and with all its files (limit: 5 s).

Run: OMP_NUM_THREADS=1 python benchmarks/simulate.py
"""

from __future__ import annotations

import platform
import tempfile
import time
from pathlib import Path

from pc2dae.simulate import fly_plan, plan_campaign, write_flight_files

REPEATS = 5


def main() -> None:
    """Print best and median of a few runs."""
    flying, writing = [], []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(REPEATS + 1):
            plan = plan_campaign(seed, flights=1, minutes=25)[0]
            start = time.perf_counter()
            flight = fly_plan(plan)
            flown = time.perf_counter()
            write_flight_files(flight, folder)
            if seed:  # the first run pays for imports
                flying.append(flown - start)
                writing.append(time.perf_counter() - flown)
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    for what, seconds in (("physics and sensors", flying), ("files", writing)):
        print(f"{what:20s} best {min(seconds):.2f} s, median {sorted(seconds)[len(seconds) // 2]:.2f} s")
    total = min(a + b for a, b in zip(flying, writing, strict=True))
    machine = platform.processor() or platform.machine()
    print(f"{'25-minute flight':20s} best {total:.2f} s (limit 5 s), {size / 1e6:.1f} MB; {machine}")


if __name__ == "__main__":
    main()
