"""Write every command's arguments and options into docs/commands.md, between its markers, as the program knows them.

Run it after changing a command: `python docs/refresh.py`. What stands outside the markers is written by hand and kept;
a test fails when the page is out of date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from pc2dae.cli import app

PAGE = Path(__file__).parent / "commands.md"


def commands(group: Any = None, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its full name, such as "archive denoise"."""
    for name, command in (group or typer.main.get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path}{name} ")
        elif not command.hidden:
            yield path + name, command


def block(name: str, command: Any) -> str:
    """Summary, example and table of one command."""
    summary, _, example = (command.help or "").partition("Example:")
    lines = [
        " ".join(summary.split()),
        "",
        "```bash",
        " ".join(example.split()),
        "```",
        "",
        "| | default | |",
        "|---|---|---|",
    ]
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            lines.append(
                f"| `{parameter.metavar or parameter.name.upper()}` | {_needed(parameter)} | {_cell(parameter.help)} |"
            )
        elif not parameter.hidden and parameter.name != "help":
            names = ", ".join(f"`{option}`" for option in (*parameter.opts, *parameter.secondary_opts))
            lines.append(f"| {names} | {_needed(parameter)} | {_cell(parameter.help)} |")
    return "\n".join([f"<!-- {name} -->", "", *lines, "", f"<!-- /{name} -->"])


def _needed(parameter: Any) -> str:
    if parameter.required:
        return "required"
    return "" if parameter.default in (None, False, [], ()) or callable(parameter.default) else f"`{parameter.default}`"


def _cell(text: str | None) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join((text or "").split()))


def refreshed(page: str) -> str:
    """The page with every block as it should be; a new command gets a section at the end."""
    for name, command in commands():
        new = block(name, command)
        pattern = re.compile(rf"<!-- {re.escape(name)} -->.*?<!-- /{re.escape(name)} -->", re.DOTALL)
        if pattern.search(page):
            page = pattern.sub(lambda _, new=new: new, page)  # type: ignore[misc]
        else:
            page = f"{page.rstrip()}\n\n## {name}\n\n{new}\n"
    return page


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
