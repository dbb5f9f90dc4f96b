"""Damaged logs against every reader and against pandas: no crash, no hang, no number that the file does not hold.

python benchmarks/fuzz_logs.py --files 20000 --seed 1

Every file is read twice: by `read_logs`, and by pandas as a table of text. What the intact file shows to be the same
column in both must be the same number, at the same time, in the damaged one, unless a repair line mentions the loss.
Exits 1 if anything but that or a refusal in one line came.
"""

from __future__ import annotations

import argparse
import gzip
import io
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from pc2dae.align.clock_faults import repair_stamps
from pc2dae.align.grid import align
from pc2dae.errors import Pc2daeError
from pc2dae.flight.stream import Stream
from pc2dae.logs import read_logs
from pc2dae.logs.infer_suite import suite_for
from pc2dae.suite import parse_suite

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "logs"))
from bad_files import SUITE, table
from samples import all_samples

TIMEOUT_S = 10.0
COMPARED = 12  # columns per format
BINARY = ("ardupilot", "goamazon", "li830")  # not tables of text: read, but not compared
PERIOD_S = {"ma200": 60.0}  # the minutes of the zone stand in another column
HEADER_LINES = {"icartt": 18, "afe": 3}  # with date, factors, zone: not compared where these are damaged
WORDS = (b"nan", b"-", b"1e999", b'"', b",", b";", b"\r", b"\n", b"\xff", b"9" * 20, b"\xb5", b"T", b"Z", b"1,234")


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
            out[at:at] = WORDS[int(rng.integers(len(WORDS)))]
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


def packed(data: bytes, rng: np.random.Generator) -> bytes:
    """Gzipped, with one flipped bit in half of the cases."""
    out = bytearray(gzip.compress(data, mtime=0))
    if rng.random() < 0.5:
        out[int(rng.integers(len(out)))] ^= 1 << int(rng.integers(8))
    return bytes(out)


def cells_of(content: bytes, separator: str) -> pd.DataFrame:
    """The file as pandas cuts it, every cell as text, short rows filled up; lines with an open quote are left out."""
    lines = [line for line in content.replace(b"\r", b"\n").split(b"\n") if line.count(b'"') % 2 == 0]
    width = max((line.count(separator.encode()) for line in lines), default=0) + 1
    return pd.read_csv(
        io.BytesIO(b"\n".join(lines)), sep=separator, header=None, names=list(range(width)), dtype=str,
        keep_default_na=False, encoding="latin-1", on_bad_lines="skip", low_memory=False,
    ).fillna("")  # fmt: skip


def as_numbers(cells: pd.Series) -> np.ndarray:
    """A column of text as numbers, NaN where a cell is none."""
    numbers = pd.to_numeric(cells.str.strip(), errors="coerce").to_numpy(dtype=float)
    return np.where(np.isinf(numbers), np.nan, numbers)


def as_seconds(cells: pd.Series) -> np.ndarray:
    """A column of stamps as seconds since 1970, NaN where a cell is none."""
    numbers = as_numbers(cells)
    if np.isfinite(numbers).mean() > 0.5:
        return numbers
    has_year_first = bool(cells.str.match(r"\s*\d{4}").mean() > 0.5)  # 2024-04-10 is October with `dayfirst`
    stamps = pd.to_datetime(cells.str.strip(), errors="coerce", utc=True, format="mixed", dayfirst=not has_year_first)
    return np.where(stamps.isna(), np.nan, stamps.to_numpy(dtype="datetime64[ns]").astype(np.int64) / 1e9)


@dataclass(frozen=True)
class Twin:
    """How pandas finds one stream of the intact file: columns with their factors, the stamp, the order of the rows."""

    separator: str
    columns: dict[str, list[tuple[int, float]]]  # several where columns of the intact file are alike
    sentinels: tuple[float, ...]  # numbers of the intact file that stand for missing
    stamps: list[tuple[tuple[int, ...], float]]  # cells joined by a blank and what is to be added; several if alike
    span: tuple[float, float]  # of the intact file
    step: int  # −1: the newest row stands first
    period_s: float  # after which the stamps repeat

    def expected(self, content: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Seconds (candidate, row) and the numbers of the compared columns (column, candidate, row)."""
        cells = cells_of(content, self.separator)
        missing = pd.Series([""] * len(cells))
        seconds = np.array([_stamp(cells, piece, missing) + shift for piece, shift in self.stamps])
        read = {i: as_numbers(cells.get(i, missing)) for found in self.columns.values() for i, _ in found}
        known = {i: np.where(np.isin(numbers, self.sentinels), np.nan, numbers) for i, numbers in read.items()}
        most = max(len(found) for found in self.columns.values())
        filled = [found + found[:1] * (most - len(found)) for found in self.columns.values()]
        numbers = np.array([[known[i] * factor for i, factor in found] for found in filled])
        return seconds[:, :: self.step], numbers[..., :: self.step]


def seconds_of(stream: Stream) -> np.ndarray:
    """Its stamps as seconds since 1970."""
    return stream.time.astype("datetime64[ns]").astype(np.int64) / 1e9


def is_near(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Equal but for rounding; NaN is near nothing."""
    return np.abs(a - b) <= 1e-9 * np.maximum(np.abs(a), np.abs(b)) + 1e-12


def find_twin(content: bytes, stream: Stream, period_s: float) -> Twin | None:
    """The twin of a stream of an intact file, None where no stamp or no column is found."""
    for separator in (",", ";", "\t"):
        cells = cells_of(content, separator)
        for step in (1, -1):
            rows = cells[::step].tail(len(stream.time)) if step == 1 else cells[::step].head(len(stream.time))
            seconds = seconds_of(stream)
            stamps = _find_stamps(rows, seconds) if len(rows) == len(seconds) else []
            if stamps:
                read = {place: as_numbers(rows[place]) for place in rows.columns}
                found = {name: _find_columns(read, values) for name, values in stream.columns.items()}
                columns = dict([(name, places) for name, places in found.items() if places][:COMPARED])
                gone = [as_numbers(rows[p[0][0]])[np.isnan(stream.columns[n])] for n, p in columns.items()]
                sentinels = tuple(np.unique([x for one in gone for x in one if np.isfinite(x)]))
                span = (seconds.min() - 3600, seconds.max() + 3600)
                return Twin(separator, columns, sentinels, stamps, span, step, period_s) if columns else None
    return None


def _stamp(cells: pd.DataFrame, piece: tuple[int, ...], missing: pd.Series | None = None) -> np.ndarray:
    texts = [cells.get(i, missing) for i in piece]
    return as_seconds(texts[0] if len(texts) == 1 else texts[0] + " " + texts[1])


def _find_stamps(rows: pd.DataFrame, seconds: np.ndarray) -> list[tuple[tuple[int, ...], float]]:
    found = []
    for piece in [(i,) for i in rows.columns] + list(pairwise(rows.columns)):
        shift = seconds - _stamp(rows, piece)
        if np.isfinite(shift).all() and np.ptp(shift) < 1e-3 and abs(np.median(shift)) < 1e10:
            found.append((piece, float(np.round(np.median(shift), 3))))
    return found


def _find_columns(cells: dict[int, np.ndarray], values: np.ndarray) -> list[tuple[int, float]]:
    found = []
    for place, read in cells.items():
        both = np.isfinite(read) & np.isfinite(values)
        if both.sum() < 0.5 * np.isfinite(values).sum() or both.sum() < 10 or not (values * read)[both].any():
            continue
        factor = float(f"{np.sum(read[both] * values[both]) / np.sum(read[both] ** 2):.6g}")
        is_told_apart = np.ptp(read[both]) > 0 or factor in (
            0.1,
            1.0,
            10.0,
        )  # a constant is any other constant's multiple
        if is_told_apart and is_near(read[both] * factor, values[both]).all():
            found.append((place, factor))
    return found


def silent_change(content: bytes, twin: Twin, stream: Stream) -> str | None:
    """What the stream holds and pandas does not find in the file, or the other way round and not listed."""
    candidates, numbers = twin.expected(content)
    fault = None
    for seconds in candidates:
        fault = _difference(seconds, numbers, twin, stream)
        if fault is None:
            break
    return fault


def _difference(seconds: np.ndarray, numbers: np.ndarray, twin: Twin, stream: Stream) -> str | None:
    names = [name for name in twin.columns if name in stream.columns]
    if not names:
        return None  # the header lost its columns
    numbers = numbers[[list(twin.columns).index(name) for name in names]]
    got = np.array([stream.columns[name] for name in names])
    got = np.where(np.isin(got, twin.sentinels), np.nan, got)  # where the damage took their meaning from them
    is_stamped_anew = any("clock" in line or "leap second" in line for line in stream.repairs)
    free = np.ones(len(seconds), bool)  # rows of the file that no row of the stream was found to be
    for row, moment in enumerate(seconds_of(stream)):
        apart = np.abs(seconds - moment)
        same = free & (np.minimum(apart % twin.period_s, -apart % twin.period_s) < 2e-3)
        equal = is_near(numbers, got[:, row, None, None]).any(axis=1)
        place = np.flatnonzero(same & (equal | ~np.isfinite(got[:, row, None])).all(axis=0))
        if not len(place):
            changed = (np.isfinite(got[:, row, None]) & np.isfinite(numbers).all(axis=1) & ~equal).any(axis=0)
            if is_stamped_anew or (stream.repairs and not (same.any() and changed[same].all())):
                continue  # a stamp or a cell that is no number to pandas was repaired, as the list says
            return f"row {row} at {stream.time[row]}: {dict(zip(names, got[:, row], strict=True))} is not in the file"
        free[place[0]] = False
        lost = ~np.isfinite(got[:, row]) & np.isfinite(numbers[..., place[0]]).all(axis=1)
        if lost.any() and not stream.repairs:
            return f"row {row} at {stream.time[row]}: {names[int(np.argmax(lost))]} lost, and no line mentions it"
    usable = (seconds > twin.span[0]) & (seconds < twin.span[1]) & np.isfinite(numbers).any(axis=(0, 1))
    if not stream.repairs and len(stream.time) < usable.sum():
        return f"{len(stream.time)} rows, pandas finds {usable.sum()}, and no line mentions it"
    return None


class Fuzzer:
    """Intact files of every format, their twins, and the verdict on damaged ones."""

    def __init__(self, folder: Path) -> None:
        self.suite = parse_suite(SUITE, where="fuzz")
        self.path = folder / "fuzzed.csv"
        self.made = all_samples(folder / "made") | {"csv": table().encode()}
        self.names = sorted(self.made)
        self.twins: dict[str, Twin] = {}
        for name in self.names:
            self.path.write_bytes(self.made[name])
            (stream, *others) = self.read(name)
            twin = find_twin(self.made[name], stream, PERIOD_S.get(name, np.inf))
            if twin is not None and not others and name not in BINARY:
                self.twins[name] = twin

    def read(self, name: str) -> list[Stream]:
        """The streams of the file as it is."""
        return read_logs([self.path], zone="UTC", suite=self.suite if name == "csv" else None).streams

    def damage(self, number: int, rng: np.random.Generator) -> tuple[str, bytes]:
        """Make damaged file number so many: its format, and its text before it was packed."""
        name = self.names[number % len(self.names)]
        content = mutate(self.made[name], rng)
        self.path.write_bytes(packed(content, rng) if number % 10 == 0 else content)
        return name, content

    def verdict(self, name: str, content: bytes, *, deep: bool) -> tuple[str, str | None]:
        """How the reading ended, and what is wrong with that; `deep` also puts the streams on a grid."""
        try:
            streams = self.read(name)
            if deep:
                suite = self.suite if name == "csv" else suite_for(streams)
                align([repair_stamps(stream, suite.rate_hz) for stream in streams], suite)
            header = b"\n".join(self.made[name].split(b"\n")[: HEADER_LINES.get(name, 0)])
            if name not in self.twins or len(streams) != 1 or not content.startswith(header):
                return "read", None
            return "compared", silent_change(content, self.twins[name], streams[0])
        except pd.errors.ParserError:
            return "read", None  # quotes that pandas cannot close: nothing to compare with
        except Pc2daeError as error:
            return "refused", "refused in several lines" if "\n" in str(error) else None
        except Hang:
            return "hang", f"hangs for {TIMEOUT_S:g} s"
        except Exception:  # noqa: BLE001 - that is what is looked for
            return "crash", traceback.format_exc(limit=-4)


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    verdicts: Counter[str] = Counter()
    faults, slowest, begin = 0, 0.0, time.perf_counter()

    def alarm(_signal: int, _frame: object) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, alarm)
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(Path(folder))
        for number in range(arguments.files):
            name, content = fuzzer.damage(number, rng)
            started = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, TIMEOUT_S)
            what, fault = fuzzer.verdict(name, content, deep=number % 7 == 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            slowest = max(slowest, time.perf_counter() - started)
            verdicts[what] += 1
            if fault is not None:
                faults += 1
                print(f"--- {name}, file {number}: {fault}", flush=True)
                Path(f"fuzz-{arguments.seed}-{number}-{name}").write_bytes(fuzzer.path.read_bytes())
    counts = ", ".join(f"{count:,} {what}" for what, count in verdicts.most_common())
    print(
        f"{verdicts.total():,} files of {len(fuzzer.names)} formats ({len(fuzzer.twins)} compared with pandas), seed "
        f"{arguments.seed}: {counts}; {faults} faults; {time.perf_counter() - begin:.0f} s, slowest {slowest:.2f} s"
    )
    return int(faults > 0)


if __name__ == "__main__":
    raise SystemExit(main())
