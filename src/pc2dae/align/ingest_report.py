"""The report of an ingest: each file's instrument, rows used, clock, gaps and repairs, and the files ignored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from pc2dae.align.clocks import ClockFit
from pc2dae.align.grid import Placed
from pc2dae.flight.stream import Stream


@dataclass(frozen=True)
class SourceReport:
    """One row of the table, for one instrument."""

    file: str
    instrument: str
    rows: int  # in the file
    rows_used: int
    rate_hz: float | None  # None for a single row
    clock_offset_s: float | None  # None: not found
    clock_sigma_s: float | None
    clock_drift_ppm: float
    clock_by: str
    gaps: int
    longest_gap_s: float
    repairs: tuple[str, ...]


@dataclass(frozen=True)
class IngestReport:
    """The table that `pc2dae ingest` prints."""

    suite: str
    sources: tuple[SourceReport, ...]
    ignored: tuple[tuple[str, str], ...]  # file, reason
    notes: tuple[str, ...] = ()
    response_delay_s: dict[str, float] = field(default_factory=dict)  # reported, never applied

    def repair_lines(self) -> list[str]:
        """A line for each file that was repaired or ignored."""
        lines = [f"{one.file}: {'; '.join(one.repairs)}" for one in self.sources if one.repairs]
        return lines + [f"ignored {file}: {reason}" for file, reason in self.ignored]

    def as_dict(self) -> dict[str, Any]:
        """As a JSON-compatible dict."""
        table = asdict(self)
        table["ignored"] = [{"file": name, "reason": reason} for name, reason in self.ignored]
        return table


def source_reports(
    streams: Sequence[Stream], fits: Sequence[ClockFit], placed: Sequence[Placed]
) -> tuple[SourceReport, ...]:
    """A report for every stream."""
    return tuple(
        SourceReport(
            file=stream.source,
            instrument=stream.key,
            rows=stream.rows_read,
            rows_used=int((place.cells >= 0).sum()),
            rate_hz=float(f"{place.rate_hz:.3g}") if np.isfinite(place.rate_hz) else None,
            clock_offset_s=round(fit.offset_s, 2) if fit.found else None,
            clock_sigma_s=round(fit.sigma_s, 3) if np.isfinite(fit.sigma_s) else None,
            clock_drift_ppm=round(fit.drift_ppm, 1),
            clock_by=fit.by,
            gaps=place.gaps,
            longest_gap_s=round(place.longest_gap_s, 1),
            repairs=place.repairs,
        )
        for stream, fit, place in zip(streams, fits, placed, strict=True)
    )
