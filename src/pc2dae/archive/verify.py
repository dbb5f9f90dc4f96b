"""Verification of an archive: every hash is recomputed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pc2dae.archive.layout import DONE, Archive, FlightRecord
from pc2dae.archive.run import ORDER
from pc2dae.archive.sources import digest, files_of, find_sources
from pc2dae.errors import Pc2daeError
from pc2dae.suite import parse_suite

TORN, MISSING, FOREIGN, CHANGED = "torn", "missing", "foreign", "changed"
_THREADS = 4  # hashing is I/O-bound and releases the GIL


@dataclass(frozen=True)
class Finding:
    """One problem found in an archive."""

    kind: str  # torn, missing, foreign, changed
    what: str  # the flight, or the file
    why: str


def verify(archive: Archive, *, report: Callable[[int, int], None] | None = None) -> tuple[list[Finding], int]:
    """The problems of an archive, and the number of intact flights.

    torn: a file differs from what was written. missing: a flight's file does not exist, or the flight was never done.
    foreign: a file that belongs to no flight. changed: the flight's source has changed (missing sources are ignored).
    """
    done = [record for record in archive.records() if record["status"] == DONE]
    findings: list[Finding] = []
    with ThreadPoolExecutor(_THREADS) as pool:
        for count, found in enumerate(pool.map(lambda record: list(_judged(archive, record)), done), 1):
            findings += found
            if report is not None:
                report(count, len(done))
    whole = len(done) - len({finding.what for finding in findings if finding.kind in (TORN, MISSING)})
    findings += _foreign(archive, {record["flight"] for record in done})
    findings += _never_done(archive, {record["flight"] for record in done})
    return findings, whole


def _judged(archive: Archive, record: FlightRecord) -> Iterator[Finding]:
    name, source = record["flight"], Path(record["source"])
    output = archive.output(name)
    if not output.exists():
        yield Finding(MISSING, name, f"{output.name} does not exist")
    elif digest(output) != record["output_sha256"]:
        yield Finding(TORN, name, f"{output.name} differs from what was written")
    if source.exists() and digest(source) != record["source_sha256"]:
        yield Finding(CHANGED, name, f"{source} has changed since")


def _foreign(archive: Archive, names: set[str]) -> Iterator[Finding]:
    """Files in the archive that belong to no finished flight, including incomplete ones."""
    for path in archive.leftovers():
        yield Finding(FOREIGN, str(path.relative_to(archive.root)), "incomplete, left by a killed run")
    known = {archive.index, archive.response, *map(archive.output, names)}
    for path in files_of(archive.root):
        if path not in known:
            yield Finding(FOREIGN, str(path.relative_to(archive.root)), "has no marker")


def _never_done(archive: Archive, names: set[str]) -> Iterator[Finding]:
    """Flights of the source that the archive does not have, with the reason where one is known."""
    try:
        order = json.loads((archive.root / ORDER).read_text(encoding="utf-8"))
        suite = None if order["suite"] is None else parse_suite(order["suite"], where="the suite")
        sources = find_sources(Path(order["source"]), suite=suite, leave_out=archive.root)
    except (OSError, ValueError, KeyError, Pc2daeError):  # the source may have been moved
        return
    for source in sources:
        if source.name not in names:
            record = archive.record(source.name)
            yield Finding(MISSING, source.name, "not done yet" if record is None else f"failed: {record['error']}")
