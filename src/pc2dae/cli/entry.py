"""The entry point of the command `pc2dae`, in a process of its own."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; without dask, which xarray imports if it finds it (0.7 s), except for archive."""
    if "archive" not in sys.argv[1:3]:  # the first word may be --debug
        sys.modules.setdefault("dask", None)  # type: ignore[arg-type]
    from pc2dae.cli import main as run

    run()
