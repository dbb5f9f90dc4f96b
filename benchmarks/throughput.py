"""Long records: processor time of ingest, denoise, inspect and report against pandas.read_csv, and its growth.

    python benchmarks/throughput.py                       # a simulated channel, 1 h to 30 days at 1 Hz
    python benchmarks/throughput.py --hours 1 24 72
    python benchmarks/throughput.py --record FILE --zone=-07:00     # one record, as `pc2dae ingest` takes it

Times are of fresh processes without the bare imports (numpy, pandas, xarray, netCDF4, onnxruntime), which are printed
beside them. The last columns are ingest, denoise and report together as multiples of read_csv, and with all imports as
multiples of read_csv and the imports. Growth is the exponent p of time ∝ lengthᵖ between the two longest records.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import zipfile
from datetime import date
from pathlib import Path

import numpy as np
from startup import FLIGHTS, processor_s

SUITE = 'name = "one"\n[[family]]\nname = "gas"\n[[family.channel]]\nname = "co"\nunits = "ppb"\nt90_s = 3.0\n'
HOURS = (1.0, 6.0, 24.0, 72.0, 240.0, 720.0)
READ = "import pandas; [pandas.read_csv({name!r}, sep={separator!r}, skiprows={skip}) for _ in range(20)]"


def write_record(path: Path, samples: int) -> None:
    """A CSV of one channel at 1 Hz: noise, drift and a plume every ten minutes."""
    rng = np.random.default_rng(0)
    at = np.arange(samples)
    air = 120 + 10 * np.sin(at / 7000) + 900 * np.exp(-((at % 600 - 300.0) ** 2) / 450) * (1 + 0.5 * np.sin(at / 2500))
    stamps = np.datetime_as_string(np.datetime64("2024-05-01T00:00:00") + at, unit="s")
    rows = zip(stamps.tolist(), (air + rng.normal(0, 15, samples)).round(2).tolist(), strict=True)
    path.write_text("time,co\n" + "".join(f"{stamp}Z,{value}\n" for stamp, value in rows))


def measure(folder: Path, tables: list[tuple[str, str, int]], ingest: list[str]) -> dict[str, float]:
    """Processor time of each step [s] beyond the imports; `tables` are name, separator and lines before the header."""
    imports = min(processor_s(["-c", FLIGHTS], folder) for _ in range(2))
    bare = min(processor_s(["-c", "import pandas"], folder) for _ in range(2))
    read = [processor_s(["-c", READ.format(name=n, separator=s, skip=k)], folder) - bare for n, s, k in tables]
    steps = {
        "ingest": ["ingest", *ingest, "-o", "flight.nc", "--force"],
        "inspect": ["inspect", "flight.nc"],
        "denoise": ["denoise", "flight.nc", "-o", "clean.nc", "--force"],
        "report": ["report", "clean.nc", "-o", "report.html", "--force"],
    }
    spent = {name: processor_s(["-m", "pc2dae", *arguments], folder) - imports for name, arguments in steps.items()}
    return {"imports": imports, "read_csv": sum(read) / 20} | spent


def show(label: str, spent: dict[str, float]) -> float:
    """Print one record, and return the time of ingest, denoise and report."""
    total = spent["ingest"] + spent["denoise"] + spent["report"]
    ratio = total / max(spent["read_csv"], 1e-3)
    with_imports = (total + 3 * spent["imports"]) / (spent["read_csv"] + spent["imports"])
    figures = [f"{value:>10.2f}" for value in spent.values()] + [f"{ratio:>10.1f}", f"{with_imports:>10.1f}"]
    print(f"{label:>10}{''.join(figures)}", flush=True)
    return total


def main() -> None:
    """Print a line for each record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, nargs="+", default=HOURS)
    parser.add_argument("--record", type=Path, help="a zip of tab-separated tables with a line before their header")
    parser.add_argument("--zone", default="UTC")
    chosen = parser.parse_args()
    print(f"{date.today()}, Python {platform.python_version()}, {platform.machine()}; processor time [s]")
    heads = ("record", "imports", "read_csv", "ingest", "inspect", "denoise", "report", "× read", "× both")
    print("".join(f"{head:>10}" for head in heads))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if chosen.record is not None:
            with zipfile.ZipFile(chosen.record) as archive:
                archive.extractall(folder)
                tables = [(member, "\t", 1) for member in archive.namelist()]
            show("record", measure(folder, tables, [str(chosen.record.resolve()), f"--zone={chosen.zone}"]))
            return
        (folder / "one.toml").write_text(SUITE)
        totals = []
        for hours in sorted(chosen.hours):
            write_record(folder / "record.csv", round(hours * 3600))
            spent = measure(folder, [("record.csv", ",", 0)], ["record.csv", "--suite", "one.toml"])
            totals.append((hours, show(f"{hours:g} h", spent)))
    if len(totals) > 1:
        (short, before), (long, after) = totals[-2:]
        print(f"growth: {np.log(after / before) / np.log(long / short):.2f}")


if __name__ == "__main__":
    main()
