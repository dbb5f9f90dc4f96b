"""Size and time limits for the bodies of requests other than uploads."""

from __future__ import annotations

import asyncio
import time

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pc2dae.web.settings import Limits

_UPLOAD = ("POST", "/api/flights")  # enforces its own limits


class SmallBody:
    """ASGI middleware that reads a small body completely before it calls the application."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app, self.limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject bodies that are too large or arrive too slowly."""
        if scope["type"] != "http" or (scope["method"], scope["path"]) == _UPLOAD or scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        body, more, started = bytearray(), True, time.monotonic()
        while more:
            try:
                message = await asyncio.wait_for(receive(), self.limits.quiet_s)
            except TimeoutError:
                await self._no(408, "the request body is incomplete")(scope, receive, send)
                return
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.limits.json_bytes:
                await self._no(413, f"more than {self.limits.json_bytes:,} bytes")(scope, receive, send)
                return
            if time.monotonic() - started > 2 * self.limits.quiet_s:
                await self._no(408, "the request body arrived too slowly")(scope, receive, send)
                return
        given = False

        async def replay() -> Message:
            nonlocal given
            if not given:
                given = True
                return {"type": "http.request", "body": bytes(body), "more_body": False}
            return await receive()

        await self.app(scope, replay, send)

    def _no(self, status: int, error: str) -> JSONResponse:
        return JSONResponse({"error": error, "hint": None}, status_code=status)
