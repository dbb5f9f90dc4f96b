"""A table as data, rendered to the terminal, to Markdown or to JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Cell:
    """A value, its interval if any, and whether it is a lead whose interval excludes 0."""

    value: float | str | None = None
    low: float | None = None
    high: float | None = None
    is_bold: bool = False
    digits: int = 1

    @property
    def is_loss(self) -> bool:
        """Whether its whole interval lies below 0."""
        return self.high is not None and self.high < 0

    @property
    def text(self) -> str:
        """The displayed text; empty without a value."""
        if self.value is None or (isinstance(self.value, float) and math.isnan(self.value)):
            return ""
        if isinstance(self.value, str):
            return self.value
        shown = _number(self.value, self.digits)
        if self.low is None or self.high is None:
            return shown
        return f"{shown} [{_number(self.low, self.digits)}, {_number(self.high, self.digits)}]"


@dataclass(frozen=True)
class ResultTable:
    """A titled table with a note on how to read it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def markdown(self) -> str:
        """As Markdown, under a heading."""
        lines = [f"## {self.title}", ""]
        if self.note:
            lines += [self.note, ""]
        lines.append("| " + " | ".join(self.columns) + " |")
        lines.append("|" + "|".join("---" if i == 0 else "---:" for i in range(len(self.columns))) + "|")
        for row in self.rows:
            texts = [f"**{cell.text}**" if cell.is_bold and cell.text else cell.text for cell in row]
            lines.append("| " + " | ".join(texts) + " |")
        return "\n".join(lines) + "\n"

    def as_json(self) -> dict[str, Any]:
        """Values unrounded; None if missing."""
        return {"title": self.title, "note": self.note, "columns": list(self.columns),
                "rows": [[_plain(cell) for cell in row] for row in self.rows], **self.extra}  # fmt: skip

    def rich(self) -> Table:
        """Render for the terminal."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        table = Table(title=self.title, caption=self.note or None, title_justify="left", caption_justify="left",
                      box=SIMPLE_HEAD, pad_edge=False)  # fmt: skip
        for i, column in enumerate(self.columns):  # headings may wrap, numbers may not
            longest = max((len(row[i].text) for row in self.rows), default=1)
            table.add_column(column, justify="left" if i == 0 else "right", min_width=longest)
        for row in self.rows:
            table.add_row(*(f"[bold]{cell.text}[/bold]" if cell.is_bold else cell.text for cell in row))
        return table


def _number(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    shown = f"{value:,.{digits}f}"
    return (shown[1:] if float(shown.replace(",", "")) == 0 else "−" + shown[1:]) if shown.startswith("-") else shown


def _plain(cell: Cell) -> Any:
    value = None if isinstance(cell.value, float) and not math.isfinite(cell.value) else cell.value
    if cell.low is None:
        return {"value": value, "bold": True} if cell.is_bold else value
    return {"value": value, "low": cell.low, "high": cell.high, "bold": cell.is_bold}
