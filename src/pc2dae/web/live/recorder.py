"""Records every live flight on disk as it arrives: samples, estimates and marks, as JSON lines.

recordings/flight-NAME/about.json, suite.toml, samples.jsonl, gateway.jsonl (written by our own gateway, which also
accepts what was sent while this process was down), estimates.jsonl, marks.json, calibrations/
When a flight has ended, its folder is moved to the flight's and read by a worker: see `recording`.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pc2dae.atomic import write_text
from pc2dae.edge.messages import Clean, Sample
from pc2dae.edge.sample_log import flight_folder, line_of, lines_of, open_lines
from pc2dae.errors import Pc2daeError
from pc2dae.suite import Suite
from pc2dae.web.live.live_models import Mark, RecordingState
from pc2dae.web.problems import Refused
from pc2dae.web.store import new_id, now_ms
from pc2dae.web.suites import as_toml

SILENT_S = 600.0  # without a message for this long a flight has ended
_TAIL_S = 60.0  # longest wait for the last estimates of a flight that has ended
_SYNC_S = 1.0
_OPEN = 64  # flights at a time; then the one silent for longest lands
_LANDED = 64  # ended flights whose repeated messages are recognised
_MARKS = 500  # per flight
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LivePayload:
    """What is being recorded: the suite of the readings, and how they are processed."""

    suite: Suite
    model: str
    exclude: tuple[str, ...] = ()
    calibration: tuple[Path, ...] = ()
    title: str = ""  # of the flight in the list; default: its name in the messages


class Recording:
    """The folder of one flight; an existing one is continued."""

    def __init__(self, folder: Path, flight: str, payload: LivePayload) -> None:
        self.folder, self.flight = folder, flight
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not (folder / "about.json").is_file():
            self._describe(payload)
        self.about: dict[str, Any] = json.loads((folder / "about.json").read_bytes())
        self.marks: list[Mark] = []
        with suppress(OSError, ValueError):
            self.marks = [Mark(**each) for each in json.loads((folder / "marks.json").read_bytes())]
        self.samples: set[tuple[int, int]] = set()
        self.estimates: set[tuple[int, int]] = set()
        self.track: list[tuple[int, float, float, float | None]] = []  # ms, degrees north, degrees east, m
        self.newest = self.estimated = 0  # ms since 1970
        self.motion: dict[str, float] = {}
        self.is_ended = self.is_dirty = False
        self.touched = time.monotonic()
        self.files = {name: open_lines(folder / f"{name}.jsonl") for name in ("samples", "estimates")}
        self._resume()

    def _describe(self, payload: LivePayload) -> None:
        (self.folder / "calibrations").mkdir(exist_ok=True)
        for path in payload.calibration:
            shutil.copy(path, self.folder / "calibrations")
        write_text(self.folder / "suite.toml", as_toml(payload.suite))
        about = {"id": new_id(), "flight": self.flight, "title": payload.title or self.flight, "model": payload.model,
                 "exclude": payload.exclude, "started": now_ms()}  # fmt: skip
        write_text(self.folder / "about.json", json.dumps(about))

    def _resume(self) -> None:
        for sample in lines_of(self.folder / "samples.jsonl", Sample):
            self._note_sample(sample)
        for clean in lines_of(self.folder / "estimates.jsonl", Clean):
            self._note_estimate(clean)

    def add_sample(self, sample: Sample) -> None:
        """Append a sample unless it is there."""
        if self._note_sample(sample):
            self._append("samples", line_of(sample))

    def add_estimate(self, clean: Clean) -> None:
        """Append an estimate unless it is there."""
        if self._note_estimate(clean):
            self._append("estimates", clean.model_dump_json().encode() + b"\n")

    def _note_sample(self, sample: Sample) -> bool:
        key = (sample.seq, sample.microseconds)
        is_new = key not in self.samples
        self.samples.add(key)
        at = sample.microseconds // 1000
        self.newest, self.is_ended = max(self.newest, at), self.is_ended or sample.end
        if is_new and sample.motion is not None and (motion := sample.motion.known):
            self.motion = motion
            if "latitude" in motion:
                self.track.append((at, motion["latitude"], motion["longitude"], motion.get("altitude")))
        return is_new

    def _note_estimate(self, clean: Clean) -> bool:
        at = round(clean.time.timestamp() * 1000)
        is_new = (clean.seq, at) not in self.estimates
        self.estimates.add((clean.seq, at))
        self.estimated = max(self.estimated, at)
        return is_new

    def _append(self, name: str, line: bytes) -> None:
        self.files[name].write(line)
        self.is_dirty, self.touched = True, time.monotonic()

    def add_mark(self, note: str) -> Mark:
        """Mark the time of the newest sample."""
        if len(self.marks) >= _MARKS:
            raise Refused(409, f"the flight has {_MARKS} marks already")
        mark = Mark(id=new_id(), flight=self.flight, time=self.newest or now_ms(), note=note, motion=self.motion)
        self.marks.append(mark)
        write_text(self.folder / "marks.json", json.dumps([each.model_dump() for each in self.marks]))
        return mark

    def sync(self) -> None:
        """Sync the files to disk."""
        if self.is_dirty:
            self.is_dirty = False
            for file in self.files.values():
                os.fsync(file.fileno())

    def has_ended(self, now: float) -> bool:
        """Whether nothing more is expected."""
        quiet_s = now - self.touched
        is_complete = self.estimated >= self.newest - 1000
        return quiet_s > SILENT_S or (self.is_ended and (is_complete or quiet_s > _TAIL_S))

    def close(self) -> None:
        """Sync and close the files."""
        self.sync()
        for file in self.files.values():
            file.close()


class Recorder:
    """All flights that are being recorded; `land` makes an ended one a flight of the list."""

    def __init__(self, folder: Path, payload: Callable[[str], LivePayload], land: Callable[[Recording], None]) -> None:
        self.folder, self.payload, self.land = folder, payload, land
        self.open: dict[str, Recording] = {}
        self.landed: dict[str, int] = {}  # time of the last sample by flight [ms]
        self.problem = ""
        self.task: asyncio.Task[None] | None = None

    def start(self, *, is_connected: bool) -> None:
        """Continue the recordings of the previous process, or end them if nothing more will be received."""
        with suppress(OSError, ValueError):
            self.landed = json.loads((self.folder / "landed.json").read_bytes())
        for folder in sorted(self.folder.glob("flight-*/")):
            self._open(folder.name.removeprefix("flight-"))
        if not is_connected:
            self.end_all()
        self.task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Sync everything; the next process continues."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        for recording in self.open.values():
            recording.close()
        self.open = {}

    def add_sample(self, sample: Sample) -> None:
        """Record a sample; repeated ones of an ended flight are ignored."""
        if sample.microseconds // 1000 > self.landed.get(sample.flight, -1):
            self._record(sample.flight, lambda recording: recording.add_sample(sample))

    def add_estimate(self, clean: Clean) -> None:
        """Record an estimate."""
        if round(clean.time.timestamp() * 1000) > self.landed.get(clean.flight, -1):
            self._record(clean.flight, lambda recording: recording.add_estimate(clean))

    def _record(self, flight: str, add: Callable[[Recording], None]) -> None:
        """A full disk must not stop the live view; the problem is shown with the state."""
        try:
            add(self._open(flight))
            self.problem = ""
        except OSError as error:
            self.problem = f"the flight is not recorded: {error.strerror}"

    def _open(self, flight: str) -> Recording:
        if flight not in self.open:
            if len(self.open) >= _OPEN:
                self._land(min(self.open.values(), key=lambda recording: recording.touched).flight)
            if len(self.open) >= _OPEN:
                raise OSError(errno.EMFILE, f"{_OPEN} other flights are being recorded")
            self.open[flight] = Recording(flight_folder(self.folder, flight), flight, self.payload(flight))
        return self.open[flight]

    @property
    def current(self) -> Recording | None:
        """The flight that is being received."""
        active = [recording for recording in self.open.values() if recording.samples]
        return max(active, key=lambda recording: recording.touched, default=None)

    def shown(self) -> RecordingState | None:
        """What is being recorded."""
        now = self.current
        return None if now is None else RecordingState(flight=now.flight, samples=len(now.samples))

    def mark(self, note: str) -> Mark:
        """Mark the present of the current flight."""
        if (now := self.current) is None:
            raise Refused(409, "no flight is being received", hint="connect to a broker, or replay a flight")
        return now.add_mark(note)

    def end(self, flight: str, *, is_complete: bool) -> None:
        """No more samples of this flight will come; it lands now, or when its estimates are complete."""
        if flight in self.open and is_complete:
            self._land(flight)
        elif flight in self.open:
            self.open[flight].is_ended = True

    def end_all(self) -> None:
        """Nothing more will be received: every flight lands now."""
        for flight in list(self.open):
            self._land(flight)

    def sync(self) -> None:
        """Sync all files; before an estimate is confirmed to the gateway, which then deletes it."""
        for recording in list(self.open.values()):
            with suppress(OSError, ValueError):
                recording.sync()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_SYNC_S)
            await asyncio.to_thread(self.sync)
            for flight in [name for name, each in self.open.items() if each.has_ended(time.monotonic())]:
                self._land(flight)

    def _land(self, flight: str) -> None:
        recording = self.open[flight]
        if not recording.samples and not (recording.folder / "gateway.jsonl").is_file():
            recording.close()
            del self.open[flight]
            shutil.rmtree(recording.folder, ignore_errors=True)
            return
        try:
            recording.sync()
            self.land(recording)
        except (OSError, Pc2daeError) as error:  # the queue or the disk is full: tried again
            _log.warning("flight %s is not added to the list yet: %s", flight, error)
            return
        recording.close()
        del self.open[flight]
        self.landed[flight] = recording.newest
        self.landed = dict(list(self.landed.items())[-_LANDED:])
        write_text(self.folder / "landed.json", json.dumps(self.landed))
