"""How much memory a worker needs for a long record: 24 hours of 15 channels at 1 or 10 Hz, stage by stage.

    OMP_NUM_THREADS=1 python benchmarks/archive_memory.py --rate 10

A worker's own process holds Dask as well: `benchmarks/archive.py` prints its peak for usual flights.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import xarray as xr

import pc2dae
from pc2dae.archive.index_row import row_of
from pc2dae.flight import write_flight
from pc2dae.flight.schema import new_flight
from pc2dae.flight.zarr import write_zipped
from pc2dae.suite import load_suite

T = TypeVar("T")


def day(rate_hz: float, seed: int = 1) -> xr.Dataset:
    """A day of the preset's three believed families: plumes every twenty minutes, noise as the suite expects it."""
    suite = load_suite("black-kite").only(["bc", "gas", "co2"])
    suite = suite.model_copy(update={"rate_hz": rate_hz, "sources": {}})
    rng, count = np.random.default_rng(seed), int(86_400 * rate_hz)
    steps = np.arange(count)
    plume = np.maximum(0.0, np.sin(steps / (200 * rate_hz))) ** 12
    values = {
        c.name: c.lower_bound + (c.noise_sigma or 1.0) * (30 * plume + rng.normal(size=count)) for c in suite.channels
    }
    values |= {"air_temperature": 20 + 1e-3 * np.cumsum(rng.normal(size=count)), "air_pressure": np.full(count, 950.0)}
    values |= {"latitude": 52 + 1e-8 * steps, "longitude": -105 + 1e-8 * steps, "altitude": np.full(count, 500.0)}
    time_ = np.datetime64("2025-10-05", "ns") + (steps * (1e9 / rate_hz)).astype("timedelta64[ns]")
    return new_flight(time_, values, suite, flight_id="day")


def stage(name: str, work: Callable[[], T]) -> T:
    """Do the work and print its processor time and the largest resident memory meanwhile."""
    started = time.process_time()
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    result = work()
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) * 1024 / 1e6
    print(f"{name:8s} {time.process_time() - started:7.1f} processor s, at most {peak:5.0f} MB", flush=True)
    return result


def main() -> None:
    """Print a line per stage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=10.0, help="samples per second")
    parser.add_argument("--model", default="adaptive")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_flight(day(chosen.rate), Path(folder) / "day.nc")
        raw = [stage("open", lambda: pc2dae.open_flight(Path(folder) / "day.nc"))]
        clean = stage("denoise", lambda: pc2dae.denoise(raw.pop(), model=chosen.model))  # as a worker: raw is released
        stage("index", lambda: row_of(clean))
        stage("netCDF", lambda: write_flight(clean, Path(folder) / "clean.nc"))
        stage("Zarr", lambda: write_zipped(clean, Path(folder) / "clean.zarr.zip"))


if __name__ == "__main__":
    main()
