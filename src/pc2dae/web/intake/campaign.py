"""The flights in an upload of a campaign's folder: which files belong together, and from when to when they last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pc2dae.errors import Pc2daeError
from pc2dae.flight.cells import longest_gap_s
from pc2dae.flight.store import is_flight, read_flight
from pc2dae.flight.stream import Stream
from pc2dae.logs.files import LogFile, find_files, lines
from pc2dae.logs.sniff import read_file
from pc2dae.suite import Suite
from pc2dae.web.intake.proposal import read_any
from pc2dae.web.intake.tables import table_heads

_FEWEST_ROWS = 30  # of a record: a shorter table is a list of calibration intervals, not a flight


@dataclass
class Part:
    """Files that are read as one flight."""

    name: str
    folder: str
    files: list[str]
    what: set[str]  # instruments; empty for a table or a flight
    first: int  # ms since 1970; 0 where the time is not known
    last: int
    rows: int
    beside: list[str] = field(default_factory=list)  # calibrations, responses and suites that apply

    def as_dict(self) -> dict[str, Any]:
        """For the page."""
        return {"name": self.name, "files": self.files, "what": sorted(self.what), "first": self.first,
                "last": self.last, "rows": self.rows, "beside": self.beside,
                "checked": self.rows >= _FEWEST_ROWS}  # fmt: skip


def parts_of(
    home: Path, names: Mapping[str, str], folders: Mapping[str, str], *, zone: str | None, suite: Suite | None
) -> list[Part]:
    """The flights among the uploads, in order of time.

    Plain tables and flights are one flight each; instruments of a folder are one flight, unless all of them pause for
    as long as no flight does; folders of different instruments that were recorded at the same time are one flight.
    """
    single: list[Part] = []
    instruments: list[Part] = []
    for path in sorted((home / "uploads").iterdir()):
        part = _part(path, names, folders, zone=zone, suite=suite)
        if part is not None:
            (instruments if part.what else single).append(part)
    found = sorted([*single, *_together(instruments)], key=lambda part: part.first)
    taken = Counter(part.name for part in found)
    for part in found:
        if taken[part.name] > 1:
            day = str(np.datetime64(part.first, "ms"))[:10]
            part.name = names.get(part.files[0], "") if len(part.files) == 1 else f"{part.name} {day}"
    stems = Counter(_stem(part.name) for part in found)
    for part in found:
        if part.name in names.values() and stems[_stem(part.name)] == 1:
            part.name = _stem(part.name)
        part.beside = _beside(home, part, folders)
    return found


def _stem(shown: str) -> str:
    return Path(shown.removesuffix(".gz")).stem


def _part(
    path: Path, names: Mapping[str, str], folders: Mapping[str, str], *, zone: str | None, suite: Suite | None
) -> Part | None:
    """A file by itself; None if nothing in it was recorded over time."""
    shown, folder = names.get(path.name, path.name), folders.get(path.name, "")
    try:
        if is_flight(path):
            time = read_flight(path, suite)["time"].values
            return Part(_stem(shown), folder, [path.name], set(), *_span([time]))
        streams = [s for file in find_files([path]) for s in _streams(file, zone=zone, suite=suite)]
    except (Pc2daeError, OSError, ValueError):
        return None
    if not streams:
        stamped = [table for table in table_heads([path]) if table.has_stamps]
        rows = sum(len(piece.texts) for table in stamped for piece in lines(table.file, []))
        return Part(_stem(shown), folder, [path.name], set(), 0, 0, rows) if rows >= _FEWEST_ROWS else None
    what = {s.key for s in streams if s.instrument != "csv"}
    name = (folder.rpartition("/")[2] or _stem(shown)) if what else _stem(shown)
    return Part(name, folder, [path.name], what, *_span([s.time for s in streams]))


def _streams(file: LogFile, *, zone: str | None, suite: Suite | None) -> list[Stream]:
    """The streams of a file, a table of an unknown payload by its time column; local time where no zone is known."""
    with suppress(Pc2daeError):
        return read_file(file, zone=zone or "UTC", suite=suite)
    with suppress(Pc2daeError):
        return [stream for table in table_heads([file.path]) for stream in read_any(table)]
    return []


def _span(times: list[np.ndarray]) -> tuple[int, int, int]:
    stamps = [time.astype("datetime64[ms]").astype(np.int64) for time in times]
    return min(int(t.min()) for t in stamps), max(int(t.max()) for t in stamps), sum(len(t) for t in stamps)


def _together(parts: list[Part]) -> list[Part]:
    """Instruments that flew together: of one folder, or recorded at the same time without an instrument in common."""
    flights: list[Part] = []
    for part in sorted(parts, key=lambda p: p.first):
        for flight in flights:
            is_near = part.folder == flight.folder and part.first - flight.last <= 1000 * longest_gap_s(1.0)
            shared = min(flight.last, part.last) - max(flight.first, part.first)
            is_shared = 2 * shared > min(flight.last - flight.first, part.last - part.first)
            if is_near or (is_shared and not flight.what & part.what):
                flight.files += part.files
                flight.what |= part.what
                flight.last, flight.rows = max(flight.last, part.last), flight.rows + part.rows
                break
        else:
            flights.append(part)
    return flights


def _beside(home: Path, part: Part, folders: Mapping[str, str]) -> list[str]:
    """Calibrations, responses, suites and factory sheets of a part: in its folder or in one above."""
    stems = {name.partition(".")[0] for name in part.files}
    logs = {path.name.partition(".")[0] for path in (home / "uploads").iterdir() if ".calibration." not in path.name}
    found = []
    places = ("calibrations/*", "responses/*", "suites/*", "uploads/*.calibration.json")
    for path in (path for place in places for path in home.glob(place)):
        folder, stem = folders.get(path.name, ""), path.name.partition(".")[0]
        is_above = part.folder == folder or part.folder.startswith(f"{folder}/") or not folder
        if stem in stems or (is_above and stem not in logs):
            found.append(f"{path.parent.name}/{path.name}")
    return sorted(found)
