"""One self-contained HTML page: template, style, script, plotly.js and the data in a single file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pc2dae.atomic import write_text
from pc2dae.flight.schema import timestamp
from pc2dae.report.figure import Figure

if TYPE_CHECKING:
    from markupsafe import Markup


def write_page(
    template: str,
    path: str | os.PathLike[str],
    *,
    figures: Sequence[Figure],
    extra: Mapping[str, Any],
    context: Mapping[str, Any],
) -> None:
    """Fill `template` and write the page; `extra` is data for its script beside the figures."""
    import jinja2
    from plotly.offline import get_plotlyjs

    from pc2dae import __version__

    folder = files("pc2dae.report") / "templates"
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pc2dae.report"),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    html = environment.get_template(template).render(
        **context,
        style=_unescaped((folder / "style.css").read_text("utf-8")),
        script=_unescaped((folder / "page.js").read_text("utf-8")),
        plotly=_unescaped(get_plotlyjs()),
        figures=_unescaped(script_json([figure.as_json() for figure in figures])),
        extra=_unescaped(script_json(extra)),
        version=__version__,
        made=timestamp().replace("T", " "),
    )
    write_text(path, html)


def _unescaped(text: str) -> Markup:
    """Text that goes into the page as it is."""
    from markupsafe import Markup

    return Markup(text)  # nosec B704  # our own and plotly's files, and data that `script_json` has escaped


def script_json(data: Any) -> str:
    """JSON that may stand inside a <script>: no `</`, no `<!--`, no NaN."""
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
