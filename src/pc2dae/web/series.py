"""Series and track of a stored flight, for the API."""

from __future__ import annotations

from typing import Any

from pc2dae.view.series import series_json, track_json
from pc2dae.web.columns import ColumnFile
from pc2dae.web.problems import Refused, nothing
from pc2dae.web.schemas import Flight, Run
from pc2dae.web.store import Store


def series(store: Store, flight: Flight, run: Run | None, *, channels: list[str] | None, start: float | None,
           stop: float | None, points: int) -> str:  # fmt: skip
    """Raw values, estimate, band and flags of the selected channels on a common time axis."""
    facts = _facts(store, flight)
    names = [c["name"] for c in facts["channels"]]
    for name in channels or []:
        if name not in names:
            raise Refused(422, f"the flight has no channel '{name[:64]}'", hint=f"it has {', '.join(names[:12])}")
    measured = ColumnFile(store.folder(flight.id) / "columns.npz")
    done = ColumnFile(store.folder(flight.id, run.id) / "columns.npz") if run is not None else {}
    flags = store.facts(flight.id, name="flags")
    return series_json(measured, done, flags, channels or names, rate_hz=facts["rate_hz"], points=points, start=start,
                       stop=stop)  # fmt: skip


def track(store: Store, flight: Flight) -> str:
    """Position of the drone [m], or null."""
    _facts(store, flight)
    return track_json(ColumnFile(store.folder(flight.id) / "columns.npz"))


def _facts(store: Store, flight: Flight) -> dict[str, Any]:
    if flight.state != "ready":
        raise Refused(409, "the flight is not ready", hint="wait for its job")
    if (facts := store.facts(flight.id)) is None:
        raise nothing("flight", flight.id)
    return dict(facts)
