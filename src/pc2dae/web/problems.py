"""Refusals: one line and a hint, with the status that says whose fault it is."""

from __future__ import annotations

from pc2dae.errors import Pc2daeError


class Refused(Pc2daeError):
    """A request that is not granted; `status` is the HTTP status."""

    def __init__(self, status: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


def nothing(what: str) -> Refused:
    """There is no such thing."""
    return Refused(404, f"there is no such {what}", hint="it may have been deleted")
