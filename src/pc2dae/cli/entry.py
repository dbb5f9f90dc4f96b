"""The entry point of the command `pc2dae`, in a process of its own."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; xarray would import dask (0.7 s, needed for archive) and pint (0.2 s): both are hidden."""
    if "archive" not in sys.argv[1:3]:  # the first word may be --debug
        sys.modules.setdefault("dask", None)  # type: ignore[arg-type]
    sys.modules.setdefault("pint", None)  # type: ignore[arg-type]  # `suite.units` finds it all the same
    from pc2dae.cli import main as run

    run()
