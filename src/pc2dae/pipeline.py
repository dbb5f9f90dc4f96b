"""The whole story on one page: from files to a flight, from a flight to clean concentrations, and how good they are."""

from __future__ import annotations

import json
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

import xarray as xr

from pc2dae.errors import LogError
from pc2dae.flight.intake import Intake
from pc2dae.flight.stream import Stream
from pc2dae.suite import Suite, load_suite

Paths = Iterable[str | PathLike[str]]


def open_flight(
    path: str | PathLike[str],
    *,
    suite: str | Path | Suite | None = None,
    zone: str | None = None,
    calibration: str | PathLike[str] | None = None,
) -> xr.Dataset:
    """A flight from a file this project wrote (.nc, .zarr, .ict, .csv), a plain CSV, any instrument's log, or a folder of logs.

    A plain CSV needs a suite and keeps its rows: see `flight.align`. Logs are ingested: one clock, flags, compensation.
    """
    from pc2dae.flight.store import read_flight
    from pc2dae.logs.sniff import is_flight

    if is_flight(path):
        return read_flight(path, _suite(suite))
    return ingest([path], suite=suite, zone=zone, calibration=calibration)[0]


def ingest(
    paths: Paths,
    *,
    suite: str | Path | Suite | None = None,
    zone: str | None = None,
    calibration: str | PathLike[str] | None = None,
) -> tuple[xr.Dataset, Intake]:
    """Recognise the logs, bring them to one clock and one grid, flag, compensate; and what was done to each file."""
    from pc2dae.compensation import compensate
    from pc2dae.flight.align import align
    from pc2dae.flight.clocks import find_clocks
    from pc2dae.flight.delay import response_delays
    from pc2dae.flight.intake import sources_of
    from pc2dae.logs import read_logs
    from pc2dae.logs.automatic import suite_for
    from pc2dae.qc import screen

    given = [Path(path) for path in paths]
    book = read_logs(given, zone=zone, suite=_suite(suite))
    streams = _with_sheet(book.streams, calibration)
    payload = _suite(suite) or streams[0].notes.get("suite") or suite_for(streams)
    _check_sources(streams, payload)
    clocks = find_clocks(streams)
    aligned = [clock.corrected(stream) for clock, stream in zip(clocks, streams, strict=True)]
    flight, placed = align(aligned, payload, flight_id=given[0].stem if given[0].stem else "flight")
    flight.attrs["clock_offset_s"] = json.dumps({c.key: round(c.offset_s, 3) for c in clocks if c.found})
    flight = screen(compensate(screen(flight)))
    delays = response_delays(flight)
    for name, delay in delays.items():
        flight[name].attrs["response_delay_s"] = delay
    ignored = tuple((i.file, i.reason) for i in book.ignored)
    return flight, Intake(payload.name, sources_of(aligned, clocks, placed), ignored, _notes(flight), delays)


def _suite(suite: str | Path | Suite | None) -> Suite | None:
    return suite if suite is None or isinstance(suite, Suite) else load_suite(suite)


def _with_sheet(streams: list[Stream], calibration: str | PathLike[str] | None) -> list[Stream]:
    """The streams, a given calibration sheet in place of the one beside its board's log."""
    from pc2dae.logs.afe import read_sheet, with_sheet

    if calibration is None:
        return streams
    sheet = read_sheet(Path(calibration))
    boards = [s.key for s in streams if s.instrument == "afe" and sheet.get("unit", s.unit) == s.unit]
    if len(boards) != 1:
        there = ", ".join(s.key for s in streams if s.instrument == "afe") or "none"
        raise LogError(f"{Path(calibration).name}: for unit '{sheet.get('unit', '')}', which fits {len(boards)} boards",
                       hint=f"boards in these logs: {there}")  # fmt: skip
    return [with_sheet(s, sheet) if s.key == boards[0] else s for s in streams]


def _check_sources(streams: list[Stream], suite: Suite) -> None:
    """Refuse a suite none of whose channels is in the logs."""
    keys = {stream.key for stream in streams}
    if "csv" in keys:
        return
    if not any(source.partition(".")[0] in keys for name, source in suite.sources.items() if name in suite.names):
        raise LogError(f"suite '{suite.name}' names no channel of these logs ({', '.join(sorted(keys))})",
                       hint='say where channels come from: [sources] co2 = "li830.co2"')  # fmt: skip


def _notes(flight: xr.Dataset) -> tuple[str, ...]:
    from pc2dae.compensation import without_sheet

    absent = without_sheet(flight)
    return (f"no calibration sheet: {', '.join(absent)} stay missing, the millivolts are kept",) if absent else ()
