"""`pc2dae replay`: publish a recorded flight as if it were flying now."""

from __future__ import annotations

from pathlib import Path

import typer

from pc2dae.cli.app import app
from pc2dae.cli.options import CA, PASSWORD, SUITE, TLS, USER, ZONE


@app.command()
def replay(
    flight: Path = typer.Argument(..., help="A flight (.nc), a plain CSV or a folder of logs."),
    mqtt: str | None = typer.Option(None, metavar="HOST:PORT", help="The broker."),
    topic: str | None = typer.Option(None, help="Topic of the samples."),
    stdout: bool = typer.Option(False, "--stdout", help="JSON lines to standard output instead, for `stream --stdin`."),
    speed: float = typer.Option(1.0, min=0.01, help="Speed relative to the flight."),
    restamp: bool = typer.Option(False, "--restamp", help="Stamp the samples as of now instead of their own times."),
    name: str | None = typer.Option(None, help="Name of the flight in its messages. Default: the file's."),
    suite: str | None = SUITE,
    zone: str | None = ZONE,
    user: str | None = USER,
    password: str | None = PASSWORD,
    tls: bool = TLS,
    ca: Path | None = CA,
) -> None:
    """Publish a flight's samples with their flags, one per second of flight, until the gateway has them all.

    Example: pc2dae replay flight_001.nc --mqtt localhost:1883 --topic smoke/raw --speed 60
    """
    import re
    import sys

    from pc2dae.calibration.budget import budget_of
    from pc2dae.edge.replay import messages
    from pc2dae.errors import Pc2daeError
    from pc2dae.flight.schema import suite_of
    from pc2dae.ingestion import open_flight, prepare
    from pc2dae.view.track import wind_vector

    if stdout == (mqtt is not None):
        raise Pc2daeError("expected either --stdout or --mqtt", hint="use --stdout, or --mqtt HOST:PORT --topic TOPIC")
    ready = prepare(open_flight(flight, suite=suite, zone=zone))
    called = re.sub(r"[^A-Za-z0-9._-]", "-", name or flight.resolve().stem)[:64]
    payload, count = suite_of(ready), ready.sizes["time"]
    if calibrated := [name for name in payload.names if budget_of(ready, name) is not None]:
        typer.echo(f"already calibrated: {', '.join(calibrated)}; stream them without --calibration", err=True)
    message = messages(
        ready, payload, called, wind=wind_vector(ready), speed=None if stdout else speed, restamp=restamp
    )
    if mqtt is None:
        for n in range(count):
            sys.stdout.buffer.write(message(n) + b"\n")
        return
    if not topic:
        raise Pc2daeError("--mqtt needs a topic", hint="add --topic TOPIC")
    from pc2dae.cli.console import progress_bar
    from pc2dae.edge.broker import Broker
    from pc2dae.edge.publisher import Publisher

    broker = Broker.parse(mqtt, user=user, password=password, tls=tls, ca=ca)
    publisher = Publisher(broker, topic=topic, flight=called, count=count, message=message)
    with progress_bar(f"{called} → {topic}, as the gateway acknowledges", count) as update:
        taken = publisher.run(rate_hz=speed * payload.rate_hz, progress=update)
    typer.echo(f"{called}: {taken:,} samples sent and acknowledged")
