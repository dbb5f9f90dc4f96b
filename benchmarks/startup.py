"""How long a person waits before anything happens: `import pc2dae` and `pc2dae --help`, medians of fresh processes.

    python benchmarks/startup.py [--runs 15]

On a quiet machine the import should take under 0.3 s and the help under 0.5 s, the interpreter's own start included.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import subprocess
import sys
import time
from datetime import date

CASES = {
    "python itself": "pass",
    "import pc2dae": "import pc2dae",
    "pc2dae --help": "import sys; sys.argv = ['pc2dae', '--help']; from pc2dae.cli import main; main()",
}


def seconds(code: str) -> float:
    """Wall time of a fresh interpreter that runs `code`."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    for code in CASES.values():
        seconds(code)  # warms the file cache and writes the byte code
    print(f"{date.today()}, Python {platform.python_version()}, {platform.machine()}, median of {runs} runs")
    for name, code in CASES.items():
        times = [seconds(code) for _ in range(runs)]
        print(f"{name:<15} {statistics.median(times):.3f} s   (fastest {min(times):.3f})")


if __name__ == "__main__":
    main()
