"""Refused requests: one line, a hint and an HTTP status."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from pc2dae.errors import Pc2daeError


class Refused(Pc2daeError):
    """A refused request; `status` is the HTTP status."""

    def __init__(self, status: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


KINDS = {
    "flight": "ids are 22 characters, list them with GET /api/flights",
    "run": "ids are 22 characters, GET /api/flights/FLIGHT lists them as `runs`",
    "job": "ids are 22 characters, list them with GET /api/jobs",
    "alarm": "ids are 22 characters, list them with GET /api/live/alarms",
    "name": "names are lower-case letters, digits and hyphens, list them with GET /api/suites",
}


def nothing(kind: str, given: str = "") -> Refused:
    """The resource does not exist; the hint says what a valid identifier looks like."""
    what = "suite" if kind == "name" else kind
    shown = f" {given[:64]!r}" if given else ""  # quoted, control characters escaped
    return Refused(404, f"no {what}{shown}", hint=KINDS.get(kind, "it may have been deleted"))


def problem(status: int, error: str, hint: str | None = None, headers: dict[str, str] | None = None) -> Response:
    """The response to a refused request."""
    text = " ".join(error.split()).encode("utf-8", "replace").decode()
    return JSONResponse({"error": text, "hint": hint}, status_code=status, headers=headers)
