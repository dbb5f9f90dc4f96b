"""The interface of readers: the head of a file for recognition, a column map, and declared channels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from pc2dae.flight.stream import Stream
from pc2dae.logs.files import LogFile
from pc2dae.logs.stamps import to_utc
from pc2dae.logs.table import LogTable
from pc2dae.suite import Channel, Suite


@dataclass(frozen=True)
class Head:
    """The first lines and bytes of a file."""

    raw: bytes
    lines: list[str]

    def find(self, *words: str) -> str | None:
        """The first line that contains all words."""
        return next((line for line in self.lines if all(word in line for word in words)), None)


class Column(NamedTuple):
    """Mapping of a file column to a stream column: value × `factor`."""

    name: str
    units: str
    factor: float = 1.0


@dataclass(frozen=True)
class Declared:
    """The channels and variables of a reader's streams when no suite is given; a channel's `column` is the stream's."""

    channels: tuple[tuple[str, Channel], ...] = ()  # (family, channel)
    environment: Mapping[str, str] = field(default_factory=dict)
    motion: Mapping[str, str] = field(default_factory=dict)


class Reader(Protocol):
    """The interface of a reader module, for logs that are not one plain table (`instruments`)."""

    DECLARED: Declared

    def recognises(self, head: Head) -> bool:
        """Whether the file is from this instrument."""

    def read(self, file: LogFile, head: Head, *, zone: str | None, suite: Suite | None) -> list[Stream]:
        """The file's streams."""


def plain(name: str) -> str:
    """A column name without units, case and signs: "Flow1 (mL/min)" → "flow1"."""
    bare = re.sub(r"\(.*?\)", "", name.replace("\ufeff", ""))
    return re.sub(r"[^a-z0-9]+", "_", bare.lower()).strip("_")


def named(header: list[str], columns: Mapping[str, Column]) -> dict[str, Column]:
    """The header's columns that a map contains by plain name; the first of duplicates is used."""
    found: dict[str, Column] = {}
    taken: set[str] = set()
    for name in header:
        column = columns.get(plain(name))
        if column is not None and column.name not in taken:
            found[name] = column
            taken.add(column.name)
    return found


def stream_of(
    table: LogTable, columns: Mapping[str, Column], instrument: str, *, zone: str | None = None, **more: Any
) -> Stream:
    """A table's wanted columns as a stream in UTC."""
    time = table.time if table.is_zoned else to_utc(table.time, zone, file=table.file.name, repairs=table.repairs)
    mapped = {new.name: table.numbers[old] * new.factor for old, new in named(table.header, columns).items()}
    units = {new.name: new.units for new in named(table.header, columns).values()}
    return Stream(instrument, more.pop("unit", ""), time, mapped, units, rows_read=table.rows_read,
                  repairs=tuple(table.repairs), source=table.file.name, **more)  # fmt: skip
