"""Write a flight again and again, the n-th write or sync failing, for every n; `test_write_faults` runs and judges it.

Needs the library of write_faults.c in LD_PRELOAD. Prints a JSON line for each n: what was raised, what is there then.
"""

from __future__ import annotations

import ctypes
import errno
import json
import sys
from pathlib import Path

import numpy as np
import xarray as xr

from pc2dae.flight import read_flight, write_flight
from pc2dae.flight.schema import new_flight
from pc2dae.suite import Channel, Family, Suite

SUITE = Suite(name="one", family=(Family(name="gas", channel=(Channel(name="co", units="ppb"),)),))


def flight(offset: float) -> xr.Dataset:
    """A flight of one channel."""
    stamps = np.datetime64("2025-10-05T14:00:00", "ns") + np.arange(20) * np.timedelta64(1, "s")
    return new_flight(stamps, {"co": offset + np.arange(20.0)}, SUITE)


def attempt(target: Path, n: int, error: int) -> bool:
    """Write over `target` with `n` calls before the fault, print what came of it; whether the fault was met."""
    shim = ctypes.CDLL(None)
    shim.arm(n, error)
    raised, code, named = "", 0, ""
    try:
        write_flight(flight(1), target)
    except OSError as problem:
        raised, code, named = str(problem), problem.errno or 0, str(problem.filename)
    shim.arm(-1, 0)
    first = float(read_flight(target, SUITE)["co"].values[0])
    inside = [path.name for path in target.parent.iterdir()]
    about = {"target": str(target), "error": error, "raised": raised, "errno": code, "named": named, "first": first}
    print(json.dumps(about | {"inside": inside}), flush=True)
    return raised != ""


def main(folder: Path) -> None:
    """Every format, until a write needs no more calls than are let through; both errors where HDF5 has a part in it."""
    for suffix in (".nc", ".csv", ".ict", ".zarr"):
        target = folder / "faulty-disk" / suffix[1:] / f"f{suffix}"
        for error in (errno.ENOSPC, errno.EIO)[: 2 if suffix == ".nc" else 1]:
            write_flight(flight(0), target)
            was_met = (attempt(target, n, error) for n in range(1000))
            while next(was_met):
                pass


if __name__ == "__main__":
    main(Path(sys.argv[1]))
