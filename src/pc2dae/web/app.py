"""The web application: routes, the page's files, errors in one line, authorisation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse, HTMLResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Match
from starlette.staticfiles import StaticFiles

from pc2dae import __version__
from pc2dae.errors import Pc2daeError
from pc2dae.view import assets
from pc2dae.web import compare, flights_api, server_api
from pc2dae.web.auth import COOKIE, Guard
from pc2dae.web.intake.uploads import SmallBody
from pc2dae.web.jobs import QueueFull
from pc2dae.web.live import live_api
from pc2dae.web.problems import KINDS, Refused, nothing, problem
from pc2dae.web.schemas import ApiError
from pc2dae.web.settings import Settings
from pc2dae.web.station import Station

STATIC = Path(__file__).parent / "static"
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "the token that `pc2dae serve` was started with"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "set by opening `/?token=…` once"},
}


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
        description="Upload a flight, view it, compare methods, download, watch live.",
        responses={"4XX": {"model": ApiError, "description": "refused, with the reason in one line"}},
        redirect_slashes=False, generate_unique_id_function=lambda route: route.name,
    )  # fmt: skip
    app.state.station = station
    app.include_router(flights_api.routes)
    app.include_router(compare.routes)
    app.include_router(server_api.routes)
    app.include_router(live_api.routes)
    app.add_exception_handler(Pc2daeError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_api_route("/", _page, include_in_schema=False)
    app.add_api_route("/docs", lambda: _docs(app.openapi()), include_in_schema=False)
    app.openapi = cache(lambda: _described(app, settings))  # type: ignore[method-assign]
    app.mount("/static/view", StaticFiles(directory=assets.STATIC), name="view")
    app.mount("/static/uplot", StaticFiles(directory=assets.uplot_folder()), name="uplot")
    app.mount("/static", StaticFiles(directory=STATIC, check_dir=False), name="static")
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=4)
    app.add_middleware(SmallBody, limits=settings.limits)
    return Guard(app, settings, station)


def _described(app: FastAPI, settings: Settings) -> dict[str, Any]:
    """The OpenAPI description, with the token where one is required."""
    schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    for operation in (operation for path in schema["paths"].values() for operation in path.values()):
        refused = operation["responses"]["4XX"]
        refused["content"] = {"application/json": next(iter(refused["content"].values()))}
    if settings.token is not None:
        schema["components"]["securitySchemes"] = _SCHEMES
        schema["security"] = [{"bearer": []}, {"cookie": []}]
        schema["paths"]["/health"]["get"]["security"] = []
    return schema


def _docs(schema: dict[str, Any]) -> Response:
    """Every operation of the API in one table; FastAPI's own page needs scripts from elsewhere."""
    rows = "".join(
        f"<tr><td>{method.upper()}<td><code>{escape(path)}</code><td>{escape(operation.get('description') or '')}"
        for path, operations in schema["paths"].items()
        for method, operation in operations.items()
    )
    title = f"{escape(schema['info']['title'])}: API"
    link = 'Parameters and answers: <a href="/openapi.json">openapi.json</a>'
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
    return HTMLResponse(f"{head}<h1>{title}</h1><p>{link}<table>{rows}</table></html>")


def _page() -> Response:
    page = STATIC / "index.html"
    if not page.is_file():
        return problem(404, "the page is not installed", "the API is described at /openapi.json")
    return FileResponse(page, headers={"Cache-Control": "no-cache"})


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, Refused) else 429 if isinstance(error, QueueFull) else 422
    hint = error.hint if isinstance(error, Pc2daeError) else None
    return problem(status, Exception.__str__(error), hint)


async def _invalid(request: Request, error: Exception) -> Response:
    """The first validation error of a request, in one line."""
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {}
    where, *inside = first.get("loc", ("",))
    if where in ("path", "query") and inside[0] in KINDS and request.method != "PUT":
        return await _refused(request, nothing(inside[0], str(first.get("input", ""))))
    place = ".".join(str(part) for part in inside)
    message = str(first.get("msg", "invalid request"))
    return problem(422, f"{place[:80]}: {message[:1].lower()}{message[1:200]}" if place else message[:200])


async def _http(request: Request, error: Exception) -> Response:
    status, detail = (error.status_code, error.detail) if isinstance(error, HTTPException) else (400, str(error))
    headers = {"Allow": _allowed(request)} if status == 405 else getattr(error, "headers", None)
    return problem(status, str(detail)[:200].lower(), headers=headers)


def _allowed(request: Request) -> str:
    """The methods of a path."""
    routes = request.app.router.routes
    known = [m for m in _METHODS if any(r.matches({**request.scope, "method": m})[0] == Match.FULL for r in routes)]
    is_file = request.url.path.startswith("/static/")  # mounted: matches every method
    return "GET, HEAD" if is_file else ", ".join(known + ["HEAD"] * ("GET" in known))
