"""The first stage: from instrument files to a flight with flags, in physical units, calibrated.

Not `ingest.py`: importing a module of that name would replace the function `pc2dae.ingest`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from pc2dae.errors import FlightError, LogError
from pc2dae.flight.schema import LEVELS, add_history, history_of, level_of, suite_of
from pc2dae.flight.stream import Stream
from pc2dae.suite import Suite, load_suite, parse_suite

if TYPE_CHECKING:
    from pc2dae.align.ingest_report import IngestReport
    from pc2dae.calibration.curve import Calibration
    from pc2dae.calibration.intervals import Interval
    from pc2dae.logs.sniff import Period
    from pc2dae.response.payload import PayloadResponse

PathText = str | PathLike[str]
Paths = Iterable[PathText]


def open_flight(
    path: str | PathLike[str],
    *,
    suite: str | Path | Suite | None = None,
    zone: str | None = None,
    calibration: PathText | Sequence[PathText] = (),
    response: PathText | PayloadResponse | None = None,
    offsets: Mapping[str, float] | None = None,
    metadata: Mapping[str, str] | None = None,
    salvage: bool = False,
    report: Callable[[str], object] | None = None,
) -> xr.Dataset:
    """Open a flight from a pc2dae file (.nc, .zarr, .ict, .csv), a plain CSV, an instrument log or a folder of logs.

    A plain CSV needs a suite and keeps its rows: see `align.grid`. Logs are ingested: one clock, flags, compensation.
    A damaged compressed log is an error; with `salvage`, the whole lines that can be unpacked are used. `offsets` and
    `metadata` are as in `ingest`, `response` as in `denoise`. `report` is called with each repair and note of logs.
    """
    from pc2dae.flight.store import is_flight, read_flight
    from pc2dae.suite.metadata import checked_metadata

    if is_flight(path):
        if offsets:
            raise FlightError(f"{path} is a flight: its clocks are aligned already", hint="state offsets of its logs")
        flight = read_flight(path, given_suite(suite)).assign_attrs(checked_metadata(metadata or {}))
        return with_response(calibrate_flight(prepare(flight), calibration) if calibration else flight, response)
    flight, intake = ingest(
        [path], suite=suite, zone=zone, calibration=calibration, offsets=offsets, metadata=metadata, salvage=salvage
    )
    if report is not None:
        for line in (*intake.repair_lines(), *intake.notes):
            report(line)
    return with_response(flight, response)


def ingest(
    paths: Paths,
    *,
    suite: str | Path | Suite | None = None,
    zone: str | None = None,
    calibration: PathText | Sequence[PathText] = (),
    compensation: str | None = None,
    correct_loading: bool = False,
    offsets: Mapping[str, float] | None = None,
    metadata: Mapping[str, str] | None = None,
    salvage: bool = False,
    period: Period = (None, None),
) -> tuple[xr.Dataset, IngestReport]:
    """Read logs, align them to one clock and grid, flag and compensate; also return a report of each file.

    `calibration` takes factory sheets and files of `pc2dae calibrate`. `compensation` overrides the suite's: `aan-803`,
    or `equation-1` as in the paper. With `correct_loading`, black carbon is corrected for the loading of its filter.
    `offsets` say how far an instrument's clock is ahead [s] (`{"stap": 95.0}`), instead of searching it; `metadata` are
    ACDD attributes (`creator_name`, `institution`, …) that override the suite's. `period` selects one of several
    flights in a file: rows from its first stamp (inclusive) to its second (exclusive), as logged, in UTC.
    """
    from pc2dae.align.clock_faults import repair_stamps
    from pc2dae.align.clocks import find_clocks
    from pc2dae.align.delays import response_delays
    from pc2dae.align.gaps import check_gaps
    from pc2dae.align.grid import align
    from pc2dae.align.ingest_report import IngestReport, source_reports
    from pc2dae.calibration.compensate import compensate
    from pc2dae.calibration.curve import is_calibration
    from pc2dae.logs import read_logs
    from pc2dae.logs.infer_suite import suite_for
    from pc2dae.qc import screen
    from pc2dae.suite.metadata import checked_metadata

    attributes = checked_metadata(metadata or {})
    given = [Path(path) for path in paths]
    book = read_logs(given, zone=zone, suite=given_suite(suite), salvage=salvage, period=period)
    files = [calibration] if isinstance(calibration, str | PathLike) else calibration
    curves = [path for path in files if is_calibration(path)]
    streams = book.streams
    for path in files:
        streams = streams if path in curves else _with_sheet(streams, path)
    payload = given_suite(suite) or streams[0].notes.get("suite") or suite_for(streams)
    if compensation is not None:
        table = payload.model_dump(mode="json", exclude_defaults=True) | {"compensation": compensation}
        payload = parse_suite(json.dumps(table), where=payload.name)
    _check_sources(streams, payload)
    streams = [repair_stamps(stream, payload.rate_hz) for stream in streams]
    clocks = find_clocks(streams, offsets)
    aligned = [clock.corrected(stream) for clock, stream in zip(clocks, streams, strict=True)]
    check_gaps(aligned, payload.rate_hz)
    flight, placed = align(aligned, payload, flight_id=given[0].stem if given[0].stem else "flight")
    flight.attrs["clock_offset_s"] = json.dumps({c.key: round(c.offset_s, 3) for c in clocks if c.found})
    ignored = tuple((i.file, i.reason) for i in book.ignored)
    intake = IngestReport(payload.name, source_reports(aligned, clocks, placed), ignored)
    for line in (*intake.repair_lines(), *(_stated(key, ahead) for key, ahead in (offsets or {}).items())):
        flight = add_history(flight, line)
    logged = flight = flight.assign_attrs(payload.metadata.stated() | attributes)
    ready = screen(compensate(screen(flight)))
    flight = calibrate_flight(with_loading_corrected(ready) if correct_loading else ready, curves)
    delays = response_delays(flight)
    for name, delay in delays.items():
        flight.variables[name].attrs["response_delay_s"] = delay
    return flight, replace(intake, notes=(*_notes(flight), *change_lines(logged, flight)), response_delay_s=delays)


def prepare(flight: xr.Dataset) -> xr.Dataset:
    """The flight with flags and compensated channels, in its suite's units and grid, from any processing level."""
    from pc2dae.calibration.compensate import compensate
    from pc2dae.flight.conform import conform
    from pc2dae.qc import screen

    flight = conform(flight)
    level = LEVELS.index(level_of(flight))
    if level >= LEVELS.index("compensated"):
        return flight
    screened = flight if level >= LEVELS.index("screened") else screen(flight)
    return screen(compensate(screened))  # again, to flag the compensated values


def calibrate_flight(
    flight: xr.Dataset,
    calibrations: PathText | Calibration | Sequence[PathText | Calibration] = (),
    *,
    zero: Sequence[Interval] = (),
    rezero: bool = False,
) -> xr.Dataset:
    """A compensated flight with calibrations and zero checks applied, as far as there are any."""
    from pc2dae.calibration.apply import calibrated, with_reading_flags
    from pc2dae.calibration.curve import Calibration, read_calibration
    from pc2dae.calibration.zero import rezeroed, zeroed
    from pc2dae.qc import screen

    done = flight
    given = [calibrations] if isinstance(calibrations, str | PathLike | Calibration) else calibrations
    if given:
        done = calibrated(done, [c if isinstance(c, Calibration) else read_calibration(Path(c)) for c in given])
    if zero:
        done = zeroed(done, zero)
    if rezero:
        done = rezeroed(done)
    return done if done is flight else with_reading_flags(screen(done), flight)


def with_response(flight: xr.Dataset, response: PathText | PayloadResponse | None) -> xr.Dataset:
    """The flight with what a file, or another flight, says of its payload's response."""
    from pc2dae.response.payload import PayloadResponse, read_response
    from pc2dae.response.pooling import completed

    if response is None:
        return flight
    return completed(flight, response if isinstance(response, PayloadResponse) else read_response(Path(response)))


def with_loading_corrected(flight: xr.Dataset) -> xr.Dataset:
    """The flight with black carbon corrected for the loading of its filter."""
    from pc2dae.calibration.aethalometer import correct_loading
    from pc2dae.qc import screen

    return screen(correct_loading(flight))


def change_lines(before: xr.Dataset, after: xr.Dataset) -> list[str]:
    """History lines added since `before` about values taken as missing or corrected."""
    return history_of(after, "change")[len(history_of(before, "change")) :]


def given_suite(suite: str | Path | Suite | None) -> Suite | None:
    """A suite given as itself, a preset's name or a file."""
    return suite if suite is None or isinstance(suite, Suite) else load_suite(suite)


def _with_sheet(streams: list[Stream], calibration: str | PathLike[str]) -> list[Stream]:
    """The streams, with the given factory sheet replacing the one beside its board's log."""
    from pc2dae.logs.afe import read_sheet, with_sheet

    sheet = read_sheet(Path(calibration))
    boards = [s.key for s in streams if s.instrument == "afe" and sheet.get("unit", s.unit) == s.unit]
    if len(boards) != 1:
        there = ", ".join(s.key for s in streams if s.instrument == "afe") or "none"
        raise LogError(f"{Path(calibration).name}: for unit '{sheet.get('unit', '')}', which fits {len(boards)} boards",
                       hint=f"boards in these logs: {there}")  # fmt: skip
    return [with_sheet(s, sheet) if s.key == boards[0] else s for s in streams]


def _check_sources(streams: list[Stream], suite: Suite) -> None:
    """Refuse a suite that has no channel in the logs, or that is ambiguous between several instruments of a kind."""
    from pc2dae.logs.join import ONE_OF

    keys = {stream.key for stream in streams}
    if "csv" in keys:
        return
    for name, source in suite.sources.items():
        if several := [stream for stream in streams if stream.notes.get(ONE_OF) == source.key]:
            files = ", ".join(stream.source for stream in several)
            example = f'[sources] {name} = "{several[0].key}.{source.column}"'
            raise LogError(
                f"{len(several)} instruments log as {source.key} ({files}), but suite '{suite.name}' reads only one",
                hint=f"keep one of them, or name it in the suite: {example}",
            )
    if not any(source.key in keys for name, source in suite.sources.items() if name in suite.names):
        raise LogError(f"suite '{suite.name}' has no channel in these logs ({', '.join(sorted(keys))})",
                       hint='say where channels come from: [sources] co2 = "li830.co2"')  # fmt: skip


def _stated(key: str, ahead_s: float) -> str:
    return f"clock of {key}: stated to be {abs(ahead_s):g} s {'ahead' if ahead_s >= 0 else 'behind'}"


def _unread_cells(flight: xr.Dataset) -> list[str]:
    """Cells with logged electrodes of which the suite has no channel, as those of an ARISense."""
    suite = suite_of(flight)
    read = {source.variable() for name, source in suite.sources.items() if name in suite.names}
    electrodes = [str(name) for name in flight.data_vars if str(name).endswith("_we")]
    return [
        name[:-3] for name in electrodes if name[:-3] not in read and np.isfinite(flight.variables[name].values).any()
    ]


def _notes(flight: xr.Dataset) -> tuple[str, ...]:
    from pc2dae.calibration.compensate import without_sheet
    from pc2dae.qc import loaded_filters

    notes = []
    if absent := without_sheet(flight):
        notes.append(f"no calibration sheet: {', '.join(absent)} remain missing, the millivolts are kept")
    if cells := _unread_cells(flight):
        notes.append(f"no calibration sheet: {', '.join(cells)} kept in millivolts only, see pc2dae calibrate")
    if loaded := loaded_filters(flight):
        notes.append(f"filter loaded (black carbon reads too low, see --correct-loading): {loaded} of samples")
    return tuple(notes)
