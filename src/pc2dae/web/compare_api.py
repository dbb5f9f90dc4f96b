"""Routes that compare: two runs of a flight, two sensors of a species, two flights."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from pc2dae.web.beside import beside
from pc2dae.web.columns import ColumnFile
from pc2dae.web.compare_models import Beside, RunDifference, SensorPair
from pc2dae.web.difference import difference
from pc2dae.web.flights_api import At, Moment, Of, ready_run
from pc2dae.web.problems import Refused, nothing
from pc2dae.web.schemas import Key

routes = APIRouter(prefix="/api/flights", tags=["compare"])


@routes.get("/{flight}/difference")
def get_difference(
    station: At,
    flight: Of,
    run: Key,
    other: Key,
    channels: Annotated[str | None, Query(max_length=4000, description="names with commas between them")] = None,
    start: Annotated[Moment, Query(alias="from")] = None,
    stop: Annotated[Moment, Query(alias="to")] = None,
    points: Annotated[int, Query(ge=10, le=20_000)] = 1500,
) -> RunDifference:
    """Other run minus run over time; mean bias and RMS of all samples of the range, the series thinned to `points`."""
    store = station.store
    known = [c["name"] for c in (store.facts(flight.id) or {}).get("channels", [])]
    names = known if channels is None else [name for name in channels.split(",") if name]
    if unknown := [name for name in names if name not in known]:
        raise Refused(422, f"the flight has no channel '{unknown[0][:64]}'", hint=f"it has {', '.join(known[:12])}")
    folders = [store.folder(flight.id, ready_run(station, flight, number).id) for number in (run, other)]
    mine, theirs = (ColumnFile(folder / "columns.npz") for folder in folders)
    time = ColumnFile(store.folder(flight.id) / "columns.npz")["time"]
    return difference(time, mine, theirs, names, start=start, stop=stop, points=points)


@routes.get("/{flight}/sensors", response_model=list[SensorPair])
async def get_sensors(station: At, flight: Of, run: Key | None = None) -> JSONResponse:
    """Every pair of sensors of one species, of a run or of the flight as measured: points, bias and York regression."""
    chosen = ready_run(station, flight, run).id if run is not None else None
    if (found := station.store.facts(flight.id, chosen, name="sensors")) is None:
        raise nothing("comparison of sensors")
    return JSONResponse(found)


@routes.get("/{flight}/beside")
async def get_beside(station: At, flight: Of, other: Key) -> Beside:
    """The figures of two flights with their difference, and the channels that both have."""
    return beside(station.store, flight, station.flight(other))
