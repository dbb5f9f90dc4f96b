"""The child process that runs a gateway for the ground station, equivalent to `pc2dae stream --mqtt`."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from pathlib import Path

from pc2dae.edge.broker import Broker
from pc2dae.edge.gateway import open_gateway
from pc2dae.edge.load import live_engine
from pc2dae.edge.mqtt import Service
from pc2dae.edge.quarantine import quarantine_path
from pc2dae.edge.sample_log import SampleLog
from pc2dae.errors import Pc2daeError

_PATIENCE_S = 5.0  # a sender that resends does so after three; a page must not stand still for each lost message


def main() -> None:
    """Run until standard input is closed; every acknowledged message is on disk."""
    spec = json.loads(sys.stdin.buffer.readline())
    stop = threading.Event()
    threading.Thread(target=_wait_for_end, args=(stop,), daemon=True).start()
    try:
        engine, card = live_engine(
            spec["model"], suite=spec["suite"], exclude=spec["exclude"], calibration=spec["calibration"],
            response=spec["response"],
        )  # fmt: skip
        state = Path(spec["state"]) / f"{hashlib.sha256(engine.key.encode()).hexdigest()[:16]}.db"
        log, refused = SampleLog(Path(spec["recordings"])), quarantine_path(state)
        with open_gateway(engine, state, quarantine=refused, sample_log=log, patience_s=_PATIENCE_S) as gateway:
            topics = {"topic_in": spec["topic_in"], "topic_out": spec["topic_out"]}
            Service(gateway, Broker.parse(**spec["broker"]), **topics, card=card, confirm=True).run(stop)
    except Pc2daeError as error:
        sys.stdout.write(json.dumps({"error": str(error)}) + "\n")
        sys.stdout.flush()


def _wait_for_end(stop: threading.Event) -> None:
    sys.stdin.buffer.read()
    stop.set()
