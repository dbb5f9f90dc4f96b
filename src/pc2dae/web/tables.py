"""Tables that no reader recognises: their columns with an example each, for the user to map."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pc2dae.errors import LogError
from pc2dae.logs.csv import header_of
from pc2dae.logs.files import LogFile, head_lines
from pc2dae.logs.reader import Head
from pc2dae.logs.table import cut, delimiter_of

MOST_COLUMNS = 200
_TIME = re.compile(r"time|date|stamp|utc|zeit|fecha|heure|hora", re.IGNORECASE)
_STAMP = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}:\d{2}:\d{2}|\d{10,13}(\.\d+)?$")


def tables_in(folder: Path, only: Collection[str] | None = None) -> dict[str, Any]:
    """Columns of the tables among these files: `columns`, those `unmapped`, and candidates for the time column."""
    found: list[dict[str, str]] = []
    for path in sorted(folder.iterdir()):
        if only is None or path.name in only:
            found += _columns(path)
    found = found[:MOST_COLUMNS]
    times = [c["column"] for c in found if _TIME.search(c["column"]) or _STAMP.match(c["example"])]
    return {"columns": found, "unmapped": found, "time_columns": list(dict.fromkeys(times))}


def _columns(path: Path) -> list[dict[str, str]]:
    file = LogFile(path)
    try:
        head = Head(file.head(), head_lines(file, 60))
        header = header_of(head)
    except LogError:
        return []
    names = [name for name in header if name and name.isprintable()]
    if len(names) < 2 or b"\0" in head.raw[:1000]:
        return []
    rows = [line for line in head.lines if line.strip() and not line.startswith("#")]
    cells = cut(rows[1], delimiter_of(rows[0], rows[1:6])) if len(rows) > 1 else []
    examples = [*cells, *[""] * len(header)]
    return [
        {"column": name[:120], "file": path.name, "example": example[:60]}
        for name, example in zip(header, examples, strict=False)
        if name and name.isprintable()
    ]
