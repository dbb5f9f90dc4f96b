"""Errors: what was wrong, what was expected, what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from importlib.util import find_spec

# Optional dependency group of each module.
_EXTRAS = {
    "torch": "train", "safetensors": "train", "onnx": "train", "onnxscript": "train",
    "paho": "stream", "fastapi": "serve", "starlette": "serve", "uvicorn": "serve", "python_multipart": "serve",
    "platformdirs": "serve", "tomli_w": "serve",
    "dask": "cluster", "distributed": "cluster", "zarr": "cluster",
    "matplotlib": "figures",
}  # fmt: skip
_LONGEST = 300  # characters of an unexpected error's text


class Pc2daeError(Exception):
    """A problem that the user can solve; `hint` says how.

    Message and hint are one sentence each; together they are printed as one line.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = " ".join(super().__str__().split())
        return f"{message}; {self.hint}" if self.hint else message


class InternalError(Pc2daeError):
    """An unexpected error: a bug in pc2dae, not a problem of its input."""


class SuiteError(Pc2daeError):
    """The description of the payload is invalid, or does not fit the data."""


class LogError(Pc2daeError):
    """An instrument file cannot be read."""


class FlightError(Pc2daeError):
    """A flight lacks data that a processing step requires."""


class CalibrationError(Pc2daeError):
    """A calibration cannot be made, read or applied."""


class ResponseError(Pc2daeError):
    """A sensor's response cannot be found, read or used."""


class ModelError(Pc2daeError):
    """A model cannot be loaded, verified or applied."""


def is_installed(module: str) -> bool:
    """Whether an optional dependency is installed; it is not imported."""
    return find_spec(module) is not None


def require(module: str, *, extra: str) -> None:
    """Raise an error if an optional dependency is not installed, before work is done that needs it at its end."""
    if not is_installed(module):
        raise Pc2daeError(f"{module} is not installed", hint=f"pip install 'pc2dae[{extra}]'")


def explain(error: BaseException, *, with_path: bool = True) -> Pc2daeError:
    """Any error as one message and hint; `with_path` names the file that an operating-system error is about."""
    if isinstance(error, Pc2daeError):
        return error
    if isinstance(error, ModuleNotFoundError) and (extra := _EXTRAS.get(str(error.name).split(".")[0])):
        return Pc2daeError(f"{error.name} is not installed", hint=f"pip install 'pc2dae[{extra}]'")
    if isinstance(error, MemoryError):
        return Pc2daeError("not enough memory", hint="use a shorter record, or allow more memory")
    if isinstance(error, OSError):
        path = f"{error.filename}: " if with_path and error.filename and error.strerror else ""
        return Pc2daeError(f"{path}{error.strerror or error}")
    return InternalError(f"internal error, {type(error).__name__}: {error}"[:_LONGEST], hint="please report it")


def nearest(name: str, choices: Iterable[str]) -> str:
    """The hint for an unknown `name`: the closest of `choices`, or all of them if none is close."""
    known = sorted(choices)
    by_case = {choice.lower(): choice for choice in reversed(known)}
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    if not close:
        close = [by_case[match] for match in get_close_matches(name.lower(), by_case, n=1, cutoff=0.5)]
    if close:
        return f"did you mean '{close[0]}'?"
    shown = ", ".join(known[:12]) + (f" and {len(known) - 12} more" if len(known) > 12 else "")
    return f"known: {shown}" if known else "none is known"


def nearest_first(name: str, choices: Iterable[str]) -> str:
    """The hint for an unknown `name` that lists all of `choices`, the closest first."""
    known = sorted(choices, key=lambda choice: (-SequenceMatcher(None, name.lower(), choice.lower()).ratio(), choice))
    return f"known: {', '.join(known)}" if known else "none is known"
