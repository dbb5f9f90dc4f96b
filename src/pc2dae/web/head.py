"""HEAD for every GET route, and the methods that a path allows."""

from __future__ import annotations

import asyncio

from fastapi import Request
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class HeadRequests:
    """ASGI middleware that answers HEAD with the headers of GET; an endless stream ends with its first piece."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward HEAD as GET and drop the body."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        is_read, is_sent = False, asyncio.Event()

        async def empty() -> Message:
            nonlocal is_read
            if not is_read:
                is_read = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await is_sent.wait()
            return {"type": "http.disconnect"}

        async def headers_only(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
            elif not is_sent.is_set():
                is_sent.set()
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        # up to 2.3 Starlette watches `receive` for the disconnect that ends a stream
        asked = {**scope, "method": "GET", "asgi": {**scope["asgi"], "spec_version": "2.3"}}
        await self.app(asked, empty, headers_only)


def allowed(request: Request) -> str:
    """The methods of a path, for the header `Allow`."""
    routes = request.app.router.routes
    found = [m for m in _METHODS if any(r.matches({**request.scope, "method": m})[0] == Match.FULL for r in routes)]
    is_file = request.url.path.startswith("/static/")  # mounted: matches every method
    return "GET, HEAD" if is_file else ", ".join(found + ["HEAD"] * ("GET" in found))
