"""`pc2dae stream`: denoise while flying, from standard input or MQTT."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pc2dae.cli.app import app
from pc2dae.cli.options import CA, EXCLUDE, PASSWORD, RESPONSE, TLS, USER

if TYPE_CHECKING:
    from pc2dae.edge.gateway import Gateway
    from pc2dae.edge.intake import Answer


@app.command()
def stream(
    model: str = typer.Option("adaptive-short", help="A shipped network, a trained MODEL or an .onnx file."),
    suite: str | None = typer.Option(
        None,
        help="The payload: a TOML file or a preset. Default: black-kite, or the suite that the model was trained for.",
    ),
    exclude: list[str] = EXCLUDE,
    calibration: list[Path] = typer.Option(
        [], metavar="FILE", help="Calibration from `pc2dae calibrate`, applied to the readings first; may be repeated."
    ),
    response: Path | None = RESPONSE,
    stdin: bool = typer.Option(False, "--stdin", help="JSON lines from standard input to standard output."),
    mqtt: str | None = typer.Option(None, metavar="HOST:PORT", help="Samples and estimates over an MQTT broker."),
    topic_in: str | None = typer.Option(None, "--in", metavar="TOPIC", help="Topic of the samples (+ and # allowed)."),
    topic_out: str | None = typer.Option(None, "--out", metavar="TOPIC", help="Topic of the estimates."),
    state: Path = typer.Option(
        Path("pc2dae-stream.db"), help="With --mqtt: the file that keeps the state through a crash or a power cut."
    ),
    quarantine: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="Refused messages as JSON lines, at most 100 MB. Default with --mqtt: beside the state.",
    ),
    confirm: bool = typer.Option(
        False, "--confirm", help="Keep an estimate until the consumer, not only the broker, has confirmed it."
    ),
    limit: int = typer.Option(200_000, min=1, help="Undelivered estimates at which no more samples are accepted."),
    patience: float = typer.Option(
        30.0, min=0, help="Seconds to wait for a missing message before later ones are used."
    ),
    user: str | None = USER,
    password: str | None = PASSWORD,
    tls: bool = TLS,
    ca: Path | None = CA,
    schema: bool = typer.Option(False, "--schema", help="Print the JSON schema of all messages and exit."),
) -> None:
    """Denoise live: samples in, estimates with uncertainty out, each second once and in order.

    Example: pc2dae stream --mqtt localhost:1883 --in smoke/raw --out smoke/clean --exclude pm --exclude brc
    """
    import json

    from pc2dae.edge.gateway import open_gateway
    from pc2dae.edge.load import live_engine
    from pc2dae.edge.messages import schema as schema_of
    from pc2dae.edge.quarantine import quarantine_path
    from pc2dae.errors import Pc2daeError

    if schema:
        typer.echo(json.dumps(schema_of(), indent=1))
        return
    if stdin == (mqtt is not None):
        raise Pc2daeError(
            "expected either --stdin or --mqtt", hint="use --stdin, or --mqtt HOST:PORT --in TOPIC --out TOPIC"
        )
    if mqtt is not None and not (topic_in and topic_out):
        raise Pc2daeError("--mqtt needs both topics", hint="add --in TOPIC --out TOPIC")
    engine, card = live_engine(model, suite=suite, exclude=exclude, calibration=calibration, response=response)
    if engine.calibration is not None:
        typer.echo(f"calibrated {', '.join(engine.calibration.own)} with {engine.calibration.label}", err=True)
    refused = quarantine or (None if stdin else quarantine_path(state))
    with open_gateway(
        engine,
        None if stdin else state,
        quarantine=refused,
        patience_s=0 if stdin else patience,
        limit=limit,
    ) as gateway:
        if mqtt is None:
            _from_stdin(gateway)
            return
        from pc2dae.edge.broker import Broker
        from pc2dae.edge.mqtt import Service

        broker = Broker.parse(mqtt, user=user, password=password, tls=tls, ca=ca)
        service = Service(gateway, broker, topic_in=str(topic_in), topic_out=str(topic_out), card=card, confirm=confirm)
        typer.echo(f"{mqtt}: {topic_in} → {topic_out} with {model}, {len(engine.suite.names)} channels, "
                   f"latency {engine.latency_s:g} s; state in {state}, refused messages in {refused}; Ctrl-C stops "
                   "without losing anything", err=True)  # fmt: skip
        _until_stopped(service.run)
        typer.echo(gateway.health.model_dump_json(), err=True)


def _from_stdin(gateway: Gateway) -> None:
    """Take all lines that have arrived together; problems are written to standard error."""
    import os

    rest = b""
    try:
        while block := os.read(sys.stdin.fileno(), 1 << 18):
            *lines, rest = (rest + block).split(b"\n")
            if len(rest) > 1 << 20:  # do not buffer an endless line
                lines, rest = [*lines, rest], b""
            _write(gateway, gateway.take(line for line in lines if line.strip()))
        if rest.strip():
            _write(gateway, gateway.take([rest]))
        _write(gateway, gateway.finish())
    except BrokenPipeError:  # the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    health = gateway.health
    typer.echo(f"{health.samples:,} samples in, {health.estimates:,} estimates out, {health.refused:,} refused, "
               f"{health.duplicates:,} duplicates, {health.late:,} late", err=True)  # fmt: skip


def _write(gateway: Gateway, answer: Answer) -> None:
    for problem in answer.problems:
        typer.echo(problem.model_dump_json(), err=True)
    for payload in gateway.drain():
        sys.stdout.buffer.write(payload + b"\n")
    sys.stdout.buffer.flush()


def _until_stopped(run: object) -> None:
    """Run until Ctrl-C or SIGTERM, then stop cleanly."""
    import logging
    import signal
    import threading

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    run(stop)  # type: ignore[operator]
