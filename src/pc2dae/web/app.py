"""The web application: routes, the page's files, errors in one line, the guard in front."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from pc2dae import __version__
from pc2dae.errors import Pc2daeError
from pc2dae.web import flights_api, live_api, server_api
from pc2dae.web.auth import Guard
from pc2dae.web.body import SmallBody
from pc2dae.web.jobs import QueueFull
from pc2dae.web.problems import Refused
from pc2dae.web.reference import reference
from pc2dae.web.schemas import ApiError
from pc2dae.web.settings import Settings
from pc2dae.web.station import Station

STATIC = Path(__file__).parent / "static"
_UNCHANGED = {"Cache-Control": "no-cache"}  # kept, and asked for again every time: the answer is then 304
_LONG = {"Cache-Control": "public, max-age=604800"}


class _Files(StaticFiles):
    """The page's files; a browser asks whether they have changed."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        answer = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        answer.headers.update(_UNCHANGED)
        return answer


def create_app(settings: Settings) -> Guard:
    """The application of one ground station."""
    station = Station(settings)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        await station.start()
        try:
            yield
        finally:
            await station.stop()

    app = FastAPI(
        title="pc2dae ground station", version=__version__, lifespan=life, docs_url=None, redoc_url=None,
        description="Drop a flight, look at it, compare methods, download, watch live.",
        responses={"4XX": {"model": ApiError, "description": "refused, with the reason in one line"}},
        redirect_slashes=False,
    )  # fmt: skip
    app.state.station = station
    app.include_router(flights_api.routes)
    app.include_router(server_api.routes)
    app.include_router(live_api.routes)
    app.add_exception_handler(Pc2daeError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_api_route("/", _page, include_in_schema=False)
    app.add_api_route("/static/plotly.min.js", _plotly, include_in_schema=False)
    app.add_api_route("/docs", lambda: reference(app.openapi()), include_in_schema=False)
    app.mount("/static", _Files(directory=STATIC, check_dir=False), name="static")
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=4)
    app.add_middleware(SmallBody, limits=settings.limits)
    return Guard(app, settings, station)


def _page() -> Response:
    page = STATIC / "index.html"
    if not page.is_file():
        return JSONResponse({"error": "the page is not installed", "hint": "the API is described at /docs"}, 404)
    return FileResponse(page, headers=_UNCHANGED)


def _plotly() -> Response:
    """plotly's own script, out of the installed package."""
    found = importlib.util.find_spec("plotly")
    places = list(found.submodule_search_locations or []) if found is not None else []
    path = Path(places[0]) / "package_data" / "plotly.min.js"
    return FileResponse(path, media_type="text/javascript", headers=_LONG)


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, Refused) else 429 if isinstance(error, QueueFull) else 422
    hint = error.hint if isinstance(error, Pc2daeError) else None
    return _problem(status, Exception.__str__(error), hint)


async def _invalid(request: Request, error: Exception) -> Response:
    """The first thing that is wrong with a request, in one line."""
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {}
    place = ".".join(str(part) for part in first.get("loc", ())[1:])
    said = str(first.get("msg", "it cannot be used"))
    return _problem(422, f"{place[:80]}: {said[:1].lower()}{said[1:200]}" if place else said[:200])


async def _http(request: Request, error: Exception) -> Response:
    status, detail = (error.status_code, error.detail) if isinstance(error, HTTPException) else (400, str(error))
    headers = getattr(error, "headers", None)
    return _problem(status, str(detail)[:200].lower(), headers=headers)


def _problem(status: int, error: str, hint: str | None = None, headers: dict[str, str] | None = None) -> Response:
    text = " ".join(error.split()).encode("utf-8", "replace").decode()
    return JSONResponse({"error": text, "hint": hint}, status_code=status, headers=headers)
