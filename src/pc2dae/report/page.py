"""One self-contained HTML page: template, style, scripts and data in a single file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pc2dae.atomic import write_text
from pc2dae.flight.schema import timestamp
from pc2dae.view import assets

if TYPE_CHECKING:
    from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"


def write_page(template: str, path: str | os.PathLike[str], context: Mapping[str, Any]) -> None:
    """Fill `template` and write the page."""
    import jinja2

    from pc2dae import __version__

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    html = environment.get_template(template).render(
        **{"uplot_style": ""} | dict(context),
        style=unescaped(read(assets.STATIC / "view.css") + read(TEMPLATES / "report.css")),
        theme=unescaped(read(assets.STATIC / "theme.js")),
        version=__version__,
        made=timestamp().replace("T", " "),
    )
    write_text(path, html)


def read(path: Path) -> str:
    """The text of a file."""
    return path.read_text("utf-8")


def unescaped(text: str) -> Markup:
    """Text that is inserted into the page as it is."""
    from markupsafe import Markup

    return Markup(text)  # nosec B704  # our own and uPlot's files, figures, and data that `script_safe` has escaped


def script_safe(json_text: str) -> str:
    """JSON that may stand inside a <script>: no `</`, no `<!--`."""
    return json_text.replace("<", "\\u003c")
