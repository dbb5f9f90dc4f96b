"""Recognise files by their content and read them; files that no reader recognises are listed with the reason."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

import numpy as np

from pc2dae.errors import LogError
from pc2dae.flight.csv import is_flight_table
from pc2dae.flight.store import WRITE_ONLY
from pc2dae.flight.stream import Stream
from pc2dae.logs import afe, ardupilot, csv, goamazon, greenbox, icartt, instruments, li830, ma200, toa5
from pc2dae.logs.files import LogFile, find_files, head_lines
from pc2dae.logs.instruments import Instrument
from pc2dae.logs.join import joined, rows_of
from pc2dae.logs.reader import Declared, Head, Reader
from pc2dae.logs.stamps import NeedsChoice
from pc2dae.suite import Suite

Period = tuple[np.datetime64 | None, np.datetime64 | None]
READERS: dict[str, Instrument | Reader] = {
    "ma200": ma200,
    "ae51": instruments.AE51,
    "afe": afe,
    "scd30": instruments.SCD30,
    "li830": li830,
    "licor": instruments.LICOR,
    "li7810": instruments.LI7810,
    "pms5003": instruments.PMS5003,
    "bme280": instruments.BME280,
    "ardupilot": ardupilot,
    "quantaq": instruments.QUANTAQ,
    "stap": instruments.STAP,
    "flight_computer": instruments.FLIGHT_COMPUTER,
    "greenbox": greenbox,
    "goamazon": goamazon,
    "icartt": icartt,
}
DECLARED_BY = {**READERS, "li840a": instruments.LICOR}  # by a stream's instrument


@dataclass(frozen=True)
class Ignored:
    """A file that was not used, and the reason."""

    file: str
    reason: str


@dataclass(frozen=True)
class LogBook:
    """The contents of a folder of logs."""

    streams: list[Stream] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)


def declared(stream: Stream) -> Declared:
    """The declared channels of a stream, used when no suite is given."""
    if stream.instrument == "icartt":
        return icartt.declared(stream)
    reader = DECLARED_BY.get(stream.instrument)
    if reader is None:  # a plain CSV, whose channels a suite defines
        return Declared()
    return reader.declared if isinstance(reader, Instrument) else reader.DECLARED


def read_logs(
    paths: Iterable[str | PathLike[str]],
    *,
    zone: str | None = None,
    suite: Suite | None = None,
    salvage: bool = False,
    period: Period = (None, None),
) -> LogBook:
    """Read every file under `paths`; a file named explicitly must be readable, one found in a folder may be skipped.

    A damaged compressed file is an error; with `salvage`, the whole lines that can be unpacked are used. Of a file that
    holds several flights, `period` selects the rows from the first stamp (inclusive) to the second (exclusive).
    """
    given = [Path(path) for path in paths]
    book = LogBook()
    for file in find_files(given, salvage=salvage):
        try:
            book.streams.extend(read_file(file, zone=zone, suite=suite))
        except NeedsChoice:
            raise
        except LogError as error:
            if file.path in given and file.member is None:
                raise
            book.ignored.append(Ignored(file.name, _reason(error, file)))
    if not book.streams:
        reasons = "; ".join(f"{i.file}: {i.reason}" for i in book.ignored[:3])
        where = ", ".join(str(path) for path in given)
        raise LogError(f"nothing readable in {where} ({reasons or 'no files'})",
                       hint="name the folder of a flight's logs, or pass --suite for plain CSV")  # fmt: skip
    streams, too_far = _one_time(_during(book.streams, period))
    whole, repeated = joined(streams)
    return LogBook(whole, [*book.ignored, *too_far, *(Ignored(*one) for one in repeated)])


def read_file(file: LogFile, *, zone: str | None = None, suite: Suite | None = None) -> list[Stream]:
    """The streams of one file: by the suite if that describes a plain CSV and fits, else by the matching reader."""
    if _is_sheet(file):
        return []
    if file.path.is_dir():
        what = "a link to a folder, which is not followed" if file.path.is_symlink() else "a Zarr store, not a log"
        raise LogError(f"{file.name}: {what}")
    if (suffix := Path(file.name).suffix.lower()) in WRITE_ONLY:
        raise LogError(f"{file.name}: {suffix} files cannot be read back", hint="name a flight as .nc, or the logs")
    head = Head(file.head(), head_lines(file))
    if not head.raw.strip(b"\0 \r\n\t"):
        raise LogError(f"{file.name}: the file is empty")
    if (output := _output(head)) is not None:
        raise LogError(f"{file.name}: {output}, not a log", hint="name the instruments' own files")
    try:
        if suite is not None and not suite.sources and csv.fits(head, suite):
            return csv.read(file, head, zone=zone, suite=suite)
        for reader in READERS.values():
            if reader.recognises(head):
                return [_without_constants(s, suite) for s in reader.read(file, head, zone=zone, suite=suite)]
        return csv.read(file, head, zone=zone, suite=_plain_suite(file, head, suite))
    except (OverflowError, RecursionError) as error:
        raise LogError(f"{file.name}: cannot be read ({type(error).__name__}: {error})") from None


def _output(head: Head) -> str | None:
    """Description of a file of a kind that pc2dae writes; None for any other file."""
    if head.raw.startswith((b"\x89HDF\r\n", b"CDF\x01", b"CDF\x02", b"CDF\x05")):
        return "a netCDF file"
    if head.raw[:100].lstrip().lower().startswith(b"<!doctype html"):
        return "an HTML page"
    if is_flight_table(csv.header_of(head)) or (icartt.recognises(head) and b"pc2dae_attributes:" in head.raw):
        return "a flight that pc2dae wrote"
    return None


def _plain_suite(file: LogFile, head: Head, suite: Suite | None) -> Suite:
    found = suite if suite is not None and not suite.sources else csv.fitting_preset(head)
    if found is not None:
        return found
    header = [name for name in csv.header_of(head) if name and name.isprintable()]
    if (b"\0" in head.raw[:1000] and not head.raw.startswith((b"\xff\xfe", b"\xfe\xff"))) or len(header) < 2:
        raise LogError(f"{file.name}: neither a known instrument nor a table", hint="remove it from the list")
    csv.check_header(file, header)
    shown = ", ".join(header[:8]) + (", …" if len(header) > 8 else "")
    hint = "describe its columns in a suite and pass --suite"
    if toa5.recognises(head):
        hint += ' (time column "TIMESTAMP"; units are read from the file)'
    if suite is not None:
        hint = f"suite '{suite.name}' is for instrument logs; a table needs one that names its columns (docs/suite.md)"
    raise LogError(f"{file.name}: unknown instrument (columns {shown})", hint=hint)


def _is_sheet(file: LogFile) -> bool:
    """Whether a file is a calibration sheet, which is read with its log."""
    if not file.name.endswith(".calibration.json"):
        return False
    try:
        json.loads(file.path.read_bytes()) if file.member is None else None
    except ValueError:
        return True  # reported when its log is read
    return True


def _reason(error: LogError, file: LogFile) -> str:
    return Exception.__str__(error).removeprefix(f"{file.name}: ").removeprefix(f"{file.name}, ")


def _without_constants(stream: Stream, suite: Suite | None) -> Stream:
    """The stream with a suite's sentinels replaced by NaN."""
    if suite is None or not suite.missing:
        return stream
    columns, repairs = dict(stream.columns), list(stream.repairs)
    for name, values in stream.columns.items():
        gone = np.isin(values, suite.missing)
        if gone.any() and name != "status":
            columns[name] = np.where(gone, np.nan, values)
            repairs.append(f"{name}: {int(gone.sum()):,} sentinels taken as missing")
    return replace(stream, columns=columns, repairs=tuple(repairs))


def _during(streams: list[Stream], period: Period) -> list[Stream]:
    """The rows of the streams in a period."""
    first, end = period
    if first is None and end is None:
        return streams
    found = []
    for stream in streams:
        kept = np.ones(len(stream.time), dtype=bool)
        kept &= True if first is None else stream.time >= first
        kept &= True if end is None else stream.time < end
        found += [rows_of(stream, kept)] if kept.any() else []
    if not found:
        raise LogError(f"no row between {first} and {end}", hint="choose another period")
    return found


def _one_time(streams: list[Stream]) -> tuple[list[Stream], list[Ignored]]:
    """The streams recorded at the same time; those more than a week from the largest group are left out."""
    week = np.timedelta64(7, "D")
    groups: list[list[Stream]] = []
    for stream in sorted(streams, key=lambda s: np.median(s.time.astype(np.int64))):
        if groups and stream.time.min() - max(s.time.max() for s in groups[-1]) <= week:
            groups[-1].append(stream)
        else:
            groups.append([stream])
    largest = max(groups, key=lambda g: sum(len(s.time) for s in g))
    reason = f"recorded around {{}}, the others around {str(largest[0].time.min())[:10]}; ingest it by itself"
    others = [Ignored(s.source, reason.format(str(s.time.min())[:10])) for g in groups if g is not largest for s in g]
    kept = {id(s) for s in largest}
    return [s for s in streams if id(s) in kept], others
