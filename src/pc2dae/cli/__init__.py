"""The command line: one small file per group of commands, one line for every error."""

from __future__ import annotations

import sys
from typing import NoReturn

import typer

# Importing a module adds its commands; the order is that of `pc2dae --help` and follows the workflow.
# isort: off
from pc2dae.cli import demo as _demo  # noqa: F401
from pc2dae.cli import simulate as _simulate  # noqa: F401
from pc2dae.cli import ingest as _ingest  # noqa: F401
from pc2dae.cli import inspect as _inspect  # noqa: F401
from pc2dae.cli import calibrate as _calibrate  # noqa: F401
from pc2dae.cli import response as _response  # noqa: F401
from pc2dae.cli import denoise as _denoise  # noqa: F401
from pc2dae.cli import evaluate as _evaluate  # noqa: F401
from pc2dae.cli import plumes as _plumes  # noqa: F401
from pc2dae.cli import benchmark as _benchmark  # noqa: F401
from pc2dae.cli import report as _report  # noqa: F401
from pc2dae.cli import train as _train  # noqa: F401
from pc2dae.cli import stream as _stream  # noqa: F401
from pc2dae.cli import replay as _replay  # noqa: F401
from pc2dae.cli import serve as _serve  # noqa: F401
from pc2dae.cli import archive as _archive  # noqa: F401
from pc2dae.cli import archive_train as _archive_train  # noqa: F401

# isort: on
from pc2dae.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; an error is one line and exit code 2 (1 if internal), `--debug` shows the traceback."""
    debug = "--debug" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--debug"]
    try:
        code = app(standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        _refuse("stopped", code=130)
    except Exception as error:
        if debug:
            raise
        line, code = _explained(error)
        _refuse(line, code=code)
    raise SystemExit(code)


def _explained(error: Exception) -> tuple[str, int]:
    """One line for an error, and the exit code: 1 for an internal error, 2 for a user error."""
    from pc2dae.errors import InternalError, explain

    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        hint = f"; see `{context.command_path} --help`" if context is not None else ""
        message = error.format_message().strip().rstrip(".")
        if message.startswith("Usage:"):  # nothing was asked for
            typer.echo(error.format_message())
            return "", 2
        return (f"{message[:1].lower()}{message[1:]}{hint}" if message else ""), 2
    problem = explain(error)
    if isinstance(problem, InternalError):
        problem.hint = "run again with --debug and report it"
        return str(problem), 1
    return str(problem), 2


def _refuse(line: str, *, code: int) -> NoReturn:
    if line:  # empty if the help was shown instead
        typer.echo(f"pc2dae: {' '.join(line.split())}", err=True)
    raise SystemExit(code)
