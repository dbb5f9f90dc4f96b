"""What each command costs beyond its imports, as processor time relative to the bare imports, medians of processes.

    python benchmarks/startup.py [--runs 5] [--minutes 26]

The floor of a command is what it cannot do without: numpy, pandas, xarray, netCDF4 and onnxruntime for those that
read flights, typer and rich for `--help`. All figures are of one run, so that a busy machine slows down both sides.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

FLIGHTS = "import numpy, pandas, xarray, netCDF4, onnxruntime"
HELP = "import typer, rich"
COMMANDS = {  # arguments, floor
    "--help": (["--help"], HELP),
    "denoise --help": (["denoise", "--help"], HELP),
    "ingest": (["ingest", "flights/flight_001", "-o", "flight.nc", "--force"], FLIGHTS),
    "inspect": (["inspect", "flight.nc"], FLIGHTS),
    "denoise": (["denoise", "flight.nc", "-o", "clean.nc", "--force"], FLIGHTS),
    "evaluate": (["evaluate", "clean.nc"], FLIGHTS),
    "plumes": (["plumes", "clean.nc"], FLIGHTS),
    "report": (["report", "clean.nc", "-o", "report.html", "--force"], FLIGHTS),
}


def processor_s(arguments: list[str], folder: Path) -> float:
    """User and system time of a fresh interpreter [s], with byte code as an installed package has it."""
    before = os.times()
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Print the medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=26.0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        simulate = ["simulate", "flights", "--flights", "1", "--minutes", f"{chosen.minutes:g}", "--seed", "5"]
        processor_s(["-m", "pc2dae", *simulate], folder)
        for arguments, _ in COMMANDS.values():
            processor_s(["-m", "pc2dae", *arguments], folder)  # warms the file cache, and makes the inputs
        print(f"{date.today()}, Python {platform.python_version()}, {platform.machine()}, median of {chosen.runs}")
        print(f"{'command':<16} {'floor [s]':>10} {'command [s]':>12} {'ratio':>6}")
        for label, (arguments, floor) in COMMANDS.items():
            pairs = [
                (processor_s(["-c", floor], folder), processor_s(["-m", "pc2dae", *arguments], folder))
                for _ in range(chosen.runs)
            ]
            least, whole = (statistics.median(column) for column in zip(*pairs, strict=True))
            print(f"{label:<16} {least:>10.2f} {whole:>12.2f} {whole / least:>6.1f}")


if __name__ == "__main__":
    main()
