"""Joins the streams of each instrument: parts, copies and overlaps of one log, or several instruments of a kind."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pc2dae.align.clock_faults import repair_stamps
from pc2dae.arrays import Mask
from pc2dae.errors import LogError
from pc2dae.flight.stream import Stream
from pc2dae.logs.afe import with_sheet

if TYPE_CHECKING:
    import pandas as pd

ONE_OF = "one_of"  # key in a stream's notes: the stream key shared by several instruments of a kind


class _LogPart(NamedTuple):
    """A log with its first and last stamp, ignoring rows with a lost clock."""

    stream: Stream
    first: np.datetime64
    last: np.datetime64


def joined(streams: list[Stream]) -> tuple[list[Stream], list[tuple[str, str]]]:
    """One stream per instrument, each row once; and the files without new rows, each with the reason.

    Streams of one kind, unit and serial number that do not overlap are parts of one log. Where they overlap, equal rows
    are a copy; where rows differ at the same stamp, they are two instruments (units 1, 2, …) if most rows differ and
    no unit or serial number says otherwise, else two versions of one log, which is an error.
    """
    repeated: list[tuple[str, str]] = []
    groups: dict[tuple[str, str], list[Stream]] = {}
    for stream in _with_sheets(streams):
        groups.setdefault((stream.instrument, stream.unit), []).append(stream)
    whole = [log for group in groups.values() for log in _logs(group, repeated)]
    return whole, repeated


def _logs(streams: list[Stream], repeated: list[tuple[str, str]]) -> list[Stream]:
    """The streams of one kind and unit, with the parts of each log joined."""
    if len(streams) == 1:
        return streams
    chains: list[list[_LogPart]] = []
    for part in map(_part, streams):
        if not any(_is_taken(part, chain, repeated) for chain in chains):
            chains.append([part])
    if streams[0].instrument == "csv" and len(chains) > 1:
        one, other = (chain[0].stream.source for chain in chains[:2])
        raise LogError(f"{one} and {other} hold the same columns at the same time", hint="ingest them one by one")
    logs = [_concatenated([part.stream for part in sorted(chain, key=lambda part: part[1:])]) for chain in chains]
    if len(logs) == 1:
        return logs
    unit = streams[0].unit
    return [
        replace(log, unit=f"{unit}{number}", notes=log.notes | {ONE_OF: log.key}) for number, log in enumerate(logs, 1)
    ]


def _with_sheets(streams: list[Stream]) -> list[Stream]:
    """The streams; all logs of a board get the calibration sheet found beside one of them."""
    sheets: dict[tuple[str, str, str], Stream] = {}
    for stream in streams:
        if stream.calibration is not None and (stream.unit or stream.serial):
            first = sheets.setdefault((stream.instrument, stream.unit, stream.serial), stream)
            if first.calibration != stream.calibration:
                raise LogError(f"{first.source} and {stream.source} are both {stream.key} and have different"
                               " calibration sheets", hint="keep the right sheet")  # fmt: skip
    found = [(stream, sheets.get((stream.instrument, stream.unit, stream.serial))) for stream in streams]
    return [with_sheet(s, known.calibration) if known is not None else s for s, known in found]


def _is_taken(new: _LogPart, chain: list[_LogPart], repeated: list[tuple[str, str]]) -> bool:
    """Whether a log belongs to the parts of another one; its new rows are then added to them."""
    stream = new.stream
    if chain[0].stream.serial != stream.serial:
        return False
    found = [(part, _shared(part, new)) for part in chain if part.first <= new.last and new.first <= part.last]
    shared = [(part, *rows) for part, rows in found if rows is not None]
    if len(shared) < len(found):
        return False
    kept, repairs = np.ones(len(stream.time), dtype=bool), list(stream.repairs)
    for part, in_part, in_new in shared:
        is_longer = len(part.stream.source) > len(stream.source)  # a copy's name is usually longer than the original's
        if in_new.all() and (not in_part.all() or is_longer):
            repeated.append((part.stream.source, f"all its rows are also in {stream.source}: used once"))
            chain[:] = [other for other in chain if other is not part]
            continue
        kept &= ~in_part
        if in_part.any():
            repairs.append(f"{int(in_part.sum()):,} rows also in {part.stream.source} used once")
    if kept.any():
        chain.append(_part(rows_of(replace(stream, repairs=tuple(repairs)), kept)))
    else:
        others = " and ".join(part.stream.source for part, *_ in shared)
        repeated.append((stream.source, f"all its rows are also in {others}: used once"))
    return True


def _shared(one: _LogPart, other: _LogPart) -> tuple[Mask, Mask] | None:
    """Which rows of each log are also in the other; None for two instruments.

    Two versions of one log are an error.
    """
    import pandas as pd

    a, b = one.stream, other.stream
    if set(a.columns) != set(b.columns):
        return None
    rows_a, rows_b = _hashes(a), _hashes(b)
    in_a, in_b = rows_b.isin(rows_a).to_numpy(copy=True), rows_a.isin(rows_b).to_numpy(copy=True)
    _count_cut_row(b, in_a, a)
    _count_cut_row(a, in_b, b)
    first, last = max(one.first, other.first), min(one.last, other.last)
    differing = pd.Index(a.time[~in_b]).intersection(pd.Index(b.time[~in_a]), sort=None).to_numpy()
    differing = differing[(differing >= first) & (differing <= last)]
    measured = np.array([np.isfinite(values) for values in b.columns.values()])
    fine = measured & [values != np.rint(values) for values in b.columns.values()]
    equal, telling = (int((in_a & cells.any(axis=0)).sum()) for cells in (measured, fine))
    if first == last or (equal and not len(differing)):
        return in_a, in_b
    is_one = bool(a.unit or a.serial)  # both state it
    if not is_one and telling <= len(differing):  # integers agree by chance, especially zeros
        return None
    what = f"both cover {_stamp(first)} to {_stamp(last)} and share no row"
    if len(differing):
        what = f"{equal:,} equal rows, {len(differing):,} that differ, the first at {_stamp(differing[0])}"
    raise LogError(f"{a.source} and {b.source} are two versions of one log of {a.key}: {what}",
                   hint="keep the one that is right")  # fmt: skip


def _count_cut_row(stream: Stream, is_known: Mask, other: Stream) -> None:
    """Count the last row as known if the other log has it complete: a copy made while logging ends in a cut line."""
    twin = np.flatnonzero(other.time == stream.time[-1])
    if is_known[-1] or not len(twin):
        return
    cells = [(values[-1], other.columns[name][twin[0]]) for name, values in stream.columns.items()]
    is_known[-1] = all(np.isnan(cell) or cell == whole for cell, whole in cells)


def _hashes(stream: Stream) -> pd.Series[int]:
    """A number for each row's stamp and values: equal rows have equal numbers."""
    import pandas as pd

    table = pd.DataFrame({"": stream.time, **{name: stream.columns[name] for name in sorted(stream.columns)}})
    return pd.util.hash_pandas_object(table, index=False)


def _part(stream: Stream) -> _LogPart:
    time = repair_stamps(stream, 1.0).time
    return _LogPart(stream, time.min(), time.max())


def _stamp(time: np.datetime64) -> str:
    return f"{np.datetime_as_string(time, unit='ms')}Z"


def rows_of(stream: Stream, kept: Mask) -> Stream:
    """Some rows of a stream."""
    stamps = stream.notes.get("stamp")
    notes = stream.notes if stamps is None else stream.notes | {"stamp": stamps[kept]}
    columns = {name: values[kept] for name, values in stream.columns.items()}
    return replace(stream, time=stream.time[kept], columns=columns, notes=notes)


def _concatenated(parts: list[Stream]) -> Stream:
    if len(parts) == 1:
        return parts[0]
    names = list(dict.fromkeys(name for part in parts for name in part.columns))
    columns = {n: np.concatenate([p.columns.get(n, np.full(len(p.time), np.nan)) for p in parts]) for n in names}
    units = {name: unit for part in reversed(parts) for name, unit in part.units.items()}
    repairs = tuple(f"{part.source}: {line}" for part in parts for line in part.repairs)
    notes = dict(parts[0].notes)
    stamps = [part.notes.get("stamp") for part in parts]
    if "stamp" in notes:
        kept = [s for s in stamps if s is not None]
        notes["stamp"] = np.concatenate(kept) if len(kept) == len(stamps) else None
    return replace(
        parts[0],
        time=np.concatenate([p.time for p in parts]),
        columns=columns,
        units=units,
        repairs=repairs,
        notes=notes,
        rows_read=sum(p.rows_read for p in parts),
        source=" + ".join(p.source for p in parts),
        calibration=next((p.calibration for p in parts if p.calibration is not None), None),
    )
