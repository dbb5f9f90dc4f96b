"""A CSV of ten million rows: time and peak memory of `ingest`, which must stay within 400 MB.

python benchmarks/large_csv.py
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from pc2dae.ingestion import ingest

SUITE = 'name = "one"\n[[family]]\nname = "gas"\n[[family.channel]]\nname = "co"\nunits = "ppb"\n'
ROWS, CHUNK = 10_000_000, 10_000
LIMIT_MB = 400


def main() -> int:
    """Run and print."""
    with tempfile.TemporaryDirectory() as folder:
        path, suite = Path(folder) / "large.csv", Path(folder) / "one.toml"
        suite.write_text(SUITE)
        with path.open("w") as out:
            out.write("time,co\n")
            for first in range(0, ROWS, CHUNK):
                stamps = np.datetime64("2024-01-01", "ms") + np.arange(first, first + CHUNK) * np.timedelta64(100, "ms")
                texts = np.datetime_as_string(stamps, unit="ms")
                out.writelines(f"{text}Z,{100 + i % 977 * 0.01:.2f}\n" for i, text in enumerate(texts))
        begin = time.perf_counter()
        flight, intake = ingest([path], suite=suite)
        spent = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{ROWS:,} rows → {flight.sizes['time']:,} samples in {spent:.0f} s, peak memory {peak} MB")
    print(*intake.sources[0].repairs, sep="\n")
    return int(peak > LIMIT_MB)


if __name__ == "__main__":
    raise SystemExit(main())
