"""Routes for jobs, suites, methods and the server itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from fastapi.responses import PlainTextResponse, Response
from fastapi.sse import EventSourceResponse

from pc2dae import __version__
from pc2dae.web.flights_api import At
from pc2dae.web.methods import METHODS
from pc2dae.web.problems import nothing
from pc2dae.web.schemas import Key, Mapping, Method, ServerHealth, ServerJob, SuiteName, SuiteShown
from pc2dae.web.station import Station

routes = APIRouter()


@routes.get("/health", tags=["server"])
async def health(station: At) -> ServerHealth:
    """Server status and number of jobs."""
    return ServerHealth(version=__version__, queued=station.jobs.waiting, working=len(station.jobs.under_way))


@routes.get("/api/methods", tags=["server"])
async def list_methods() -> list[Method]:
    """Available methods, default first."""
    return list(METHODS.values())


@routes.get("/api/suites", tags=["suites"])
def list_suites(station: At) -> list[SuiteShown]:
    """Shipped suites, then saved ones."""
    return [station.suites.shown(name) for name in station.suites.names()]


@routes.put("/api/suites/{name}", tags=["suites"])
def save_suite(station: At, name: Annotated[SuiteName, Path()], mapping: Mapping) -> SuiteShown:
    """Map the columns of a table; saved as a TOML file."""
    return station.suites.save(name, mapping)


@routes.get("/api/suites/{name}.toml", tags=["suites"], response_class=PlainTextResponse)
def download_suite(station: At, name: Annotated[SuiteName, Path()]) -> Response:
    """A suite as the TOML file that `--suite` takes."""
    _there(station, name)
    saved = {"Content-Disposition": f'attachment; filename="{name}.toml"'}
    return PlainTextResponse(station.suites.text(name), headers=saved)


@routes.delete("/api/suites/{name}", status_code=204, tags=["suites"])
def delete_suite(station: At, name: Annotated[SuiteName, Path()]) -> None:
    """Delete a saved suite."""
    _there(station, name)
    station.suites.delete(name)


@routes.get("/api/jobs", tags=["jobs"])
async def list_jobs(station: At) -> list[ServerJob]:
    """Jobs since the server started, newest last."""
    return station.jobs.listed()


def the_job(station: At, job: Key) -> ServerJob:
    """The job identified in the path."""
    if (known := station.jobs.jobs.get(job)) is None:
        raise nothing("job", job)
    return known


TheJob = Annotated[ServerJob, Depends(the_job)]


@routes.get("/api/jobs/{job}", tags=["jobs"])
async def get_job(station: At, job: TheJob) -> ServerJob:
    """One job."""
    return station.jobs.shown(job)


@routes.delete("/api/jobs/{job}", tags=["jobs"])
async def cancel_job(station: At, job: TheJob) -> ServerJob:
    """Cancel a queued job, or stop its worker."""
    await station.jobs.cancel(job)
    return station.jobs.shown(job)


@routes.get("/api/jobs/{job}/events", tags=["jobs"], response_class=EventSourceResponse)
async def follow_job(station: At, job: TheJob) -> AsyncIterator[ServerJob]:
    """The job as server-sent events, until it ends."""
    async for now in station.jobs.follow(job):
        yield now
        await asyncio.sleep(0.05)  # 20 Hz is enough for a progress bar


def _there(station: Station, name: str) -> None:
    if name not in station.suites.names():
        raise nothing("name", name)
