"""Child processes of the live view: a gateway, equivalent to `pc2dae stream --mqtt`, and the replay of a flight."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pc2dae.edge.broker import Broker
from pc2dae.edge.gateway import open_gateway
from pc2dae.edge.load import live_engine
from pc2dae.edge.mqtt import Service
from pc2dae.edge.publisher import Publisher
from pc2dae.edge.quarantine import quarantine_path
from pc2dae.edge.replay import Message, messages, play
from pc2dae.edge.sample_log import SampleLog
from pc2dae.errors import Pc2daeError
from pc2dae.flight.schema import suite_of
from pc2dae.flight.store import read_flight
from pc2dae.view.track import wind_vector
from pc2dae.web.limits import confine, when_input_ends
from pc2dae.web.settings import Limits

_PATIENCE_S = 5.0  # a sender that resends does so after three; a page must not stand still for each lost message
_PROGRESS_S = 0.5


def main() -> None:
    """Do what standard input asks for until it is closed, and report on standard output."""
    spec = json.loads(sys.stdin.buffer.readline())
    try:
        {"gateway": _run_gateway, "replay": _replay}[spec["kind"]](spec)
    except Pc2daeError as error:
        _report(error=str(error))


def _run_gateway(spec: dict[str, Any]) -> None:
    """Every acknowledged message is on disk."""
    stop = threading.Event()
    when_input_ends(stop.set)
    engine, card = live_engine(
        spec["model"], suite=spec["suite"], exclude=spec["exclude"], calibration=spec["calibration"],
        response=spec["response"],
    )  # fmt: skip
    state = Path(spec["state"]) / f"{hashlib.sha256(engine.key.encode()).hexdigest()[:16]}.db"
    log, refused = SampleLog(Path(spec["recordings"])), quarantine_path(state)
    with open_gateway(engine, state, quarantine=refused, sample_log=log, patience_s=_PATIENCE_S) as gateway:
        topics = {"topic_in": spec["topic_in"], "topic_out": spec["topic_out"]}
        Service(gateway, Broker.parse(**spec["broker"]), **topics, card=card, confirm=True).run(stop)


def _replay(spec: dict[str, Any]) -> None:
    """Replay a stored flight, over the broker or through a gateway in this process."""
    when_input_ends(lambda: os._exit(1))
    confine(cpu_s=7 * 86400, memory_bytes=Limits().memory_bytes, file_bytes=0)
    flight = read_flight(spec["file"])
    suite, count = suite_of(flight), flight.sizes["time"]
    _report(sent=0, of=count)
    run = _play if spec["direct"] else _publish
    message = messages(flight, suite, spec["name"], wind=wind_vector(flight), speed=spec["speed"],
                       restamp=spec["restamp"])  # fmt: skip
    run(message, count, spec, spec["speed"] * suite.rate_hz)


def _publish(message: Message, count: int, spec: dict[str, Any], rate_hz: float) -> None:
    """Replay over the broker."""
    broker, reported = Broker.parse(**spec["broker"]), 0.0

    def progress(sent: int) -> None:
        nonlocal reported
        if time.monotonic() - reported > _PROGRESS_S or sent == count:
            reported = time.monotonic()
            _report(sent=sent, of=count)

    publisher = Publisher(broker, topic=spec["topic"], flight=spec["name"], count=count, message=message)
    publisher.run(rate_hz=rate_hz, progress=progress)


def _play(message: Message, count: int, spec: dict[str, Any], rate_hz: float) -> None:
    """Replay through a gateway in this process, without a broker."""
    engine, _ = live_engine(spec["model"], suite=spec["suite"], exclude=spec["exclude"])
    with open_gateway(engine, None, patience_s=0) as gateway:
        for n, (sample, estimates) in enumerate(play(gateway, message, count, rate_hz=rate_hz)):
            _report(sample=sample.decode())
            for estimate in estimates:
                _report(estimate=estimate.decode())
            _report(sent=n + 1, of=count)


def _report(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
