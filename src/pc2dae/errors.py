"""Errors for people: what was wrong, what was expected, what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class Pc2daeError(Exception):
    """A problem with the input that a person can mend; `hint` says how.

    Message and hint are each one sentence without a line break: the command line prints them as one line.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}; {self.hint}" if self.hint else message


class SuiteError(Pc2daeError):
    """The description of the payload is wrong, or does not fit the data."""


class LogError(Pc2daeError):
    """An instrument's file cannot be read."""


class FlightError(Pc2daeError):
    """A flight does not have the shape a stage needs."""


class ModelError(Pc2daeError):
    """A model cannot be loaded, trusted or applied."""


def nearest(name: str, choices: Iterable[str]) -> str:
    """The hint for a misspelt `name`: the nearest of `choices` first, then all that is there."""
    known = sorted(choices)
    by_case = {choice.lower(): choice for choice in reversed(known)}
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    if not close:
        close = [by_case[match] for match in get_close_matches(name.lower(), by_case, n=1, cutoff=0.5)]
    if close:
        return f"did you mean '{close[0]}'?"
    shown = ", ".join(known[:12]) + (f" and {len(known) - 12} more" if len(known) > 12 else "")
    return f"known: {shown}" if known else "none is known"
