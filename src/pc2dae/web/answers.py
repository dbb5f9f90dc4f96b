"""Answers to a flight's questions, put into the mapping of its columns; and the field that an error is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pc2dae.web.problems import Refused
from pc2dae.web.schemas import MappedChannel, Mapping, Question

IGNORE, BOTH = "ignore", "both"


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
