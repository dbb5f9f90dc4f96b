"""How a flight is read again: answers and wishes become a suite and a zone; and flights split off from another."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pc2dae.web.problems import Refused
from pc2dae.web.schemas import Flight, MappedChannel, Mapping, Question, ReadAgain
from pc2dae.web.store import Store, new_id, now_ms
from pc2dae.web.suites import Suites

IGNORE, BOTH = "ignore", "both"
_OFFSET = re.compile(r"[+-]\d\d:\d\d")
_FILE = re.compile(r"(uploads|calibrations|responses|suites)/[\w.-]+")
_CHOSEN = ("flights", "names", "zone")  # answers that are not about the mapping


def settle(suites: Suites, flight: Flight, how: ReadAgain, intake: dict[str, Any]) -> ReadAgain:
    """The wish with its answers put into suite and zone; a mapping is saved as a suite."""
    chosen = {key: value for key, value in how.answers.items() if key not in _CHOSEN}
    zone = how.zone or how.answers.get("zone", "").strip() or (flight.zone if how.answers else None)
    check_zone(zone)
    mapping = how.mapping
    if mapping is None and intake.get("proposal") is not None and (chosen or how.answers.get("zone")):
        asked = [question for question in flight.questions if question.kind != "names"]
        mapping = answered(Mapping.model_validate(intake["proposal"]), asked, how.answers)
    suite = how.suite
    if mapping is not None:
        check_zone(mapping.zone)
        suite = suite or suites.free_name(flight.name)
        suites.save(suite, mapping)
    elif suite is None and how.answers:
        suite = flight.suite
    suites.check(suite)
    return how.model_copy(update={"suite": suite, "zone": zone, "mapping": mapping})


def check_zone(zone: str | None) -> None:
    """Refuse an unknown time zone."""
    if zone is None or _OFFSET.fullmatch(zone):
        return
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Refused(422, f"unknown time zone '{zone[:64]}'",
                      hint='write "UTC", "-05:00" or "America/Regina"') from None  # fmt: skip


def parts_at(flight: Flight, at: list[int]) -> list[dict[str, Any]]:
    """The parts of a flight between moments [ms since 1970], each with all its files."""
    first, end = flight.period
    inside = sorted({moment for moment in at if (first is None or moment > first) and (end is None or moment < end)})
    if not inside:
        raise Refused(422, "no moment to split at", hint="give at least one within the flight")
    edges = [first, *inside, end]
    return [{"name": f"{flight.name}, part {i + 1}", "period": (edges[i], edges[i + 1]), "files": None}
            for i in range(len(edges) - 1)]  # fmt: skip


def parts_chosen(store: Store, flight: Flight, chosen: list[int]) -> list[dict[str, Any]]:
    """The flights of a campaign that the user confirmed."""
    parts = store.facts(flight.id, name="parts") or []
    if not chosen or not all(0 <= number < len(parts) for number in chosen):
        raise Refused(422, "unknown part of this upload", hint=f"it has {len(parts)} parts, the first is 0")
    return [parts[number] | {"period": flight.period} for number in dict.fromkeys(chosen)]


def split_off(store: Store, flight: Flight, part: dict[str, Any]) -> Flight:
    """A new flight from files of another one, which keeps them: they are linked, not moved."""
    home, number = store.folder(flight.id), new_id()
    there = store.folder(number)
    if part["files"] is None:
        given = [
            str(p.relative_to(home)) for kind in ("uploads", "calibrations", "responses", "suites")
            for p in home.glob(f"{kind}/*")
        ]  # fmt: skip
    else:
        given = [*(f"uploads/{name}" for name in part["files"]), *part["beside"]]
    for name in given:
        if _FILE.fullmatch(name) is None:
            raise Refused(409, "parts.json of this flight is damaged", hint="drop its files again")
        (there / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.link(home / name, there / name)
    names: dict[str, str] = json.loads((home / "names.json").read_text())
    kept = {ours: theirs for ours, theirs in names.items() if any(Path(name).name == ours for name in given)}
    (there / "names.json").write_text(json.dumps(kept))
    shown = set(kept.values())
    return Flight(
        id=number, name=str(part["name"])[:80], state="queued", created=now_ms(), suite=flight.how.suite,
        zone=flight.zone, files=[sent for sent in flight.files if sent.name in shown], how=flight.how,
        period=tuple(part["period"]), tags=flight.tags,
    )  # fmt: skip


def answered(mapping: Mapping, questions: Sequence[Question], answers: dict[str, str]) -> Mapping:
    """The mapping with what was answered; a question about a column that is not read needs no answer."""
    changed: dict[str, Any] = mapping.model_dump()
    changed["channels"] = list(mapping.channels)
    for question in sorted(questions, key=lambda q: q.kind == "unit"):  # last: only of columns that are read
        answer = answers.get(question.id, "").strip()
        if not answer:
            if question.kind == "unit" and question.column not in _read(changed):
                continue
            raise Refused(422, f"no answer: {question.words}", hint="choose one of the answers")
        if question.kind not in ("zone", "names") and answer not in [choice.value for choice in question.choices]:
            raise Refused(422, f"'{answer[:60]}' does not answer: {question.words}", hint="choose one of the answers")
        _put(changed, question, answer)
    if not changed["channels"]:
        raise Refused(422, "no column is left to be read", hint="choose the unit of at least one")
    return Mapping.model_validate(changed | {"channels": [c.model_dump() for c in changed["channels"]]})


def _put(mapping: dict[str, Any], question: Question, answer: str) -> None:
    channels: list[MappedChannel] = mapping["channels"]
    if question.kind == "zone":
        mapping["zone"] = answer
    elif question.kind == "time":
        mapping["time_format"] = answer
    elif question.kind == "altitude" and answer != IGNORE:
        mapping["motion"]["altitude"] = answer
    elif question.kind == "same":
        same = [c for c in channels if c.name.split("_")[0] == question.id.partition(":")[2]]
        first = same[0].name
        one = [c if c not in same else c.model_copy(update={"name": first}) for c in channels]
        both = [c if c not in same[1:] else c.model_copy(update={"duplicate_of": first}) for c in channels]
        left_out = [c.column for c in same if c.column != answer]
        mapping["channels"] = both if answer == BOTH else [c for c in one if c.column not in left_out]
    elif question.kind == "unit":
        of = question.column or ""
        if answer == IGNORE:
            mapping["channels"] = [c for c in channels if c.column != question.column]
            mapping["motion"] = {k: v for k, v in mapping["motion"].items() if v != question.column}
        elif of in _read(mapping):
            mapping["channels"] = [c.model_copy(update={"units": answer}) if c.column == of else c for c in channels]
            mapping["column_units"][of] = answer


def _read(mapping: dict[str, Any]) -> list[str]:
    return [c.column for c in mapping["channels"]] + list(mapping["motion"].values())


# Words of an error, and the field of the form that they are about.
_FIELDS = (
    (r"clock offset of '([^']+)'", "offsets:{}"),
    (r"metadata '([^']+)'", "metadata:{}"),
    (r"time zone|carry no time", "zone"),
    (r"time column|no time column", "time_column"),
    (r"time\.format|day/month|12-hour", "time_format"),
    (r"compressed file", "salvage"),
    (r"names for \d+ columns|column names", "names"),
    (r"column '([^']+)'", "column:{}"),
    (r"channel(?: name)? '([^']+)'", "channel:{}"),
    (r"unknown suite|shipped suite|suites exist", "suite"),
)  # fmt: skip


def field_of(error: str) -> str | None:
    """The field of the form for reading again that an error is about.

    >>> field_of("gas.csv: column 'CO' is in ppm, but 'co' in ug m-3"), field_of("the disk is full")
    ('column:CO', None)
    """
    for pattern, field in _FIELDS:
        if found := re.search(pattern, error):
            return field.format(*found.groups())
    return None
