"""The index of an archive: one row per flight, built from the markers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pc2dae.archive.index_row import METRICS, RATIO_COLUMNS
from pc2dae.archive.layout import DONE, Archive
from pc2dae.atomic import replacing
from pc2dae.errors import require

if TYPE_CHECKING:
    import pandas as pd

MISSING = "missing"  # done, but its file no longer exists
FIRST = ("flight", "status", "error", "start", "end", "span_s", "rows", "suite", "families", "left_raw", "calibrated")
LAST = ("model", "model_sha256", "source", "source_sha256", "output", "output_sha256", "seconds")
_TEXT = {"flight", "status", "error", "suite", "families", "left_raw", "calibrated", *LAST} - {"seconds"}
_TIMES = ("start", "end")


def index_of(archive: Archive) -> pd.DataFrame:
    """One row for every flight of the archive, sorted by name."""
    import pandas as pd

    rows = []
    for record in archive.records():
        output = archive.output(record["flight"])
        status = record["status"] if record["status"] != DONE or output.exists() else MISSING
        rows.append(record | {"status": status, "output": str(output.relative_to(archive.root))})
    ratios = [column for name in RATIO_COLUMNS for column in (name, f"{name}_sigma")]
    expected = [*FIRST, *METRICS, "plumes", *ratios, *LAST]
    further = sorted({key for row in rows for key in row} - {*expected, "order", "stamp"})
    table = pd.DataFrame(rows, columns=[*expected, *further])
    for name in table.columns:
        if name in _TIMES:
            table[name] = pd.to_datetime(table[name], utc=True, format="ISO8601").astype("datetime64[ms, UTC]")
        elif name in _TEXT:
            table[name] = table[name].astype("string")
        else:
            table[name] = pd.to_numeric(table[name]).astype("Float64" if name not in ("rows", "plumes") else "Int64")
    return table


def write_index(archive: Archive) -> pd.DataFrame:
    """Write `index.parquet` and return the table."""
    require("pyarrow", extra="cluster")
    table = index_of(archive)
    with replacing(archive.index) as temporary:
        table.to_parquet(temporary, index=False)
    return table
