"""Requests generated from the API description: none may break the server."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest
import schemathesis
import schemathesis.specs.openapi.negative.mutations  # now: Python 3.11 fails to compile it deep inside hypothesis
from ground import grounded, plain_csv
from hypothesis import HealthCheck
from schemathesis import GenerationMode

NOBODY = "AAAAAAAAAAAAAAAAAAAAAA"
FEW = hypothesis.settings(
    max_examples=5, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.slow
def test_no_request_breaks_the_server(tmp_path: Path) -> None:
    with grounded(tmp_path) as ground:  # its own: made-up requests choose models and topics too
        own = ground.drop(("gas.csv", plain_csv()))
        description = ground.get("/openapi.json")
        schema = schemathesis.openapi.from_dict(description)
        known = {"flight": own["id"], "run": own["default_run"], "job": NOBODY, "name": "made-up"}
        asked: set[str] = set()

        def ask(case: schemathesis.Case) -> None:
            if (
                case.method != "DELETE"
                and len(case.path_parameters or {})
                and case.path_parameters.keys() <= known.keys()
            ):
                case.path_parameters = {k: known[k] for k in case.path_parameters}  # beyond the first check
            answer = case.call(base_url=f"http://127.0.0.1:{ground.port}", timeout=60)
            assert answer.status_code < 500, (case.as_curl_command(), answer.text)
            if answer.status_code >= 400:
                assert set(answer.json()) == {"error", "hint"}

        for found in schema.get_all_operations():
            operation = found.ok()
            if operation.path.endswith("/events"):  # endless by design
                continue
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                try:
                    FEW(hypothesis.given(case=operation.as_strategy(generation_mode=mode))(ask))()
                except (hypothesis.errors.Unsatisfiable, schemathesis.errors.SchemathesisError):
                    continue  # nothing about it can be wrong
                asked.add(operation.label)
        assert len(asked) >= 20
        assert ground.get("/health")["status"] == "ok"
