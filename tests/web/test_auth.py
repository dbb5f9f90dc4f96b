from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from pc2dae.web.auth import Guard
from pc2dae.web.settings import Settings

TOKEN = 'a long; and "odd" token'


def ask(settings: Settings, method: str, url: str, **more: Any) -> httpx.Response:
    """One request through the authentication to an application that accepts everything."""
    methods = ["GET", "POST", "DELETE"]
    app = Starlette(routes=[Route(p, lambda r: PlainTextResponse("granted"), methods=methods)
                            for p in ("/", "/api/x", "/health", "/static/app.js")])  # fmt: skip

    async def one() -> httpx.Response:
        transport = httpx.ASGITransport(Guard(app, settings))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8000") as client:
            return await client.request(method, url, **more)

    return asyncio.run(one())


@pytest.fixture
def here(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path)


@pytest.fixture
def open_to_all(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path, host="0.0.0.0", token=TOKEN)


@pytest.mark.parametrize(("host", "status"), [("localhost:8000", 200), ("127.0.0.1", 200), ("[::1]:8000", 200),
    ("evil.example", 421), ("localhost.evil.example", 421), ("127.0.0.1.evil.example", 421), ("", 421),
    ("[::1", 421), ("192.168.0.9:8000", 421)])  # fmt: skip
def test_a_borrowed_name_is_not_answered(here: Settings, host: str, status: int) -> None:
    assert ask(here, "GET", "/api/x", headers={"host": host}).status_code == status


@pytest.mark.parametrize(("method", "headers", "status"), [
    ("POST", {}, 200),
    ("POST", {"origin": "http://localhost:8000"}, 200),
    ("POST", {"origin": "http://localhost:8000", "sec-fetch-site": "same-origin"}, 200),
    ("POST", {"origin": "http://localhost:9999"}, 403),
    ("POST", {"origin": "https://evil.example"}, 403),
    ("POST", {"origin": "null"}, 403),
    ("POST", {"origin": "http://[bad"}, 403),
    ("POST", {"sec-fetch-site": "cross-site"}, 403),
    ("DELETE", {"sec-fetch-site": "same-site"}, 403),
    ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
    ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200),
])  # fmt: skip
def test_only_our_own_page_may_change_something(
    here: Settings, method: str, headers: dict[str, str], status: int
) -> None:
    assert ask(here, method, "/api/x", headers=headers).status_code == status


def test_every_answer_is_dressed(here: Settings) -> None:
    for answer in (ask(here, "GET", "/"), ask(here, "GET", "/nothing"), ask(here, "GET", "/", headers={"host": "x"})):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "access-control-allow-origin" not in answer.headers


def test_without_the_token_only_the_page_itself_is_shown(open_to_all: Settings) -> None:
    for path, status in (("/", 200), ("/health", 200), ("/static/app.js", 200), ("/api/x", 401)):
        assert ask(open_to_all, "GET", path, headers={"host": "kite.example"}).status_code == status
    for headers in ({"authorization": "Bearer wrong"}, {"authorization": TOKEN}, {"cookie": f"pc2dae_token={'0' * 64}"},
                    {"cookie": "pc2dae_token=\"\\"}, {"authorization": "Bearer"}):  # fmt: skip
        assert ask(open_to_all, "GET", "/api/x", headers=headers).status_code == 401
    assert ask(open_to_all, "GET", "/api/x", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_the_token_in_the_address_becomes_a_cookie(open_to_all: Settings) -> None:
    assert ask(open_to_all, "GET", "/", params={"token": "wrong"}).headers.get("set-cookie") is None
    answer = ask(open_to_all, "GET", "/", params={"token": TOKEN})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "odd" not in cookie
    name = cookie.partition(";")[0]
    assert ask(open_to_all, "GET", "/api/x", headers={"cookie": name}).status_code == 200
