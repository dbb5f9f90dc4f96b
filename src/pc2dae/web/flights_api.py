"""Routes for flights: upload, view, denoise, download."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import FileResponse, JSONResponse, Response

from pc2dae.web.intake.uploads import receive_upload
from pc2dae.web.problems import Refused, nothing
from pc2dae.web.schemas import (
    Accepted,
    CleanAirStated,
    Details,
    Flight,
    Key,
    ReadAgain,
    Run,
    RunAccepted,
    RunRequest,
    Score,
    Split,
)
from pc2dae.web.series import series, track
from pc2dae.web.station import FORMATS, Station, slug
from pc2dae.web.store import new_id
from pc2dae.web.view_models import FlightDetail, FlightShown, PlumesShown, Series, TrackShown

routes = APIRouter(prefix="/api/flights", tags=["flights"])
_MOST_MS = 4e12  # the year 2096
Moment = Annotated[float | None, Query(ge=-_MOST_MS, le=_MOST_MS, allow_inf_nan=False, description="ms since 1970")]
Channels = Annotated[str | None, Query(max_length=4000, description="names with commas between them")]
Points = Annotated[int, Query(ge=10, le=20_000)]
RunKey = Annotated[Key | None, Query(description="default: the flight's first run")]
_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "properties": {
                        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
                        "suite": {"type": "string", "description": "name of a suite"},
                        "zone": {"type": "string", "description": "time zone of stamps that carry none"},
                        "several": {"type": "string", "enum": ["ask"], "description": "if they may be several"},
                        "name": {"type": "string", "description": "what to call the flight"},
                    },
                }
            }
        },
    }
}


def the_station(request: Request) -> Station:
    """The ground station that serves a request."""
    station: Station = request.app.state.station
    return station


At = Annotated[Station, Depends(the_station)]


def the_flight(station: At, flight: Annotated[Key, Path()]) -> Flight:
    """The flight identified in the path."""
    return station.flight(flight)


Of = Annotated[Flight, Depends(the_flight)]


@routes.get("")
async def list_flights(station: At) -> list[Flight]:
    """All flights, the newest first, the gallery's last."""
    return station.store.listed()


@routes.post("", status_code=202, openapi_extra=_FORM)
async def upload_flight(station: At, request: Request) -> Accepted:
    """Log files, a zip or a netCDF: read by a worker, then denoised with the default model."""
    station.check_room()
    number = new_id()
    folder = station.store.folder(number)
    (folder / "uploads").mkdir(parents=True, mode=0o700)
    try:
        upload = await receive_upload(request, folder / "uploads", station.settings.limits)
        await station.check_files(folder / "uploads")
        flight, job = station.accept(number, upload)
    except BaseException:
        station.store.discard(number)
        raise
    return Accepted(flight=flight, job=station.jobs.shown(job))


@routes.get("/{flight}", response_model=FlightDetail)
async def get_flight(station: At, flight: Of) -> JSONResponse:
    """Everything about a flight except its time series."""
    facts = station.store.facts(flight.id) or {}
    runs = [
        run.model_dump() | (station.store.facts(flight.id, run.id) or {}) for run in station.store.runs_of(flight.id)
    ]
    lead = next((run["lead"] for run in runs if run["id"] == flight.default_run and "lead" in run), "")
    blank: dict[str, Any] = {"channels": [], "verdicts": [], "motion": {}, "environment": {}, "gaps": [],
                             "rate_hz": None,
                             "has_track": False, "has_truth": False}  # fmt: skip
    stored = station.store.facts(flight.id, name="intake")
    parts = station.store.facts(flight.id, name="parts") if flight.questions else None
    return JSONResponse(
        {**blank, **facts, **flight.model_dump(), "lead": lead, "intake": stored, "parts": parts, "runs": runs}
    )


@routes.delete("/{flight}", status_code=204)
async def delete_flight(station: At, flight: Of) -> None:
    """Delete a flight and everything made from it; it can be restored for a day."""
    await station.delete(flight)


@routes.post("/{flight}/restore")
async def restore_flight(station: At, flight: Key) -> Flight:
    """Undo a deletion."""
    return station.store.restore(flight)


@routes.patch("/{flight}")
async def describe_flight(station: At, flight: Of, details: Details) -> Flight:
    """Change a flight's name, notes or tags."""
    return station.describe(flight, details)


@routes.post("/{flight}/again", status_code=202)
async def read_again(station: At, flight: Of, how: ReadAgain) -> Accepted:
    """Read a flight's files again: with another suite, zone or mapping, or with answers to its questions."""
    job = station.again(flight, how)
    return Accepted(flight=flight, job=station.jobs.shown(job))


@routes.post("/{flight}/split", status_code=202)
async def split_flight(station: At, flight: Of, how: Split) -> list[Flight]:
    """Read a flight that is several as flights of their own; the flight and its files are kept."""
    return station.split(flight, how)


@routes.post("/{flight}/runs", status_code=202)
async def denoise_flight(station: At, flight: Of, wanted: RunRequest) -> RunAccepted:
    """Denoise with a method; an existing run is reused."""
    run, job = station.want_run(flight, wanted.method, wanted.strength)
    return RunAccepted(run=run, job=station.jobs.shown(job) if job is not None else None)


@routes.put("/{flight}/runs/{run}/clean-air", status_code=202)
async def state_clean_air(station: At, flight: Of, run: Key, stated: CleanAirStated) -> RunAccepted:
    """State the clean air of a run, which its plumes are measured above."""
    chosen = ready_run(station, flight, run)
    return RunAccepted(run=chosen, job=station.jobs.shown(station.state_clean_air(chosen, stated.periods)))


@routes.delete("/{flight}/runs/{run}", status_code=204)
async def delete_run(station: At, flight: Of, run: Key) -> None:
    """Delete a run."""
    await station.delete(flight, station.run(flight.id, run))


@routes.get("/{flight}/view", response_model=FlightShown)
async def get_view(station: At, flight: Of, run: Key | None = None) -> JSONResponse:
    """The flight view that the page draws, of a run or of the flight as measured; series and track are separate."""
    return stored(station, flight, run, "view")


@routes.get("/{flight}/series", response_model=Series)
def get_series(
    station: At,
    flight: Of,
    run: Key | None = None,
    channels: Channels = None,
    start: Annotated[Moment, Query(alias="from")] = None,
    stop: Annotated[Moment, Query(alias="to")] = None,
    points: Points = 1500,
) -> Response:
    """Raw, estimate, 90 % band and flags over time; thinned to `points` so that no peak is lost."""
    chosen = ready_run(station, flight, run) if run is not None else None
    text = series(station.store, flight, chosen, channels=channels, start=start, stop=stop, points=points)
    return Response(text, media_type="application/json")


@routes.get("/{flight}/track", response_model=TrackShown | None)
def get_track(station: At, flight: Of) -> Response:
    """East, north and altitude [m] over time, each null where not known; null where the flight has none."""
    return Response(track(station.store, flight), media_type="application/json")


@routes.get("/{flight}/plumes", response_model=PlumesShown)
async def get_plumes(station: At, flight: Of, run: RunKey = None) -> JSONResponse:
    """Encounters, excess, emission ratios and combustion efficiency, with their uncertainty."""
    if (chosen := run or flight.default_run) is None:
        raise nothing("run")
    return stored(station, flight, chosen, "plumes")


@routes.get("/{flight}/scores")
async def get_scores(station: At, flight: Of) -> list[Score]:
    """Scores of all runs beside those of raw, clipped and constant estimates and, where known, the truth."""
    rows: list[Score] = []
    references: list[Score] = []
    for run in station.store.runs_of(flight.id):
        stored = station.store.facts(flight.id, run.id, name="scores") or []
        mine = (station.store.facts(flight.id, run.id) or {}).get("model")
        rows += [Score(run=run.id, strength=run.strength, **row) for row in stored if row["method"] == mine]
        references = references or [Score(run=None, strength=None, **row) for row in stored if row["method"] != mine]
    return rows + references


@routes.get("/{flight}/download", response_class=Response)
async def download_flight(
    station: At,
    flight: Of,
    run: Key | None = None,
    form: Annotated[Literal["nc", "csv", "ict", "html"], Query(alias="format")] = "nc",
) -> FileResponse:
    """A run (or, without one, the flight as measured) as netCDF, CSV, ICARTT or the report's page."""
    if flight.state != "ready":
        raise Refused(409, "the flight is not ready", hint="wait for its job")
    chosen = ready_run(station, flight, run) if run is not None else None
    path = await station.export(flight, chosen, form)
    name = f"{slug(flight.name)}{f'-{chosen.method}' if chosen is not None else ''}.{form}"
    sandbox = {"Content-Security-Policy": "sandbox; default-src 'none'"}  # never rendered in the origin of this server
    return FileResponse(path, media_type=FORMATS[form], filename=name, headers=sandbox)


def ready_run(station: Station, flight: Flight, number: str) -> Run:
    """The run with this identifier, which must be ready."""
    run = station.run(flight.id, number)
    if run.state != "ready":
        raise Refused(409, run.error or "the run is not ready", hint=run.hint or "wait for its job")
    return run


def stored(station: Station, flight: Flight, run: str | None, name: str) -> JSONResponse:
    """What a worker wrote for a run, or without one for the flight as measured, as it is."""
    chosen = ready_run(station, flight, run).id if run is not None else None
    if (facts := station.store.facts(flight.id, chosen, name=name)) is None:
        raise nothing(name)
    return JSONResponse(facts)
