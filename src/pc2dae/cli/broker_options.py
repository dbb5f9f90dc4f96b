"""How to log in to an MQTT broker: options of every command that connects to one."""

from __future__ import annotations

import typer

USER = typer.Option(None, help="User name at the broker.")
PASSWORD = typer.Option(
    None, envvar="PC2DAE_MQTT_PASSWORD", help="Password at the broker; better set in the environment."
)
TLS = typer.Option(False, "--tls", help="Encrypt; the broker's certificate must be trusted by the system.")
CA = typer.Option(None, help="Encrypt; the broker's certificate must be signed by this authority (PEM).")
