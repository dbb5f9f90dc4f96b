"""A progress bar on the terminal; elsewhere nothing, without importing rich."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(words: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr while the block runs, and a function that takes how much is done."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(words, total=total)
        yield lambda done: bar.update(task, completed=done)
