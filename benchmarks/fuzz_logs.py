"""Mutated files against every reader: no crash, no hang; exits 1 if anything but a one-line refusal came.

python benchmarks/fuzz_logs.py --files 20000 --seed 1
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

from pc2dae.errors import Pc2daeError
from pc2dae.flight.align import align
from pc2dae.logs import read_logs
from pc2dae.logs.automatic import suite_for
from pc2dae.suite import parse_suite

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "logs"))
from bad_files import SUITE, table
from samples import all_samples

TIMEOUT_S = 10.0


class Hang(Exception):
    """A file took longer than it may."""


def mutate(data: bytes, rng: np.random.Generator) -> bytes:
    """One to four random injuries."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        size = max(len(out), 1)
        at, length = int(rng.integers(size)), int(rng.integers(1, min(size, 200) + 1))
        kind = int(rng.integers(9))
        if kind == 0:  # flipped bytes
            for place in rng.integers(0, size, 8):
                out[place : place + 1] = bytes([int(rng.integers(256))])
        elif kind == 1:  # cut off
            del out[at:]
        elif kind == 2:  # a piece lost
            del out[at : at + length]
        elif kind == 3:  # a piece twice
            out[at:at] = out[at : at + length]
        elif kind == 4:  # zero bytes
            out[at : at + length] = bytes(length)
        elif kind == 5:  # a word where it does not belong
            word = [
                b"nan",
                b"-",
                b"1e999",
                b'"',
                b",",
                b";",
                b"\r",
                b"\n",
                b"\xff",
                b"99999999999999999999",
                b"\xb5",
                b"T",
                b"Z",
            ]
            out[at:at] = word[int(rng.integers(len(word)))]
        elif kind == 6:  # digits changed
            for place in rng.integers(0, size, 20):
                if place < len(out) and 48 <= out[place] <= 57:
                    out[place] = 48 + int(rng.integers(10))
        elif kind == 7:  # lines in another order
            lines = bytes(out).split(b"\n")
            rng.shuffle(lines)
            out = bytearray(b"\n".join(lines))
        else:  # noise
            out[at:at] = rng.bytes(length)
    return bytes(out)


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    verdicts: Counter[str] = Counter()
    suite = parse_suite(SUITE, where="fuzz")
    begin, slowest = time.perf_counter(), 0.0

    def alarm(_signal: int, _frame: object) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, alarm)
    with tempfile.TemporaryDirectory() as folder:
        made = all_samples(Path(folder) / "made") | {"csv": table().encode()}
        names = sorted(made)
        path = Path(folder) / "fuzzed.csv"
        for number in range(arguments.files):
            name = names[number % len(names)]
            content = mutate(made[name], rng)
            path.write_bytes(content)
            started = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, TIMEOUT_S)
            try:
                book = read_logs([path], zone="UTC", suite=suite if name == "csv" else None)
                if number % 7 == 0:
                    align(book.streams, suite if name == "csv" else suite_for(book.streams))
                verdicts["read"] += 1
            except Pc2daeError as error:
                verdicts["refused"] += 1
                if "\n" in str(error):
                    verdicts["refused in several lines"] += 1
            except Hang:
                verdicts["hang"] += 1
                Path(f"fuzz-{arguments.seed}-{number}-{name}").write_bytes(content)
            except Exception:  # noqa: BLE001 - that is what is looked for
                verdicts["crash"] += 1
                print(f"--- {name}, file {number}")
                traceback.print_exc(limit=-4)
                if verdicts["crash"] > 20:
                    break
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            slowest = max(slowest, time.perf_counter() - started)
    spent = time.perf_counter() - begin
    print(
        f"{sum(verdicts.values()):,} files over {len(names)} formats in {spent:.0f} s, seed {arguments.seed}: "
        f"{dict(verdicts)}, slowest {slowest:.2f} s"
    )
    return int(bool(verdicts["crash"] or verdicts["hang"] or verdicts["refused in several lines"]))


if __name__ == "__main__":
    raise SystemExit(main())
