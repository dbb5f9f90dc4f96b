"""What the terminal shows besides lines: tables, and progress on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table


def table_of(
    *columns: str,
    title: str | None = None,
    left: Collection[str] = (),
    wrapped: Collection[str] = (),
    lined: bool = True,
) -> Table:
    """An empty table: columns of text are `left`, others right-justified; those that are not `wrapped` stay whole."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    box = SIMPLE_HEAD if lined else None
    table = Table(title=title, title_justify="left", box=box, pad_edge=False, padding=(0, 1, 0, 0))
    vertical = "bottom" if any("\n" in name for name in columns) else "top"
    for name in columns:
        justify = "left" if name in left else "right"
        table.add_column(name, justify=justify, vertical=vertical, no_wrap=name not in wrapped)  # type: ignore[arg-type]
    return table


@contextmanager
def progress_bar(words: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr while the block runs, and a function that takes how much is done; nothing elsewhere."""
    if not sys.stderr.isatty():  # without importing rich
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(words, total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def counted_progress(words: str, total: int | None) -> Iterator[tuple[Progress, Any]]:
    """A bar on stderr with the number done and the time left, and its task."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield progress, progress.add_task(words, total=total)
