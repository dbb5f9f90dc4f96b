"""The description of the API: short operation ids, examples, and the token where one is required."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from pc2dae.web.auth import COOKIE
from pc2dae.web.examples import EXAMPLES, REFUSAL

_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "the token that `pc2dae serve` was started with"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "set by opening `/?token=…` once"},
}
_OPEN = ("health",)  # answered without a token


def operation_id(route: APIRoute) -> str:
    """The name of the function that answers a route."""
    return route.name


def describe(app: FastAPI, *, needs_token: bool) -> dict[str, Any]:
    """The OpenAPI description of the application."""
    schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    for operation in (operation for path in schema["paths"].values() for operation in path.values()):
        _add_examples(operation, *EXAMPLES.get(operation["operationId"], (None, None)))
        if needs_token and operation["operationId"] in _OPEN:
            operation["security"] = []
    if needs_token:
        schema["components"]["securitySchemes"] = _SCHEMES
        schema["security"] = [{"bearer": []}, {"cookie": []}]
    return schema


def _add_examples(operation: dict[str, Any], request: Any, response: Any) -> None:
    refused = operation["responses"]["4XX"]
    refused["content"] = {"application/json": {**next(iter(refused["content"].values())), "example": REFUSAL}}
    for status, answer in operation["responses"].items():
        for content in answer.get("content", {}).values():
            if status != "4XX" and response is not None:
                content["example"] = response
    for content in operation.get("requestBody", {}).get("content", {}).values():
        if request is not None:
            content["example"] = request
