"""The child process that replays a stored flight, over the broker or through its own gateway."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

from pc2dae.edge.broker import Broker
from pc2dae.edge.gateway import open_gateway
from pc2dae.edge.load import live_engine
from pc2dae.edge.publisher import Publisher
from pc2dae.edge.replay import Message, messages, play
from pc2dae.errors import Pc2daeError
from pc2dae.flight.schema import suite_of
from pc2dae.flight.store import read_flight
from pc2dae.view.track import wind_vector
from pc2dae.web.limits import confine
from pc2dae.web.settings import Limits

_PROGRESS_S = 0.5


def main() -> None:
    """Read the replay request from standard input and report progress on standard output."""
    spec = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    confine(cpu_s=7 * 86400, memory_bytes=Limits().memory_bytes, file_bytes=0)
    try:
        flight = read_flight(spec["file"])
        suite, count = suite_of(flight), flight.sizes["time"]
        _report(sent=0, of=count)
        run = _play if spec["direct"] else _publish
        message = messages(flight, suite, spec["name"], wind=wind_vector(flight), speed=spec["speed"],
                           restamp=spec["restamp"])  # fmt: skip
        run(message, count, spec, spec["speed"] * suite.rate_hz)
    except Pc2daeError as error:
        _report(error=str(error))


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


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)
