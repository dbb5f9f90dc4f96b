"""The command line: one small file per group of commands, one line for every error."""

from __future__ import annotations

import sys

import typer

# Importing a file adds its commands; the order is the order of `pc2dae --help`.
from pc2dae.cli import simulate as _simulate  # noqa: F401
from pc2dae.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; a problem a person can mend becomes one line and exit code 2."""
    from pc2dae.errors import Pc2daeError

    debug = "--debug" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--debug"]
    try:
        app()
    except Pc2daeError as error:
        if debug:
            raise
        _refuse(" ".join(str(error).split()))
    except (OSError, MemoryError) as error:
        if debug:
            raise
        _refuse(f"{type(error).__name__}: {error}")
    except KeyboardInterrupt:
        _refuse("stopped", code=130)


def _refuse(line: str, *, code: int = 2) -> None:
    typer.echo(f"pc2dae: {line}", err=True)
    raise SystemExit(code)
