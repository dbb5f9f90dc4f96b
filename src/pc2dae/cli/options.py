"""Options of several commands: what files do not say about themselves, corrections on request, login to a broker."""

from __future__ import annotations

import typer

from pc2dae.errors import Pc2daeError

SUITE = typer.Option(None, help="A suite's TOML file or a preset, for files that do not name one.")
ZONE = typer.Option(None, help='Time zone of stamps that carry none: "UTC", "-05:00", "America/Regina".')
LOADING = typer.Option(
    False, "--correct-loading", help="Correct black carbon for the loading of its filter (AE51, MA200)."
)
SALVAGE = typer.Option(False, "--salvage", help="Use the complete lines that a damaged .gz or zip still yields.")
KEEP = typer.Option([], help="Keep this family regardless of its verdict; repeatable.")
EXCLUDE = typer.Option([], help="Leave this family out, as it is; repeatable.")
RESPONSE = typer.Option(None, metavar="FILE", help="Response of the payload's channels, from `pc2dae response`.")
USER = typer.Option(None, help="User name at the broker.")
PASSWORD = typer.Option(
    None, envvar="PC2DAE_MQTT_PASSWORD", help="Password at the broker; better set in the environment."
)
TLS = typer.Option(False, "--tls", help="Encrypt; the broker's certificate must be trusted by the system.")
CA = typer.Option(None, help="Encrypt; the broker's certificate must be signed by this authority (PEM).")
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
