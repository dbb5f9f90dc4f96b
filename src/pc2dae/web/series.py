"""A flight's arrays on disk, written by the worker and read by the server one at a time; series and track from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pc2dae.atomic import replacing
from pc2dae.view.series import Columns, series_json, track_json
from pc2dae.web.problems import Refused
from pc2dae.web.schemas import Flight, Run
from pc2dae.web.store import Store


def write_columns(path: Path, columns: Columns) -> None:
    """Write arrays by name, uncompressed; no pickle."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **columns)


def read_columns(path: Path) -> Columns:
    """Arrays by name, each read from the file when it is asked for."""
    columns: Columns = np.load(path, allow_pickle=False)
    return columns


def named(facts: dict[str, Any], channels: str | None) -> list[str]:
    """The channels of a flight that are named with commas between them; all by default."""
    known = [c["name"] for c in facts["channels"]]
    names = [name for name in (channels or "").split(",") if name] or known
    if unknown := [name for name in names if name not in known]:
        raise Refused(422, f"the flight has no channel '{unknown[0][:64]}'", hint=f"it has {', '.join(known[:12])}")
    return names


def series(store: Store, flight: Flight, run: Run | None, *, channels: str | None, start: float | None,
           stop: float | None, points: int) -> str:  # fmt: skip
    """Raw values, estimate, band and flags of the selected channels on a common time axis."""
    facts = ready_facts(store, flight)
    names = named(facts, channels)
    measured = read_columns(store.folder(flight.id) / "columns.npz")
    done = read_columns(store.folder(flight.id, run.id) / "columns.npz") if run is not None else {}
    flags = store.facts(flight.id, name="flags")
    return series_json(measured, done, flags, names, rate_hz=facts["rate_hz"], points=points, start=start, stop=stop)


def track(store: Store, flight: Flight) -> str:
    """Position of the drone [m], or null."""
    ready_facts(store, flight)
    return track_json(read_columns(store.folder(flight.id) / "columns.npz"))


def ready_facts(store: Store, flight: Flight) -> dict[str, Any]:
    """What the worker found out about a flight, which must be ready."""
    facts = store.facts(flight.id) if flight.state == "ready" else None
    if facts is None:
        raise Refused(409, "the flight is not ready", hint="wait for its job")
    return dict(facts)
