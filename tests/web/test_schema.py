"""Requests made up from the API's own description: none may break the server."""

from __future__ import annotations

import sys
from pathlib import Path

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck
from schemathesis.checks import not_a_server_error

sys.path.insert(0, str(Path(__file__).parent))
from ground import Ground

LEFT_OUT = "/events"  # endless by design


@pytest.fixture(scope="session")
def described(ground: Ground, dropped: dict[str, object]) -> object:
    """The description, the identifiers of a flight that is there among its examples."""
    raw = ground.get("/openapi.json")
    known = {"flight": dropped["id"], "run": dropped["default_run"]}
    for operations in raw["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", []):
                if parameter["name"] in known:
                    parameter["example"] = known[parameter["name"]]
    schema = schemathesis.openapi.from_dict(raw)
    schema.config.update(base_url=f"http://127.0.0.1:{ground.port}")
    return schema


schema = schemathesis.pytest.from_fixture("described").exclude(path_regex=LEFT_OUT)


@schema.parametrize()
@hypothesis.settings(max_examples=6, deadline=None, derandomize=True, database=None,
                     suppress_health_check=list(HealthCheck))  # fmt: skip
def test_no_request_breaks_the_server(case: schemathesis.Case) -> None:
    if case.method == "DELETE" and case.path == "/api/flights/{flight}":
        case.path_parameters["flight"] = "AAAAAAAAAAAAAAAAAAAAAA"  # the others still need it
    case.call_and_validate(checks=[not_a_server_error], timeout=60)
