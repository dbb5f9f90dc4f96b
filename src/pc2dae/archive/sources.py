"""The flights under a folder or in a Zarr store, and whether one has changed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import xarray as xr

from pc2dae.errors import FlightError, Pc2daeError
from pc2dae.flight.store import ZIPPED, is_flight
from pc2dae.logs import csv
from pc2dae.logs.files import LogFile, head_lines, is_store
from pc2dae.logs.reader import Head
from pc2dae.logs.sniff import READERS
from pc2dae.suite import Suite

_TRUTH = ".truth.nc"  # beside a simulated flight, not one itself
_TABLES = (".csv", ".csv.gz")  # each file may be a flight
_LOGS = (".csv", ".txt", ".log", ".dat", ".tsv", ".bin", ".xlsx", ".gz", ".zip")  # extensions of instrument files
_BLOCK = 1 << 20  # bytes hashed at a time


@dataclass(frozen=True)
class FlightSource:
    """One source flight: its name in the archive, its path, and its group in a store of several."""

    name: str  # path within the tree, without suffix: "day_2/flight_007"
    path: Path
    group: str | None = None

    @property
    def place(self) -> Path:
        """The file or folder that contains only this flight."""
        return self.path if self.group is None else self.path / self.group


def find_sources(root: Path, *, suite: Suite | None = None, leave_out: Path | None = None) -> list[FlightSource]:
    """The flights under `root` by name: log folders, netCDF, ICARTT and plain CSV files, Zarr stores.

    A folder with a file that an instrument reader recognises is one flight, including everything in it. A CSV is a
    flight by itself if pc2dae wrote it or it fits the suite. Links are followed last; nothing is visited twice.
    """
    if not root.exists():
        raise FlightError(f"{root} does not exist", hint="check the path")
    seen = set() if leave_out is None else {os.path.realpath(leave_out)}
    found, links = list[FlightSource](), [root]
    for place in links:  # grows while flights are found
        found += _flights(place, root, suite, seen, links)
    found.sort(key=lambda source: source.name)
    if not found:
        raise FlightError(f"no flight in {root}", hint="expected folders of logs, .nc, .csv, .ict or a .zarr store")
    for first, second in pairwise(found):
        if first.name == second.name:
            raise Pc2daeError(f"{first.place} and {second.place} would both become '{first.name}'",
                              hint="keep one of them, or put them into different folders")  # fmt: skip
    return found


def _flights(place: Path, root: Path, suite: Suite | None, seen: set[str], links: list[Path]) -> Iterator[FlightSource]:
    """The flights of a file or folder that has not been `seen`; links in a folder are appended to `links`."""
    real = os.path.realpath(place)
    if real in seen:
        return
    seen.add(real)
    if is_store(place):
        yield from _of_store(place, root)
        return
    parts = None if place.is_file() else _parts(place, suite)
    if parts is None:
        yield FlightSource(_name(place, root), place)
        return
    for path in parts:
        if not path.is_symlink():
            yield from _flights(path, root, suite, seen, links)
        elif not Path(os.path.realpath(root)).is_relative_to(os.path.realpath(path)):  # else a loop
            links.append(path)


def _parts(folder: Path, suite: Suite | None) -> list[Path] | None:
    """The files and folders that are, or may contain, flights of their own; None if the folder is one flight."""
    inside = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    files = [p for p in inside if p.is_file() and not p.name.endswith(_TRUTH)]
    folders = [p for p in inside if p.is_dir()]
    logs = [p for p in files if p.suffix.lower() in _LOGS and not _is_zipped(p)]
    logs.sort(key=lambda path: path.suffix.lower() == ".bin")  # text first: one log that is recognised is enough
    is_described = suite is not None and not suite.sources  # then the suite decides which tables are flights
    if not is_described and any(map(_is_log, logs)):
        return None
    alone = [p for p in files if is_flight(p) or (p in logs and _is_table(p, suite))]
    if logs and not alone and (not folders or any(map(_is_log, logs))):  # if unreadable, opening it reports why
        return None
    return [*alone, *folders]


def _name(place: Path, root: Path) -> str:
    inside = place.relative_to(root) if place != root else Path(place.resolve().name)
    if place.is_file() and (place.name.lower().endswith(".csv.gz") or _is_zipped(place)):
        inside = inside.with_suffix("")
    return str(inside.with_suffix("") if place.is_file() or place.suffix == ".zarr" else inside)


def _of_store(store: Path, root: Path) -> Iterator[FlightSource]:
    """Every group with a time axis is a flight; a store that is a single flight counts as one file."""
    if _has_time(store):
        yield FlightSource(_name(store, root), store)
        return
    prefix = "" if store == root else f"{_name(store, root)}/"
    for folder, inside, _ in os.walk(store):
        group = Path(folder)
        if _has_time(group):
            inside.clear()
            name = str(group.relative_to(store))
            yield FlightSource(prefix + name, store, name)


def _has_time(group: Path) -> bool:
    return (group / "time" / "zarr.json").is_file() or (group / "time" / ".zarray").is_file()


def _is_zipped(path: Path) -> bool:
    return path.name.lower().endswith(ZIPPED)


def _is_table(path: Path, suite: Suite | None) -> bool:
    """Whether a CSV is a whole flight: a table that the suite (or a preset) describes."""
    if not path.name.lower().endswith(_TABLES):
        return False
    head = _head(path)
    if head is None:
        return False
    if suite is not None and not suite.sources:
        return csv.fits(head, suite)
    return csv.fitting_preset(head) is not None


def _is_log(path: Path) -> bool:
    head = _head(path)
    return head is not None and any(reader.recognises(head) for reader in READERS.values())


def _head(path: Path) -> Head | None:
    file = LogFile(path)
    try:
        return Head(file.head(), head_lines(file))
    except Pc2daeError:  # damaged: reported when it is read
        return None


def stamp(source: FlightSource) -> str:
    """A fingerprint of the names, sizes and times of a flight's files.

    An equal stamp means unchanged; otherwise `digest` decides.
    """
    files = [(str(p.relative_to(source.place)), p.stat().st_size, p.stat().st_mtime_ns) for p in files_of(source.place)]
    return hashlib.sha256(json.dumps(files).encode()).hexdigest()[:16]


def digest(place: Path) -> str:
    """SHA-256 of a file, or of the names and contents of a folder's files, sorted by name."""
    total = hashlib.sha256()
    for path in files_of(place):
        if place.is_dir():
            total.update(f"{path.relative_to(place)}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as handle:
            while block := handle.read(_BLOCK):
                total.update(block)
    return total.hexdigest()


def files_of(place: Path) -> list[Path]:
    """The file itself, or all files of a folder sorted by name, without hidden ones."""
    if not place.is_dir():
        return [place]
    inside = (p for p in place.rglob("*") if p.is_file())
    return sorted(p for p in inside if not any(part.startswith(".") for part in p.relative_to(place).parts))


def open_source(source: FlightSource, *, suite: Suite | None = None, zone: str | None = None) -> xr.Dataset:
    """Open the flight."""
    from pc2dae.flight.store import read_zarr
    from pc2dae.ingestion import open_flight

    if source.group is not None or is_store(source.path):
        return read_zarr(source.place, suite)
    return open_flight(source.path, suite=suite, zone=zone)
