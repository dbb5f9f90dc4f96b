"""The entry point of the command `pc2dae`, in a process of its own."""

from __future__ import annotations

import sys

from pc2dae.own_process import set_up_process

_USED = {"archive": ("dask", "pyarrow"), "benchmark": ("pyarrow",), "report": ("pyarrow",)}  # of a benchmark's folder


def main() -> None:
    """Run the command line."""
    words = sys.argv[1:3]  # the first may be --debug
    set_up_process(*(module for command in words for module in _USED.get(command, ())))
    from pc2dae.cli import main as run

    run()
