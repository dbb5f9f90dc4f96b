"""The description of the API: ids, examples, security; HEAD, Allow and what a valid identifier looks like."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ground import Ground, grounded, plain_csv

from pc2dae.web.auth import COOKIE
from pc2dae.web.view_models import FlightDetail, FlightShown, PlumesShown, Series


def operations(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, verbs in schema["paths"].items():
        for verb, operation in verbs.items():
            yield path, verb, operation


@pytest.fixture(scope="module")
def schema(ground: Ground) -> dict[str, Any]:
    return dict(ground.get("/openapi.json"))


def test_operation_ids_are_short_names(schema: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(schema)]
    assert len(set(ids)) == len(ids)
    assert {"list_flights", "upload_flight", "get_flight", "download_flight", "connect_live"} <= set(ids)
    assert max(map(len, ids)) <= 24
    assert not [name for name in ids if "api" in name.split("_")]


def test_the_page_of_the_api_lists_every_operation(ground: Ground, schema: dict[str, Any]) -> None:
    page = ground.client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert page.text.count("<tr>") == len(list(operations(schema)))
    assert "<script" not in page.text


def test_the_token_is_described_where_one_is_required(schema: dict[str, Any], tmp_path: Path) -> None:
    assert "security" not in schema
    token = "t" * 24
    with grounded(tmp_path, token=token) as ground:
        ground.client.headers["Authorization"] = f"Bearer {token}"
        described = ground.get("/openapi.json")
        assert described["security"] == [{"bearer": []}, {"cookie": []}]
        assert described["components"]["securitySchemes"]["cookie"]["name"] == COOKIE
        assert described["paths"]["/health"]["get"]["security"] == []


@pytest.mark.parametrize(
    "path",
    ["/", "/openapi.json", "/static/app.js", "/api/flights", "/api/flights/{id}/download"],
)
def test_head_has_the_headers_of_get(ground: Ground, dropped: dict[str, Any], path: str) -> None:
    where = path.format(id=dropped["id"])
    with ground.client.stream("GET", where) as got:
        pass
    head = ground.client.head(where)
    assert (head.status_code, head.content) == (200, b"")
    for name in ("content-type", "content-length", "content-disposition", "etag", "content-security-policy"):
        assert head.headers.get(name) == got.headers.get(name)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/flights", "GET, POST, HEAD"),
        ("POST", "/api/jobs/AAAAAAAAAAAAAAAAAAAAAA", "GET, DELETE, HEAD"),
        ("DELETE", "/static/app.js", "GET, HEAD"),
        ("HEAD", "/api/live/replay", "POST, DELETE"),
    ],
)
def test_a_wrong_method_names_the_right_ones(ground: Ground, method: str, path: str, allowed: str) -> None:
    answer = ground.client.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize(
    ("path", "error", "hint"),
    [
        ("/api/flights/x", "no flight 'x'", "ids are 22 characters, list them with GET /api/flights"),
        ("/api/flights/{id}/view?run=x", "no run 'x'", "ids are 22 characters, GET /api/flights/FLIGHT"),
        ("/api/jobs/{id}", "no job '{id}'", "list them with GET /api/jobs"),
        ("/api/suites/kolibri.toml", "no suite 'kolibri'", "list them with GET /api/suites"),
    ],
)
def test_an_unknown_id_says_what_a_valid_one_is(
    ground: Ground, dropped: dict[str, Any], path: str, error: str, hint: str
) -> None:
    answer = ground.client.get(path.format(id=dropped["id"]))
    assert answer.status_code == 404
    assert answer.json()["error"] == error.format(id=dropped["id"])
    assert hint in answer.json()["hint"]


def test_stored_responses_are_as_described(ground: Ground, dropped: dict[str, Any]) -> None:
    here, run = f"/api/flights/{dropped['id']}", dropped["default_run"]
    FlightDetail.model_validate(dropped)
    for query in ({}, {"run": run}):
        FlightShown.model_validate(ground.get(f"{here}/view", **query))
        Series.model_validate(ground.get(f"{here}/series", **query))
    PlumesShown.model_validate(ground.get(f"{here}/plumes"))
    assert ground.get(f"{here}/track") is None
    failed = ground.drop(("table.csv", plain_csv().replace(b"time,", b"when,").replace(b"_a", b"_z")))
    assert failed["state"] == "failed"
    FlightDetail.model_validate(failed)
