"""Files that draw a view in a browser: our own modules and uPlot, read from its installed wheel."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

STATIC = Path(__file__).parent / "static"
# Each needs only earlier ones.
MODULES = (
    "dom", "format", "zone", "canvas", "axes", "styles", "colours", "gestures", "chart", "picture", "panels",
    "timeline", "track", "profile", "map", "choice", "legend", "signals", "budget", "scatter", "sensors",
)  # fmt: skip
UPLOT_SCRIPT, UPLOT_STYLE = "uPlot.iife.js", "uPlot.min.css"


def uplot_folder() -> Path:
    """Where the wheel `uplot-python` keeps uPlot's script and style sheet; the package itself is not imported."""
    found = importlib.util.find_spec("uplot")
    places = list(found.submodule_search_locations or []) if found is not None else []
    if not places:
        raise ModuleNotFoundError("uplot-python is not installed; reinstall pc2dae", name="uplot")
    return Path(places[0]) / "static"


def bundle(*last: Path) -> str:
    """All modules and then `last` as one script for a self-contained page; names are unique across modules."""
    lines: list[str] = []
    for path in (*(STATIC / f"{name}.js" for name in MODULES), *last):
        lines += [line.removeprefix("export ").strip() for line in path.read_text("utf-8").splitlines()
                  if not re.fullmatch(r"import .*|\s*// .*|\s*/\*\* .*\*/", line)]  # fmt: skip
    return "\n".join(lines)
