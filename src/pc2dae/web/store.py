"""Flights and runs in the data folder: one folder each, with an atomically written record.

flights/ID/record.json, uploads/, flight.nc, …; flights/ID/runs/RUN/record.json, clean.nc, …; suites/NAME.toml
deleted/ID/… for a day, in which a flight can be restored.
Only identifiers generated here are used in paths.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import shutil
import time
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pc2dae.atomic import write_text
from pc2dae.errors import Pc2daeError
from pc2dae.web.problems import Refused
from pc2dae.web.schemas import Flight, Run

_log = logging.getLogger(__name__)
_KEPT_MS = 86_400_000  # a deleted flight
_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")


def new_id() -> str:
    """A random identifier."""
    return secrets.token_urlsafe(16)


def now_ms() -> int:
    """Milliseconds since 1970."""
    return int(time.time() * 1000)


class Store:
    """The contents of the data folder; records are cached in memory and written on every change."""

    def __init__(self, data: Path) -> None:
        self.home, self.aside = data / "flights", data / "deleted"
        try:
            for folder in (self.home, self.aside):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise Pc2daeError(f"the data folder {data} cannot be used ({error.strerror})",
                              hint="name another folder with --data") from None  # fmt: skip
        self.flights: dict[str, Flight] = {}
        self.runs: dict[str, dict[str, Run]] = {}
        for folder in self.home.iterdir():
            self._load(folder)
        self.purge()

    def folder(self, flight: str, run: str | None = None) -> Path:
        """The folder of a flight or of one of its runs."""
        if not _ID.fullmatch(flight) or (run is not None and not _ID.fullmatch(run)):
            raise KeyError(flight)
        return self.home / flight if run is None else self.home / flight / "runs" / run

    def save(self, record: Flight | Run) -> None:
        """Store a new or changed record."""
        if isinstance(record, Flight):
            self.flights[record.id] = record
            folder = self.folder(record.id)
        else:
            if record.flight not in self.flights:
                return  # deleted while its job was ending
            self.runs.setdefault(record.flight, {})[record.id] = record
            folder = self.folder(record.flight, record.id)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_text(folder / "record.json", record.model_dump_json(indent=1))

    def listed(self) -> list[Flight]:
        """All flights, newest first, the gallery's last."""
        return sorted(self.flights.values(), key=lambda f: (f.gallery, -f.created))

    def runs_of(self, flight: str) -> list[Run]:
        """A flight's runs in the order in which they were requested."""
        return sorted(self.runs.get(flight, {}).values(), key=lambda r: r.created)

    def find_run(self, flight: str, method: str, strength: float) -> Run | None:
        """An existing run with the same method and strength, unless it failed."""
        same = [r for r in self.runs_of(flight) if (r.method, r.strength) == (method, strength)]
        return next((r for r in same if r.state != "failed"), None)

    def put_aside(self, flight: str) -> None:
        """Delete a flight with all its runs, so that it can be restored for a day."""
        record = self.flights[flight]
        record.deleted = now_ms()
        self.save(record)
        del self.flights[flight]
        self.runs.pop(flight, None)
        self.folder(flight).rename(self.aside / flight)
        self.purge()

    def restore(self, flight: str) -> Flight:
        """A deleted flight, listed again with its runs."""
        folder = self.folder(flight)
        try:
            (self.aside / flight).rename(folder)
        except OSError:
            raise Refused(404, "no deleted flight with this id", hint="flights are kept for a day") from None
        self._load(folder)
        self.save(self.flights[flight])
        return self.flights[flight]

    def purge(self, kept_ms: int = _KEPT_MS) -> None:
        """Remove flights for good that were deleted `kept_ms` ago."""
        for folder in self.aside.iterdir():
            try:
                gone = Flight.model_validate_json((folder / "record.json").read_bytes()).deleted or 0
            except (OSError, ValidationError):
                gone = 0
            if now_ms() - gone >= kept_ms:
                shutil.rmtree(folder, ignore_errors=True)

    def delete(self, flight: str, run: str | None = None) -> None:
        """Delete a flight with all its runs, or one run, for good."""
        folder = self.folder(flight, run)
        if run is None:
            del self.flights[flight]
            self.runs.pop(flight, None)
        else:
            self.runs[flight].pop(run)
        (folder / "record.json").unlink(missing_ok=True)  # first: a partly deleted folder is not a flight
        shutil.rmtree(folder, ignore_errors=True)

    def discard(self, flight: str) -> None:
        """Remove the files of a refused upload."""
        shutil.rmtree(self.folder(flight), ignore_errors=True)

    def facts(self, flight: str, run: str | None = None, *, name: str = "facts") -> Any:
        """A JSON file that a worker wrote for a flight or run; None if it does not exist."""
        path = self.folder(flight, run) / f"{name}.json"
        try:
            return json.loads(path.read_bytes()) if path.is_file() else None
        except ValueError:
            raise Refused(409, f"{path.name} of this flight is damaged", hint="drop its files again") from None

    def _load(self, folder: Path) -> None:
        """Read a flight's records; a folder without one is left over from an interrupted upload or deletion."""
        try:
            flight = Flight.model_validate_json((folder / "record.json").read_bytes())
        except FileNotFoundError:
            shutil.rmtree(folder, ignore_errors=True)
            return
        except (OSError, ValidationError):
            _log.warning("%s cannot be read: the flight is not listed, its files are kept", folder / "record.json")
            return
        flight.deleted = None  # restored, or the server stopped before the folder was moved
        self.flights[flight.id] = flight
        self.runs[flight.id] = {}
        for path in (folder / "runs").glob("*/record.json"):
            try:
                run = Run.model_validate_json(path.read_bytes())
            except (OSError, ValidationError):
                _log.warning("%s cannot be read: the run is not listed, its files are kept", path)
                continue
            self.runs[flight.id][run.id] = run
