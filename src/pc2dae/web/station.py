"""The ground station: uploads, runs, finished jobs, restarts."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Any

from pc2dae.atomic import write_text
from pc2dae.errors import Pc2daeError, nearest
from pc2dae.web.forks import Template, end_process, start_process
from pc2dae.web.intake.repair import check_zone, field_of, parts_at, parts_chosen, settle, split_off
from pc2dae.web.intake.uploads import Upload
from pc2dae.web.jobs import Jobs, QueueFull, Spec
from pc2dae.web.live.live import Live
from pc2dae.web.live.recorder import Recording
from pc2dae.web.methods import LIVE, METHODS
from pc2dae.web.problems import Refused, nothing
from pc2dae.web.schemas import Details, Flight, FlightMark, Question, ReadAgain, Run, ServerJob, Split
from pc2dae.web.settings import MODEL, Settings
from pc2dae.web.store import Store, new_id, now_ms
from pc2dae.web.suites import Suites

FORMATS = {"nc": "application/x-netcdf", "csv": "text/csv; charset=utf-8", "ict": "text/plain; charset=utf-8",
           "html": "text/html; charset=utf-8"}  # fmt: skip
_TRIES = 2  # retries of a job that was unfinished when the server stopped
_GATE_S = 8.0
_ROOM = 3  # free disk space required for an upload, in multiples of the largest upload


class Station:
    """The state of a running server."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = Store(settings.data)
        self.suites = Suites(settings.data / "suites")
        self.template = Template()
        self.jobs = Jobs(settings.limits, self.template, on_start=self._on_start, finish=self._finish,
                         workers=settings.workers)  # fmt: skip
        self.live = Live(settings, self.suites, template=self.template, land=self._land)
        self.exports: dict[tuple[str, str | None, str], ServerJob] = {}

    async def start(self) -> None:
        """Resume unfinished jobs after a stop or crash, and create the gallery."""
        await self.template.start()
        self.jobs.start()
        for flight in self.store.listed():
            self._resume(flight)
        for failed in [f for f in self.store.listed() if f.gallery and f.state == "failed"]:
            self.store.delete(failed.id)
        if self.settings.gallery and not any(f.gallery for f in self.store.flights.values()):
            flight = Flight(id=new_id(), name="A simulated flight", state="queued", created=now_ms(), gallery=True)
            self._begin(flight, "gallery")
        await self.live.start()

    def close_streams(self) -> None:
        """Close event streams before the server stops."""
        self.live.feed.buffer.close()
        self.jobs.close()

    async def stop(self) -> None:
        """Shut down cleanly."""
        await self.live.stop()
        await asyncio.gather(self.jobs.stop(), self.template.stop())  # not in turn: it may be importing still

    # ── flights ──

    def flight(self, number: str) -> Flight:
        """The flight with this identifier."""
        if (found := self.store.flights.get(number)) is None:
            raise nothing("flight", number)
        return found

    def run(self, flight: str, number: str) -> Run:
        """The run with this identifier."""
        self.flight(flight)
        if (found := self.store.runs.get(flight, {}).get(number)) is None:
            raise nothing("run", number)
        return found

    def describe(self, flight: Flight, details: Details) -> Flight:
        """Change what a flight is called and described as."""
        if details.name is not None:
            flight.name = _printable(details.name)[:80].strip() or flight.name
        if details.notes is not None:
            flight.notes = details.notes
        if details.tags is not None:
            flight.tags = list(dict.fromkeys(tag.strip() for tag in details.tags if tag.strip()))
        self.store.save(flight)
        return flight

    def check_room(self) -> None:
        """Refuse an upload in advance if there is not enough disk space for it."""
        self.jobs.check_room()
        if self._is_full():
            self.store.purge(0)
        if self._is_full():
            raise Refused(413, "the disk is nearly full", hint="delete flights that are no longer needed")

    def _is_full(self) -> bool:
        return shutil.disk_usage(self.settings.data).free < _ROOM * self.settings.limits.upload_bytes

    async def check_files(self, folder: Path) -> None:
        """Check an upload in a child process; refuse hostile or useless files."""
        limits = self.settings.limits
        bounds = (limits.members, limits.unpacked_bytes, limits.unpacked_ratio)
        child = await start_process("pc2dae.web.intake.upload_check", str(folder), *map(str, bounds))
        try:
            async with asyncio.timeout(_GATE_S):
                stdout, _ = await child.communicate()
            verdict = json.loads(stdout)
        except (TimeoutError, ValueError):
            verdict = (422, "the files could not be checked", "drop the instruments' files as they are")
        finally:
            await end_process(child)
        if verdict is not None:
            raise Refused(verdict[0], verdict[1], hint=verdict[2])

    def accept(self, number: str, upload: Upload) -> tuple[Flight, ServerJob]:
        """Create a flight from uploaded files."""
        suite = upload.fields.get("suite") or None
        self.suites.check(suite)
        zone = upload.fields.get("zone") or None
        check_zone(zone)
        name = _title(upload.fields.get("name", "")) or _title(upload.title) or "flight"
        folder = self.store.folder(number)
        (folder / "names.json").write_text(json.dumps(upload.names))
        (folder / "folders.json").write_text(json.dumps(upload.paths))
        flight = Flight(
            id=number, name=name, state="queued", created=now_ms(), suite=suite, zone=zone, files=upload.files,
            how=ReadAgain(suite=suite, zone=zone), several=upload.fields.get("several") == "ask",
        )  # fmt: skip
        return flight, self._begin(flight, "intake")

    def again(self, flight: Flight, how: ReadAgain) -> ServerJob:
        """Read a flight's files again in another way; the wish is kept even if it is refused."""
        self.jobs.check_room()
        if flight.gallery or not (self.store.folder(flight.id) / "uploads").is_dir():
            raise Refused(409, "the files of this flight are not available", hint="upload them again")
        if flight.state in ("queued", "working"):
            raise Refused(409, "the flight is being read already")
        flight.how = how
        try:
            flight.how = settle(self.suites, flight, how, self.store.facts(flight.id, name="intake") or {})
        except Pc2daeError as error:
            self._note_problem(flight, Exception.__str__(error), error.hint)
            raise
        flight.several = flight.several and how.answers.get("flights") != "one"
        for run in self.store.runs_of(flight.id):
            self.store.delete(flight.id, run.id)
        for stale in ("facts.json", "intake.json"):
            (self.store.folder(flight.id) / stale).unlink(missing_ok=True)
        flight.suite, flight.zone, flight.attempts, flight.default_run = flight.how.suite, flight.how.zone, 0, None
        return self._begin(flight, "intake")

    def _land(self, recording: Recording) -> None:
        """Make a recorded flight one of the list; repeated after a crash, nothing is lost or done twice."""
        self.jobs.check_room()
        about = recording.about
        marks = [FlightMark(time=m.time, note=m.note, motion=m.motion) for m in recording.marks]
        flight = Flight(id=about["id"], name=_title(about["title"]), state="queued", created=about["started"],
                        recorded=True, marks=marks)  # fmt: skip
        self.store.save(flight)
        folder = self.store.folder(flight.id)
        write_text(folder / "names.json", "{}")
        recording.folder.rename(folder / "recording")
        self._begin(flight, "intake")

    def split(self, flight: Flight, how: Split) -> list[Flight]:
        """Read parts of a flight as flights of their own; the files stay with the flight too."""
        if flight.gallery or flight.state in ("queued", "working"):
            raise Refused(409, "the flight cannot be split now", hint="wait until it is read")
        parts = parts_at(flight, how.at) if how.at else parts_chosen(self.store, flight, how.parts)
        if self.jobs.waiting + len(parts) > self.settings.limits.queue:
            raise QueueFull(f"{len(parts)} flights, {self.jobs.waiting} jobs are waiting", hint="choose fewer")
        made = [split_off(self.store, flight, part) for part in parts]
        for one in made:
            self._begin(one, "intake")
        return made

    def _note_problem(self, flight: Flight, error: str | None, hint: str | None) -> None:
        flight.error, flight.hint, flight.field = error, hint, field_of(error or "")
        self.store.save(flight)

    def _begin(self, flight: Flight, kind: Any, *, job: str | None = None) -> ServerJob:
        """Queue the job that reads a flight's files and makes its first run."""
        run = new_id()
        flight.state, flight.job, flight.error, flight.hint = "queued", job or new_id(), None, None
        flight.field, flight.saved_suite, flight.questions = None, None, []
        self.store.save(flight)
        folder = self.store.folder(flight.id)
        spec: Spec = {"folder": str(folder), "run": run, "model": MODEL, "title": slug(flight.name)}
        if kind == "intake":
            names = json.loads((folder / "names.json").read_text())
            suite = str(self.suites.source(flight.suite)) if flight.suite is not None else None
            wish = flight.how
            how = {"suite": suite, "zone": flight.zone, "offsets": wish.offsets, "metadata": wish.metadata,
                   "salvage": wish.salvage, "period": flight.period, "names": wish.answers.get("names"),
                   "several": flight.several, "saved": self.suites.by_header() if wish.find_suite else {}}  # fmt: skip
            spec |= {"names": names, "how": how}
            if flight.recorded:
                spec["live"] = new_id()
        return self.jobs.add(ServerJob(id=flight.job, kind=kind, flight=flight.id, run=run), spec)

    def _resume(self, flight: Flight) -> None:
        """Requeue waiting and running jobs; one that was already retried twice is marked as failed."""
        records: list[Flight | Run] = [flight, *self.store.runs_of(flight.id)]
        for record in records:
            if record.state not in ("queued", "working"):
                continue
            record.attempts += 1
            if record.attempts >= _TRIES + 1:
                record.state, record.error, record.hint = "failed", "the server stopped while working on it", None
                self.store.save(record)
            elif isinstance(record, Flight):
                self._begin(record, "gallery" if record.gallery else "intake", job=record.job)
            else:
                self._queue_run(record)

    # ── runs ──

    def want_run(self, flight: Flight, method: str, strength: float) -> tuple[Run, ServerJob | None]:
        """The run of a method, queued if it does not exist."""
        if flight.state != "ready":
            raise Refused(409, "the flight is not ready", hint="wait for its job")
        if method not in METHODS:
            raise Refused(422, f"unknown method '{method[:40]}'", hint=nearest(method, METHODS))
        strength = 1.0 if method == LIVE.name else round(strength, 2)
        if (known := self.store.find_run(flight.id, method, strength)) is not None:
            return known, self.jobs.jobs.get(known.job or "") if known.state != "ready" else None
        if method == LIVE.name:
            raise Refused(409, "no estimates were received live for this flight", hint="choose another method")
        self.jobs.check_room()
        for failed in [r for r in self.store.runs_of(flight.id) if (r.method, r.strength) == (method, strength)]:
            self.store.delete(flight.id, failed.id)
        run = Run(id=new_id(), flight=flight.id, method=method, strength=strength, state="queued", created=now_ms())
        return run, self._queue_run(run)

    def _queue_run(self, run: Run) -> ServerJob:
        run.state, run.job = "queued", run.job or new_id()
        self.store.save(run)
        full = self.store.find_run(run.flight, run.method, 1.0)
        known = full.id if full is not None and full.state == "ready" and run.strength != 1.0 else None
        spec = {"folder": str(self.store.folder(run.flight)), "run": run.id, "model": run.method,
                "strength": run.strength, "full": known}  # fmt: skip
        return self.jobs.add(ServerJob(id=run.job, kind="run", flight=run.flight, run=run.id), spec)

    def state_clean_air(self, run: Run, periods: list[tuple[float, float]]) -> ServerJob:
        """A job that states the clean air of a run and looks for its plumes again."""
        self.jobs.check_room()
        spec = {"folder": str(self.store.folder(run.flight)), "run": run.id, "periods": [sorted(p) for p in periods]}
        return self.jobs.add(ServerJob(id=new_id(), kind="clean_air", flight=run.flight, run=run.id), spec)

    async def export(self, flight: Flight, run: Run | None, form: str) -> Path:
        """A flight or run as a file, exported by a worker on first request."""
        folder = self.store.folder(flight.id, run.id if run is not None else None)
        stem = "clean" if run is not None else "flight"
        path = folder / f"{stem}.{form}"
        if path.is_file():
            return path
        key = (flight.id, run.id if run is not None else None, form)
        if (job := self.exports.get(key)) is None:
            self.jobs.check_room()
            job = ServerJob(id=new_id(), kind="export", flight=flight.id, run=key[1])
            spec = {"folder": str(self.store.folder(flight.id)), "run": key[1], "form": form, "path": str(path)}
            self.exports[key] = self.jobs.add(job, spec)
        try:
            async for _ in self.jobs.follow(job):
                pass
        finally:
            if job.state not in ("queued", "working"):
                self.exports.pop(key, None)
        if not path.is_file():
            raise Refused(422, job.error or "the file could not be written", hint=job.hint)
        return path

    # ── job callbacks ──

    def _on_start(self, job: ServerJob) -> None:
        """Mark the record of a started job as in progress."""
        record: Flight | Run | None = self.store.flights.get(job.flight)
        if job.kind == "run":
            record = self.store.runs.get(job.flight, {}).get(str(job.run))
        if record is not None and job.kind not in ("export", "clean_air"):
            record.state = "working"
            self.store.save(record)

    async def _finish(self, job: ServerJob, result: dict[str, Any] | None) -> None:
        if job.kind in ("export", "clean_air") or (flight := self.store.flights.get(job.flight)) is None:
            return
        if job.kind == "run":
            self._finish_run(self.store.runs[job.flight].get(str(job.run)), job)
            return
        flight.job = None
        facts = self.store.facts(flight.id) if result is not None else None
        intake = self.store.facts(flight.id, name="intake") or {}
        if facts is None:
            flight.state = "failed"
            flight.questions = [Question.model_validate(question) for question in intake.get("questions", [])]
            self._note_problem(flight, job.error, job.hint)
            return
        flight.state, flight.suite = "ready", flight.suite or facts["suite"]
        flight.start, flight.end, flight.span_s = facts["start"], facts["end"], facts["span_s"]
        outcome = result or {}
        flight.saved_suite = outcome.get("saved")
        run = Run(id=str(job.run), flight=flight.id, method=outcome.get("method", MODEL), state="ready",
                  strength=outcome.get("strength", 1.0), created=now_ms(), seconds=outcome.get("seconds"))  # fmt: skip
        if "run_error" in outcome:
            run.state, run.error, run.hint = "failed", outcome["run_error"], outcome["run_hint"]
        else:
            flight.default_run = run.id
        self.store.save(run)
        if "live" in outcome:
            self.store.save(Run(id=outcome["live"], flight=flight.id, method=LIVE.name, strength=1.0, state="ready",
                                created=now_ms()))  # fmt: skip
        self.store.save(flight)
        if flight.how.suite is not None:
            self.suites.learn(flight.how.suite, intake.get("headers", []))
            self._read_alike(intake.get("headers", []))

    def _read_alike(self, headers: list[str]) -> None:
        """Read other flights whose columns were asked about and are known now."""
        for other in self.store.listed():
            asks = any(question.kind in ("zone", "time", "unit", "altitude", "same") for question in other.questions)
            stored = self.store.facts(other.id, name="intake") or {} if asks else {}
            if set(stored.get("headers", [])) & set(headers) and self.jobs.waiting < self.settings.limits.queue:
                self.again(other, ReadAgain())

    def _finish_run(self, run: Run | None, job: ServerJob) -> None:
        if run is None:
            return
        if job.state == "cancelled":
            self.store.delete(run.flight, run.id)
            return
        run.state = "ready" if job.state == "done" else "failed"
        run.error, run.hint, run.job = job.error, job.hint, None
        self.store.save(run)

    async def delete(self, flight: Flight, run: Run | None = None) -> None:
        """Delete a flight or a run; its jobs are cancelled first."""
        if flight.gallery and run is None:
            raise Refused(409, "the gallery's flight cannot be deleted")
        for job in [j for j in self.jobs.jobs.values() if j.flight == flight.id]:
            if job.state in ("queued", "working") and (run is None or job.run == run.id):
                await self.jobs.cancel(job)
        if run is None:
            self.store.put_aside(flight.id)
        elif run.id in self.store.runs.get(flight.id, {}):
            self.store.delete(flight.id, run.id)
            if flight.default_run == run.id:
                flight.default_run = None
                self.store.save(flight)


def _title(text: str) -> str:
    """A display name: printable, limited in length, without a known file extension."""
    shown = _printable(text)[:80].strip()
    return re.sub(r"\.(csv|txt|log|bin|nc|ict|zip|gz)$", "", shown, flags=re.IGNORECASE)


def slug(text: str) -> str:
    """A name that is safe in file names."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:60] or "flight"


def _printable(text: str) -> str:
    return "".join(c for c in text if c.isprintable())
