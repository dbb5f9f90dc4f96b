"""A person looks at it: one self-contained page per flight or benchmark; `pc2dae.report(…)` calls the room itself."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr


def report(flight: xr.Dataset, path: str | os.PathLike[str], *, truth: xr.Dataset | None = None) -> None:
    """Write the report of a flight as one HTML page; a simulated flight's `truth` is drawn and scored too."""
    from pc2dae.report.flight_page import write_flight_page

    write_flight_page(flight, path, truth=truth)


class _Room(ModuleType):
    """`pc2dae.report` names both this room and what one does in it; a module of this class can be called."""

    def __call__(self, flight: xr.Dataset, path: str | os.PathLike[str], *, truth: xr.Dataset | None = None) -> None:
        report(flight, path, truth=truth)


sys.modules[__name__].__class__ = _Room
