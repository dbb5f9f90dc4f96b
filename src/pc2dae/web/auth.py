"""Authorisation of requests by host, origin and token; and the headers of every response.

* Host: without a token only loopback names are accepted, against DNS rebinding.
* Origin, Sec-Fetch-Site: requests that change state must come from our own page.
* Token: by header, or by a cookie that `/?token=…` sets; compared in constant time.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pc2dae.web.problems import problem
from pc2dae.web.settings import Settings, is_loopback

COOKIE = "pc2dae_token"
_SAFE = ("GET", "HEAD", "OPTIONS")
_PUBLIC = ("/", "/health")  # and /static/: the page prompts for the token
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()",
}


class Guard:
    """ASGI middleware that authorises requests."""

    def __init__(self, app: ASGIApp, settings: Settings, station: Any = None) -> None:
        self.app, self.settings, self.station = app, settings, station

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject unauthorised requests and forward the others."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        answer = self._refusal(scope, Headers(scope=scope))

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                is_file = scope["path"].startswith("/static/")  # browsers cache these but revalidate them
                headers.setdefault("Cache-Control", "no-cache" if is_file else "no-store")
            await send(message)

        if scope["method"] == "HEAD" and not scope["path"].endswith("/events"):  # these never end
            scope = {**scope, "method": "GET"}  # the server sends the headers and drops the body
        if answer is not None:
            await answer(scope, receive, with_headers)
        else:
            await self.app(scope, receive, with_headers)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if self.settings.token is None and not is_loopback(_name_of(host)):
            return problem(421, f"this server does not answer to '{host[:80]}'", "open it as http://localhost")
        if not self._is_own(scope, headers, host):
            return problem(403, "only this server's own page may do that")
        if self.settings.token is not None:
            return self._token(scope, headers)
        return None

    def _is_own(self, scope: Scope, headers: Headers, host: str) -> bool:
        """Whether the request comes from our own page; non-browser clients do not send these headers."""
        site = headers.get("sec-fetch-site", "none")
        if site not in ("same-origin", "none"):
            return scope["method"] in _SAFE and headers.get("sec-fetch-mode") == "navigate"
        origin = headers.get("origin")
        if origin is None or scope["method"] in _SAFE:
            return True
        try:
            return urlsplit(origin).netloc.lower() == host.lower()
        except ValueError:
            return False

    def _token(self, scope: Scope, headers: Headers) -> Response | None:
        request = Request(scope)
        given = request.query_params.get("token", "")
        if scope["path"] == "/" and scope["method"] == "GET" and self._matches(given):
            answer = RedirectResponse("/", status_code=303)
            answer.set_cookie(COOKIE, self._sealed(), httponly=True, samesite="strict", max_age=30 * 86400,
                              secure=scope.get("scheme") == "https")  # fmt: skip
            return answer
        if scope["path"] in _PUBLIC or scope["path"].startswith("/static/"):
            return None
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._matches(bearer.strip()):
            return None
        if secrets.compare_digest(request.cookies.get(COOKIE, "").encode(), self._sealed().encode()):
            return None
        return problem(401, "a token is required", "open the address with ?token=…, or send Authorization: Bearer …")

    def _matches(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "replace"), str(self.settings.token).encode())

    def _sealed(self) -> str:
        """The cookie's value: a digest, so that it does not reveal the token."""
        return hashlib.sha256(f"pc2dae cookie {self.settings.token}".encode()).hexdigest()


def _name_of(host: str) -> str:
    """The host name in a Host header, without the port."""
    return host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
