"""Tables that no reader recognises: their columns with examples, for the user to map."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pc2dae.errors import LogError
from pc2dae.logs.csv import STAMP, header_of, is_headless
from pc2dae.logs.files import LogFile, find_files, head_lines
from pc2dae.logs.reader import Head
from pc2dae.logs.sniff import READERS
from pc2dae.logs.table import cut, delimiter_of

MOST_COLUMNS = 200
GAPS = ("", "na", "nan", "null", "none", "-")  # cells without a value
_TIME = re.compile(r"time|date|stamp|utc|zeit|fecha|heure|hora", re.IGNORECASE)


@dataclass(frozen=True)
class TableHead:
    """The column names and first rows of a text table."""

    file: LogFile
    head: Head
    header: list[str]
    rows: list[list[str]]

    def values(self, column: str) -> list[str]:
        """The first values of a column, as text, missing ones only if there are no others."""
        at = self.header.index(column)
        values = [row[at].strip()[:60] for row in self.rows if len(row) > at]
        return ([value for value in values if value.lower() not in GAPS] or values)[:3]

    @property
    def columns(self) -> list[str]:
        """The columns that have a printable name."""
        return [name for name in self.header if name and name.isprintable()]

    @property
    def fingerprint(self) -> str:
        """A short hash of the column names."""
        return hashlib.sha256("\n".join(self.header).encode()).hexdigest()[:24]

    @property
    def has_stamps(self) -> bool:
        """Whether the first line or the first row holds a date or a time."""
        return any(STAMP.match(cell.strip()) for cell in (*self.header, *(self.rows[0] if self.rows else [])))

    @property
    def is_headless(self) -> bool:
        """Whether the first line holds values instead of names."""
        return is_headless(self.header)


def table_heads(files: Collection[Path]) -> list[TableHead]:
    """The text tables among these files that no instrument's reader recognises."""
    found = []
    for file in find_files(sorted(files)):
        try:
            head = Head(file.head(), head_lines(file, 60))
            header = header_of(head)
        except LogError:
            continue
        is_text = b"\0" not in head.raw[:1000] or head.raw.startswith((b"\xff\xfe", b"\xfe\xff"))
        if not is_text or any(reader.recognises(head) for reader in READERS.values()):
            continue
        lines = [line for line in head.lines if line.strip() and not line.startswith("#")]
        rows = [cut(line, delimiter_of(lines[0], lines[1:6])) for line in lines[1:]] if lines else []
        table = TableHead(file, head, header, rows)
        if len(table.columns) >= 2:
            found.append(table)
    return found


def columns_of(tables: Collection[TableHead]) -> dict[str, Any]:
    """Columns of tables: `columns`, those `unmapped`, candidates for the time column, and `headers` by fingerprint."""
    found = [
        {"column": name[:120], "file": table.file.path.name, "example": next(iter(table.values(name)), "")}
        for table in tables
        for name in table.columns
    ][:MOST_COLUMNS]
    times = [c["column"] for c in found if _TIME.search(c["column"]) or STAMP.match(c["example"])]
    return {"columns": found, "unmapped": found, "time_columns": list(dict.fromkeys(times)),
            "headers": list(dict.fromkeys(table.fingerprint for table in tables))}  # fmt: skip
