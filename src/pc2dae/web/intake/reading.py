"""Reading of a flight's uploads in a worker, and the questions that are asked where the files leave something open."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from pc2dae import pipeline
from pc2dae.align.gaps import SeveralFlights
from pc2dae.calibration.budget import budget_of
from pc2dae.calibration.curve import KIND
from pc2dae.errors import LogError, Pc2daeError
from pc2dae.flight.schema import suite_of
from pc2dae.flight.store import is_flight
from pc2dae.logs.csv import HeadlessTable, fits
from pc2dae.logs.files import lines
from pc2dae.response.payload import KIND as RESPONSE_KIND
from pc2dae.response.payload import read_response
from pc2dae.response.pooling import completed
from pc2dae.suite import Suite, load_suite
from pc2dae.web.facts import write_json
from pc2dae.web.intake.campaign import parts_of
from pc2dae.web.intake.proposal import propose, zone_question
from pc2dae.web.intake.tables import TableHead, columns_of, table_heads
from pc2dae.web.schemas import Choice, Question

_CALIBRATION_BYTES = 1_000_000  # largest calibration file: one of ten channels has 20 kB
Result = dict[str, Any]


@dataclass(frozen=True)
class How:
    """How the user wants a flight's files to be read; see `schemas.ReadAgain`."""

    suite: str | None = None  # preset or path
    zone: str | None = None
    offsets: dict[str, float] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    salvage: bool = False
    period: tuple[int | None, int | None] = (None, None)  # ms since 1970
    names: str | None = None  # of the columns of a table without a header
    several: bool = False  # whether to ask if the files are several flights
    saved: dict[str, str] = field(default_factory=dict)  # suites of the station by the fingerprint of a header


def read_uploads(home: Path, how: How, names: Mapping[str, str]) -> tuple[xr.Dataset, Result]:
    """The flight in the uploads, and the report of its files; `names` are those of the files as uploaded."""
    curves, response = calibrations(home), _response(home)
    found_suite = _uploaded_suite(home)
    if how.names is not None:
        _add_header(home, how.names)
    suite = how.suite or found_suite
    if how.several:
        _ask_how_many(home, names, how, suite)
    notes = [f"read with the suite in {Path(suite).name}"] if suite is not None and suite == found_suite else []
    saved = None
    if suite is None:
        headers = [table.fingerprint for table in table_heads(list((home / "uploads").iterdir()))]
        saved = next((how.saved[header] for header in headers if header in how.saved), None)
    flight, found = _read(home, how, saved or suite, curves)
    if response is not None:
        flight = completed(flight, read_response(response))
        notes = [*notes, f"response of its channels from {names.get(response.name, response.name)}"]
    found["notes"] = [*found["notes"], *notes, *_calibrated(flight)]
    return flight, found | {"saved_suite": Path(saved).stem if saved is not None else None}


def questions_about(error: Pc2daeError, home: Path, how: How, names: Mapping[str, str]) -> Result:
    """What to ask after files could not be read: questions, columns, and a mapping where a table's header gives one."""
    tables = table_heads(list((home / "uploads").iterdir()))
    found: Result = columns_of([table for table in tables if not table.is_headless]) | {"proposal": None}
    if isinstance(error, HowMany):
        return found | {"questions": [error.question]}
    if isinstance(error, SeveralFlights):
        return found | {"questions": [_split_question(error)]}
    if how.suite is None and _is_unknown(error):
        headless = [table for table in tables if table.is_headless]
        for table in tables:
            if not table.is_headless and (proposed := propose(table)) is not None:
                mapping, questions = proposed
                return found | {"proposal": mapping.model_dump(), "questions": [q.model_dump() for q in questions]}
        if headless:
            return found | {"questions": [_names_question(headless[0]).model_dump()]}
    if "carry no time zone" in str(error):
        text = " ".join([str(error), *names.values()])
        return found | {"questions": [zone_question(text).model_dump()]}
    return found | {"questions": []}


class HowMany(LogError):
    """The upload seems to hold several flights."""

    question: Result


def _ask_how_many(home: Path, names: Mapping[str, str], how: How, suite: str | None) -> None:
    folders = json.loads((home / "folders.json").read_text())
    parts = parts_of(home, names, folders, zone=how.zone, suite=load_suite(suite) if suite is not None else None)
    if len(parts) < 2:
        return
    write_json(home / "parts.json", [part.as_dict() for part in parts])
    error = HowMany(f"{len(parts)} flights in this upload", hint="confirm the list below")
    choices = [Choice(value=str(i), words=part.name) for i, part in enumerate(parts)]
    choices.append(Choice(value="one", words="read all files as one flight"))
    words = "Which flights should be read?"
    error.question = Question(id="flights", kind="flights", words=words, choices=choices).model_dump()
    raise error


def _split_question(error: SeveralFlights) -> Result:
    stamps = [int(after.astype("datetime64[ms]").astype(np.int64)) for _, after in error.pauses]
    pauses = [f"{str(a)[:16].replace('T', ' ')} to {str(b)[:16].replace('T', ' ')}" for a, b in error.pauses[:4]]
    choice = Choice(value=",".join(map(str, stamps)), words=f"split into {len(stamps) + 1} flights")
    words = f"Nothing was recorded from {', and from '.join(pauses)} UTC. Are these several flights?"
    return Question(id="split", kind="split", words=words, choices=[choice]).model_dump()


def _names_question(table: TableHead) -> Question:
    return Question(
        id="names", kind="names", column=table.file.path.name, examples=[", ".join(table.header)[:200]],
        words=f"The file has no line of column names. What are its {len(table.header)} columns called, with commas"
        " between them?",
    )  # fmt: skip


def _is_unknown(error: Pc2daeError) -> bool:
    is_foreign = any(words in str(error) for words in ("unknown instrument", "nothing readable", "neither a known"))
    return is_foreign or isinstance(error, HeadlessTable)


def _read(home: Path, how: How, suite: str | None, curves: list[Path]) -> tuple[xr.Dataset, Result]:
    files = sorted((home / "uploads").iterdir())
    ours = [file for file in files if is_flight(file)]
    period = _stamp(how.period[0]), _stamp(how.period[1])
    if ours and len(files) > 1 and any(file.suffix == ".nc" for file in ours):
        raise LogError("a netCDF flight cannot be combined with other files", hint="drop it alone")
    if len(files) == 1 and ours:
        flight = pipeline.open_flight(files[0], suite=suite, zone=how.zone, calibration=curves, metadata=how.metadata)
        flight = flight.sel(time=slice(period[0], None if period[1] is None else period[1] - np.timedelta64(1, "ms")))
        found: Result = {"suite": json.loads(flight.attrs["suite"])["name"], "sources": [], "ignored": []}
        return flight, found | {"notes": [f"a flight at level {flight.attrs['level']}"]}
    given = files if len(files) == 1 else [home / "uploads"]
    flight, intake = pipeline.ingest(
        given, suite=suite, zone=how.zone, calibration=curves, offsets=how.offsets, metadata=how.metadata,
        salvage=how.salvage, period=period,
    )  # fmt: skip
    return flight, intake.as_dict() | {"notes": [*intake.notes]}


def _stamp(ms: int | None) -> np.datetime64 | None:
    return None if ms is None else np.datetime64(ms, "ms").astype("datetime64[ns]")


def calibrations(home: Path) -> list[Path]:
    """Calibration files among the uploads; they are moved to their own folder, since they are no logs."""
    for file in (home / "uploads").glob("*.json"):
        if file.stat().st_size <= _CALIBRATION_BYTES and KIND.encode() in file.read_bytes():
            _move(file, home / "calibrations")
    return sorted((home / "calibrations").glob("*.json"))


def _response(home: Path) -> Path | None:
    """The response file among the uploads, moved to its own folder."""
    for file in (home / "uploads").glob("*.json"):
        if file.stat().st_size <= _CALIBRATION_BYTES and RESPONSE_KIND.encode() in file.read_bytes():
            _move(file, home / "responses")
    return next(iter(sorted((home / "responses").glob("*.json"))), None)


def _uploaded_suite(home: Path) -> str | None:
    """The suite among the uploads, moved to its own folder; of several the first whose columns are in a table."""
    for file in (home / "uploads").glob("*.toml"):
        _move(file, home / "suites")
    paths = sorted((home / "suites").glob("*.toml"))
    suites: list[tuple[Path, Suite]] = [(path, load_suite(path)) for path in paths]
    if len(suites) < 2:
        return str(paths[0]) if paths else None
    tables = table_heads(list((home / "uploads").iterdir()))
    fitting = [path for path, suite in suites if suite.sources or any(fits(table.head, suite) for table in tables)]
    return str((fitting or paths)[0])


def _add_header(home: Path, text: str) -> None:
    """Put a line of column names before tables that have none; the originals are kept beside the uploads."""
    names = [name.strip() for name in text.split(",")]
    for table in table_heads(list((home / "uploads").iterdir())):
        if not table.is_headless or table.file.member is not None:
            continue
        if len(names) != len(table.header):
            raise LogError(f"{len(names)} names for {len(table.header)} columns of {table.file.path.name}",
                           hint="name every column, with commas between them")  # fmt: skip
        rows = [row for piece in lines(table.file, []) for row in piece.texts]
        original = _move(table.file.path, home / "originals")
        separator = next((s for s in (",", ";", "\t") if s in rows[0]), ",")
        plain = table.file.path.with_name(original.name.removesuffix(".gz"))
        plain.write_text("\n".join([separator.join(names), *rows]) + "\n", encoding="utf-8")


def _move(file: Path, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return Path(shutil.move(file, folder / file.name))


def _calibrated(flight: xr.Dataset) -> list[str]:
    """One line for each calibration, with its channels."""
    found: dict[str, list[str]] = {}
    for name in suite_of(flight).names:
        if budget_of(flight, name) is not None:
            found.setdefault(str(flight[name].attrs["calibration"]), []).append(name)
    return [f"calibrated {', '.join(names)} with {label}" for label, names in found.items()]
