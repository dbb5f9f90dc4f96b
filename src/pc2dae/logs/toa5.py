"""TOA5 tables of Campbell Scientific loggers, described by a suite like any CSV: four header lines, units in the third.

    "TOA5","station","CR1000","1031","CR1000.Std.32","CPU:smoke.CR1","4062","fast"
    "TIMESTAMP","RECORD","CO_Avg","AirT"
    "TS","RN","ppm","Deg C"
    "","","Avg","Smp"
    "2020-01-01 00:00:00.5",0,0.142,"NAN"

Format: LoggerNet manual, appendix B.1.4.
"""

from __future__ import annotations

from pc2dae.logs.reader import Head
from pc2dae.logs.text import clean_names, cut

HEADER_LINES = 4
TIME = "TIMESTAMP"


def recognises(head: Head) -> bool:
    """Match the name of the format in the first cell."""
    return len(head.lines) >= HEADER_LINES and clean_names(cut(head.lines[0], ","))[0] == "TOA5"


def names(head: Head) -> list[str]:
    """The column names, in the second line."""
    return clean_names(cut(head.lines[1], ","))


def units(head: Head) -> dict[str, str]:
    """The unit of each column as the logger's program states it; empty if it states none."""
    return dict(zip(names(head), clean_names(cut(head.lines[2], ",")), strict=False))
