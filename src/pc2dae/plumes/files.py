"""Surveys as files for other tools, by suffix: .csv, .geojson, .kml; written atomically."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement  # XML is written, not parsed  # nosec B405

import numpy as np
from numpy.typing import NDArray

from pc2dae.atomic import replacing
from pc2dae.errors import FlightError
from pc2dae.flight import geojson, kml
from pc2dae.flight.csv import guarded
from pc2dae.flight.track import Track, iso_stamps, track_of
from pc2dae.plumes.table import FIXED, encounter_table

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from pc2dae.plumes.survey import Survey

    Results = list[tuple[xr.Dataset, Survey]]

_TIMES = ("onset", "end", "peak_time")
_TRACK_COLOUR, _PLUME_COLOUR = "ffcccccc", "ff1f4fff"  # opacity, blue, green, red


def write_plumes(results: Iterable[tuple[xr.Dataset, Survey]], path: str | os.PathLike[str]) -> None:
    """Write the tables of flights and their surveys in the format of the path's suffix."""
    target = Path(path)
    check_plumes_target(target)
    with replacing(target) as temporary:
        _WRITERS[target.suffix.lower()](list(results), temporary)


def check_plumes_target(path: Path) -> None:
    """Check the format of a target before a long computation."""
    if path.suffix.lower() not in _WRITERS:
        raise FlightError(f"'{path.name}' is not a known format of plumes", hint=f"use one of {', '.join(_WRITERS)}")


def is_plume_table(header: list[str]) -> bool:
    """Whether a table has the columns that `write_plumes` writes to a CSV."""
    return tuple(header[: len(FIXED)]) == FIXED


def _write_csv(results: Results, path: Path) -> None:
    import pandas as pd

    table = pd.concat([_as_text(encounter_table(flight, survey)) for flight, survey in results])
    guarded(table).to_csv(path, index=False, lineterminator="\n")


def _write_geojson(results: Results, path: Path) -> None:
    """The track of each flight and the stretch of each encounter as lines, with the columns of the table."""
    features = [
        geojson.feature(geojson.geometry(piece.track, piece.at), piece.row)
        for flight, survey in results
        for piece in _pieces(flight, survey)
    ]
    path.write_text(geojson.collection("plumes", features, {}), encoding="utf-8")


def _write_kml(results: Results, path: Path) -> None:
    """The track of each flight, and the stretch and peak of each encounter with a table in its balloon."""
    root = Element("kml", xmlns="http://www.opengis.net/kml/2.2")
    document = kml.add_document(root, "plumes", "plume encounters")
    kml.add_line_style(document, "flight", _TRACK_COLOUR, width=2)
    kml.add_line_style(document, "encounter", _PLUME_COLOUR)
    for flight, survey in results:
        for row, track, at, peak in _pieces(flight, survey):
            name, kind = f"{row['flight']}, {row['scope']}", "flight" if row["number"] is None else "encounter"
            placemark = kml.add_placemark(
                document, name, row["onset"], row["end"], style=kind, description=_balloon(row)
            )
            extended = SubElement(placemark, "ExtendedData")
            for key, value in row.items():
                if value is not None:
                    kml.add_text(SubElement(extended, "Data", name=key), "value", str(value))
            shapes = SubElement(placemark, "MultiGeometry")
            if kind == "encounter" and len(at):
                kml.add_point(shapes, track, peak)
            if len(at) > 1:
                kml.add_line(shapes, track, kml.thinned(at))
    kml.save(root, path)


_WRITERS = {".csv": _write_csv, ".geojson": _write_geojson, ".kml": _write_kml}


class _Piece(NamedTuple):
    """A row of the table and its part of the track."""

    row: dict[str, Any]
    track: Track
    at: NDArray[np.intp]  # samples with a position
    peak: int  # the one nearest to the peak; −1 if there is none


def _pieces(flight: xr.Dataset, survey: Survey) -> Iterator[_Piece]:
    """The rows of a flight and its encounters; raises an error if the flight has no position."""
    from pandas import isna

    track, table, time = track_of(flight), encounter_table(flight, survey), flight.variables["time"].values
    known, peaks = track.known, np.searchsorted(time, table["peak_time"].to_numpy(time.dtype))
    within = [known, *(known[(known >= start) & (known < stop)] for start, stop in survey.intervals)]
    for row, at, peak in zip(_as_text(table).to_dict("records"), within, peaks, strict=True):
        plain = {str(key): None if isna(value) else value for key, value in row.items()}
        yield _Piece(plain, track, at, int(at[np.argmin(np.abs(at - peak))]) if len(at) else -1)


def _as_text(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its times as ISO 8601 text in UTC."""
    table = table.copy()
    for key in _TIMES:
        table[key] = [None if np.isnat(t) else str(iso_stamps(t)) for t in table[key].to_numpy("datetime64[ns]")]
    return table


def _balloon(row: dict[str, Any]) -> str:
    """Time, peaks and results with their uncertainty as an HTML table."""
    lines = [("onset", row["onset"]), ("duration", f"{row['duration_s']:.0f} s")]
    for key, value in row.items():
        stem, _, kind = key.rpartition("_")
        units = row.get(f"{key}_units") or row.get(f"{stem}_units") or ""
        if value is not None and f"{key}_sigma" in row:
            seconds = " s" if kind == "excess" else ""
            lines.append(
                (key, f"{value:.4g} ± {row[f'{key}_sigma'] or np.nan:.2g} {units}{seconds}".removesuffix(" 1").rstrip())
            )
    return f"<table>{''.join(f'<tr><td>{escape(a)}</td><td>{escape(b)}</td></tr>' for a, b in lines)}</table>"
