"""From files to a calibration: a record beside a reference, in known gas, or what similar payloads say."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from pc2dae.errors import CalibrationError, nearest
from pc2dae.flight.schema import suite_of
from pc2dae.ingestion import PathText, open_flight, prepare
from pc2dae.logs.header_units import unit_in
from pc2dae.suite import Channel, Family, Suite, canonical_units

if TYPE_CHECKING:
    from pc2dae.calibration.calibrate import Colocation
    from pc2dae.calibration.curve import Calibration
    from pc2dae.calibration.intervals import GasCalibration

_TABLES = (".csv", ".gz", ".txt", ".tsv", ".dat")
_LONG_S = 3 * 3600.0  # of a longer record, minutes of the reference are enough


def calibrate(
    record: PathText,
    *,
    reference: PathText | None = None,
    pairs: Mapping[str, str] | None = None,
    intervals: PathText | None = None,
    suite: str | Path | Suite | None = None,
    zone: str | None = None,
    start: str | None = None,
    end: str | None = None,
    test_from: str | None = None,
    like: Sequence[Calibration] = (),
) -> Calibration:
    """Calibrate the channels of a record beside a reference analyser, or in air of known concentration.

    `pairs` names the column and unit of the reference for each channel, {"o3_a": "o3_ppb:ppb"}. With `intervals`, a CSV
    of stretches of known air, pairs are needed for raw signals only, to name their unit ("o3_a": ":ppb").
    """
    if intervals is not None:
        return calibrate_in_gas(
            record, intervals, units=pairs, suite=suite, zone=zone, start=start, end=end
        ).calibration
    if reference is None:
        raise CalibrationError("there is nothing to calibrate against", hint="pass a reference or intervals")
    return colocate(
        record, reference, pairs or {}, suite=suite, zone=zone, start=start, end=end, test_from=test_from, like=like
    ).calibration


def colocate(
    record: PathText,
    reference: PathText,
    pairs: Mapping[str, str],
    *,
    suite: str | Path | Suite | None = None,
    zone: str | None = None,
    start: str | None = None,
    end: str | None = None,
    test_from: str | None = None,
    like: Sequence[Calibration] = (),
) -> Colocation:
    """Fit and score a calibration beside a reference, with the data behind it."""
    from pc2dae.calibration.calibrate import fit_colocation
    from pc2dae.calibration.pairs import pair_up

    if not pairs:
        raise CalibrationError("no channel is paired with a column", hint="add --pair CHANNEL=COLUMN:UNITS")
    flight = prepare(open_flight(record, suite=suite, zone=zone))
    measured = suite_of(flight)
    columns = {_known(name, measured, "record"): _column(text, name) for name, text in pairs.items()}
    standard, channels = _reference(reference, flight, dict(columns.values()), zone=zone)
    pairs_of = {name: channels[column] for name, (column, _) in columns.items()}
    same = Path(record).resolve() == Path(reference).resolve()
    flight = _between(flight, start, end)
    begin, after = _between(flight, None, test_from), None if test_from is None else _between(flight, test_from, None)
    fitted = pair_up(begin, standard, pairs_of, offset_s=0.0 if same else None)
    test = None if after is None else pair_up(after, standard, pairs_of, like=fitted)
    data = {Path(p).name: _digest(Path(p)) for p in {Path(record), Path(reference)}}
    return fit_colocation(flight, fitted, test=test, like=like, data=data)


def calibrate_in_gas(
    record: PathText,
    intervals: PathText,
    *,
    units: Mapping[str, str] | None = None,
    suite: str | Path | Suite | None = None,
    zone: str | None = None,
    start: str | None = None,
    end: str | None = None,
) -> GasCalibration:
    """Gains and zeros from stretches of known air that lie between `start` and `end`."""
    from pc2dae.calibration.intervals import fit_intervals, read_intervals

    flight = prepare(open_flight(record, suite=suite, zone=zone))
    low, high = (None if text is None else _time(text) for text in (start, end))
    stated = read_intervals(Path(intervals))
    known = [i for i in stated if (low is None or i.start >= low) and (high is None or i.end <= high)]
    if not known:
        raise CalibrationError(f"{Path(intervals).name} has no interval in the period", hint="check --from and --to")
    data = {Path(p).name: _digest(Path(p)) for p in (record, intervals)}
    return fit_intervals(flight, known, {n: _column(t, n)[1] for n, t in (units or {}).items()}, data=data)


def _known(name: str, suite: Suite, where: str) -> str:
    if name not in suite.names:
        raise CalibrationError(f"the {where} has no channel '{name}'", hint=nearest(name, suite.names))
    return name


def _column(text: str, name: str) -> tuple[str, str]:
    column, colon, units = text.rpartition(":")
    if not colon or not units:
        raise CalibrationError(f"--pair {name}={text} names no unit", hint=f"write {name}={text or 'COLUMN'}:ppb")
    return column, units


def _reference(
    path: PathText, record: xr.Dataset, units: Mapping[str, str], *, zone: str | None
) -> tuple[xr.Dataset, dict[str, str]]:
    """The reference as a flight, and the channel of each column: a table, or instrument files with such channels."""
    from pc2dae.flight.store import is_flight

    if is_flight(path) or Path(path).suffix.lower() not in _TABLES:
        flight = prepare(open_flight(path, zone=zone))
        names = {column: _known(column, suite_of(flight), "reference") for column in units}
        for column, stated in units.items():
            _check_units(column, stated, suite_of(flight)[column].units)
        return flight, names
    own = suite_of(record)
    names = {column: f"ref_{''.join(c if c.isalnum() else '_' for c in column)}" for column in units}
    length_s = float((record["time"].values[-1] - record["time"].values[0]) / np.timedelta64(1, "s"))
    channels = tuple(Channel(name=names[c], column=c, units=u, lower_bound=-1e9) for c, u in units.items())
    for channel in channels:
        _check_units(str(channel.column), channel.units, unit_in(str(channel.column), channel.units))
    table = Suite(
        name="reference",
        rate_hz=1 / 60 if length_s >= _LONG_S else 1.0,
        missing=own.missing,
        time=own.time,
        family=(Family(name="reference", channel=channels),),
    )
    return open_flight(path, suite=table, zone=zone), names


def _check_units(column: str, stated: str, actual: str | None) -> None:
    """Refuse a reference whose own unit is not the one that --pair states."""
    if actual is not None and canonical_units(stated) != actual:
        raise CalibrationError(
            f"--pair states {stated} for '{column}', which is in {actual}", hint=f"write CHANNEL={column}:{actual}"
        )


def _between(flight: xr.Dataset, start: str | None, end: str | None) -> xr.Dataset:
    time = flight["time"].values
    inside = np.ones(len(time), bool)
    if start is not None:
        inside &= time >= _time(start)
    if end is not None:
        inside &= time < _time(end)
    if inside.sum() < 2:
        raise CalibrationError(
            f"the record has no data from {start or 'its start'} to {end or 'its end'}",
            hint=f"it covers {str(time[0])[:16]}Z to {str(time[-1])[:16]}Z",
        )
    return flight.isel(time=np.flatnonzero(inside)).drop_dims("row", errors="ignore")


def _time(text: str) -> np.datetime64:
    from pc2dae.calibration.intervals import stamp

    return stamp(f"{text}T00:00Z" if len(text) == len("2025-10-01") else text, "the period")


def _digest(path: Path) -> str:
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    sha = hashlib.sha256()
    for file in files:
        sha.update(file.read_bytes())
    return sha.hexdigest()
