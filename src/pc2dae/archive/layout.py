"""Layout of an archive: clean flights, a marker for each that is done, the index, and the lock of a run."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xarray as xr

from pc2dae.archive.sources import digest
from pc2dae.atomic import write_text
from pc2dae.errors import FlightError
from pc2dae.flight.store import ZIPPED, write_flight
from pc2dae.flight.zarr import write_zipped

FlightRecord = dict[str, Any]  # the content of a marker: the flight's index row, and more
DONE, FAILED = "done", "failed"


@dataclass(frozen=True)
class Archive:
    """A tree of clean flights with its index and markers: netCDF files, or zipped Zarr stores if it is named *.zarr."""

    root: Path

    def __post_init__(self) -> None:
        if (self.root / "zarr.json").exists():
            raise FlightError(
                f"{self.root} is a Zarr store with a folder per flight, as archives of earlier versions",
                hint="name another archive; this one can still be read, by xr.open_zarr and as SRC",
            )

    @property
    def suffix(self) -> str:
        """Of the name of a clean flight."""
        return ZIPPED if self.root.suffix == ".zarr" else ".nc"

    @property
    def index(self) -> Path:
        """The index table, one row per flight."""
        return self.root / "index.parquet"

    @property
    def response(self) -> Path:
        """The response of the payload, pooled over the flights by the first run."""
        return self.root / "response.json"

    @property
    def markers(self) -> Path:
        """Folder of markers: one JSON file per flight, written last."""
        return self.root / ".done"

    @property
    def attempts(self) -> Path:
        """Folder with a file per flight in progress, to which the time limit is reported."""
        return self.root / ".attempts"

    def output(self, name: str) -> Path:
        """The clean flight's file."""
        return self.root / f"{name}{self.suffix}"

    def write(self, flight: xr.Dataset, name: str) -> str:
        """Write a clean flight atomically; returns its SHA-256."""
        write = write_zipped if self.suffix == ZIPPED else write_flight
        write(flight, self.output(name))
        return digest(self.output(name))

    def remove(self, name: str) -> None:
        """Remove a flight whose source has changed and cannot be denoised again."""
        self.output(name).unlink(missing_ok=True)

    def marker(self, name: str) -> Path:
        """Path of the flight's marker."""
        return self.markers / f"{name}.json"

    def mark(self, record: FlightRecord) -> None:
        """Mark a flight as done or failed; for a finished one this is the last step."""
        write_text(self.marker(record["flight"]), json.dumps(record, indent=1) + "\n")

    def record(self, name: str) -> FlightRecord | None:
        """The content of the flight's marker; None if it is missing or unreadable."""
        try:
            found = json.loads(self.marker(name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and "status" in found else None

    def records(self) -> Iterator[FlightRecord]:
        """The content of all markers, in the order of the flights' names."""
        found = [p for p in self.markers.rglob("*.json") if not p.name.startswith(".")]  # hidden: still being written
        for name in sorted(str(p.relative_to(self.markers).with_suffix("")) for p in found):
            record = self.record(name)
            if record is not None:
                yield record

    def prepare(self) -> None:
        """Create the folders and remove the leftovers of a killed run."""
        self.markers.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self.attempts, ignore_errors=True)
        for path in self.leftovers():
            path.unlink(missing_ok=True)

    def leftovers(self) -> list[Path]:
        """Temporary files of writers that were killed."""
        ending = self.suffix.removeprefix(".zarr")  # temporary names repeat only the last one
        hidden = [p for p in self.root.rglob(f".*{ending}") if p.is_file()]
        return sorted([*hidden, *self.root.glob(".index.parquet.*"), *self.markers.rglob(".*.json")])

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the archive for one run; the lock is released when the process exits, even if it is killed."""
        self.root.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise FlightError(f"another run is using {self.root}", hint="wait for it, or stop it") from None
        try:
            yield
        finally:
            os.close(handle)


def open_archive(root: Path) -> Archive:
    """An existing archive."""
    archive = Archive(root)
    if not archive.markers.is_dir():
        raise FlightError(f"{root} is not an archive", hint="make one with `pc2dae archive denoise SRC DST`")
    return archive
