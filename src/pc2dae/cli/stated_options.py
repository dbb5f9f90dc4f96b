"""Options by which the user states what the logs do not say: clock offsets and metadata."""

from __future__ import annotations

import typer

from pc2dae.errors import Pc2daeError

OFFSET = typer.Option(
    [],
    "--offset",
    metavar="INSTRUMENT=SECONDS",
    help="How far an instrument's clock is ahead (negative: behind), instead of searching it; repeatable.",
)
META = typer.Option(
    [],
    "--meta",
    metavar="KEY=VALUE",
    help="Global attribute, such as creator_name, institution or project; overrides the suite's; repeatable.",
)


def parse_offsets(texts: list[str]) -> dict[str, float]:
    """Clock offsets [s] by instrument."""
    from pc2dae.align.clocks import STATED_HINT

    offsets = {}
    for text in texts:
        instrument, _, seconds = text.partition("=")
        try:
            offsets[instrument.strip()] = float(seconds)
        except ValueError:
            raise Pc2daeError(f"--offset '{text}' is not INSTRUMENT=SECONDS", hint=STATED_HINT) from None
    return offsets


def parse_metadata(texts: list[str]) -> dict[str, str]:
    """Global attributes by key, checked before any file is read."""
    from pc2dae.suite.metadata import checked_metadata

    given = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign:
            raise Pc2daeError(f"--meta '{text}' is not KEY=VALUE", hint='as in --meta institution="US EPA"')
        given[key.strip()] = value.strip()
    return checked_metadata(given)
