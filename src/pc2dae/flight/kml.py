"""Flights as KML 2.2 for Google Earth: the track, coloured by the channel that shows smoke best."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent  # XML is written, not parsed  # nosec B405

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pc2dae.arrays import Array
from pc2dae.flight.track import Track, iso_stamps, main_channel, track_of

MOST_POINTS = 2_000  # of a line: more makes Google Earth slow
# Viridis from low to high, as KML writes colours: opacity, blue, green, red.
_COLOURS = ("ff540144", "ff7f3246", "ff8d5c36", "ff8e7f27", "ff87a11f", "ff6dc14a", "ff39d79f", "ff25e7fd")
_UNKNOWN = "ff999999"


def write_kml(flight: xr.Dataset, path: Path) -> None:
    """Write the track as pieces of one colour with their time; each point has the highest value of its samples."""
    track, name, root = track_of(flight), main_channel(flight), Element("kml", xmlns="http://www.opengis.net/kml/2.2")
    at = thinned(track.known)
    stamps = iso_stamps(flight["time"].values)
    classes, limits = _classes(flight, name, at)
    unit = "" if name is None else str(flight[name].attrs.get("units", ""))
    scale = "" if name is None else f"; colour by {name}, from {limits[0]:.4g} to {limits[-1]:.4g} {unit}"
    document = add_document(root, str(flight.attrs.get("id", "flight")), f"track{scale}")
    for number, colour in enumerate((*_COLOURS, _UNKNOWN)):
        add_line_style(document, f"c{number}", colour)
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(at)], strict=True):
        piece, number = at[start : stop + 1], int(classes[start])  # up to the first point of the next piece
        if len(piece) > 1:
            is_known = number < len(_COLOURS)
            label = f"{name} {limits[number]:.4g} to {limits[number + 1]:.4g} {unit}" if is_known else "no value"
            begin, end = str(stamps[piece[0]]), str(stamps[piece[-1]])
            add_line(add_placemark(document, label, begin, end, style=f"c{number}"), track, piece)
    save(root, path)


def _classes(flight: xr.Dataset, name: str | None, at: NDArray[np.intp]) -> tuple[NDArray[np.intp], Array]:
    """Colour of the samples `at`, and the limits of the colours: equal steps from the 1st to the 99th percentile."""
    unknown = np.full(len(at), len(_COLOURS))
    if name is None:
        return unknown, np.empty(0)
    values = np.fmax.reduceat(flight[name].values.astype(np.float64), at)
    low, high = np.nanpercentile(flight[name].values, [1, 99])
    limits = np.linspace(low, high, len(_COLOURS) + 1)
    return np.where(np.isfinite(values), np.digitize(values, limits[1:-1]), unknown), limits


def thinned(at: NDArray[np.intp]) -> NDArray[np.intp]:
    """At most `MOST_POINTS` of some samples, evenly, with the first and the last."""
    return at if len(at) <= MOST_POINTS else at[np.linspace(0, len(at) - 1, MOST_POINTS).astype(np.intp)]


def add_document(root: Element, name: str, description: str) -> Element:
    """A document with its name and description."""
    document = SubElement(root, "Document")
    add_text(document, "name", name)
    add_text(document, "description", f"{description}; written by pc2dae {version('pc2dae')}")
    return document


def add_line_style(document: Element, name: str, colour: str, width: int = 4) -> None:
    """A style of lines; `colour` as opacity, blue, green, red in hexadecimal."""
    style = SubElement(SubElement(document, "Style", id=name), "LineStyle")
    add_text(style, "color", colour)
    add_text(style, "width", str(width))


def add_placemark(
    document: Element, name: str, begin: str, end: str, *, style: str, description: str | None = None
) -> Element:
    """A placemark that is valid from `begin` to `end`; elements in the order that the schema asks for."""
    placemark = SubElement(document, "Placemark")
    add_text(placemark, "name", name)
    if description is not None:
        add_text(placemark, "description", description)
    span = SubElement(placemark, "TimeSpan")
    add_text(span, "begin", begin)
    add_text(span, "end", end)
    add_text(placemark, "styleUrl", f"#{style}")
    return placemark


def add_line(parent: Element, track: Track, at: NDArray[np.intp]) -> None:
    """A line through the samples `at`, at their altitude if that is known for all of them, else on the ground."""
    line = SubElement(parent, "LineString")
    add_text(line, "tessellate", "1")
    _add_positions(line, track, at)


def add_point(parent: Element, track: Track, at: int) -> None:
    """The position of one sample."""
    _add_positions(SubElement(parent, "Point"), track, np.array([at]))


def save(root: Element, path: Path) -> None:
    """Write the XML."""
    indent(root, " ")
    ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _add_positions(shape: Element, track: Track, at: NDArray[np.intp]) -> None:
    columns = [track.longitude[at], track.latitude[at]]
    if np.isfinite(track.altitude[at]).all():
        columns.append(track.altitude[at])
        add_text(shape, "altitudeMode", "relativeToGround" if track.is_above_ground else "absolute")
    positions = zip(*(column.round(7).tolist() for column in columns), strict=True)  # 7 decimals of a degree: 1 cm
    add_text(shape, "coordinates", " ".join(",".join(map(str, position)) for position in positions))


def add_text(parent: Element, tag: str, text: str) -> None:
    """An element that contains text."""
    SubElement(parent, tag).text = "".join(c for c in text if c.isprintable())  # XML has no control characters
