"""Refused requests: one line, a hint and an HTTP status."""

from __future__ import annotations

from pc2dae.errors import Pc2daeError


class Refused(Pc2daeError):
    """A refused request; `status` is the HTTP status."""

    def __init__(self, status: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


def nothing(what: str) -> Refused:
    """The resource does not exist."""
    return Refused(404, f"unknown {what}", hint="it may have been deleted")
