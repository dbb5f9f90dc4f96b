"""The child process that runs a gateway on the broker for the ground station, as `pc2dae stream` does elsewhere."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from pathlib import Path


def main() -> None:
    """Run until standard input ends; what was acknowledged is on disk."""
    from contextlib import closing

    from pc2dae.edge.broker import Broker
    from pc2dae.edge.gateway import Gateway
    from pc2dae.edge.load import live_engine
    from pc2dae.edge.mqtt import Service
    from pc2dae.edge.outbox import Outbox
    from pc2dae.edge.quarantine import Quarantine, beside
    from pc2dae.errors import Pc2daeError

    spec = json.loads(sys.stdin.buffer.readline())
    stop = threading.Event()
    threading.Thread(target=_wait_for_end, args=(stop,), daemon=True).start()
    try:
        engine, card = live_engine(spec["model"], suite=spec["suite"], exclude=spec["exclude"])
        identity = f"{engine.identity} {','.join(engine.suite.names)}"
        state = Path(spec["state"]) / f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.db"
        with (
            closing(Outbox(state, identity=identity)) as outbox,
            closing(Quarantine(beside(state))) as quarantine,
        ):
            service = Service(Gateway(engine, outbox, quarantine=quarantine), Broker.parse(spec["broker"]),
                              topic_in=spec["topic_in"], topic_out=spec["topic_out"], card=card,
                              confirm=True)  # fmt: skip
            service.run(stop)
    except Pc2daeError as error:
        sys.stdout.write(json.dumps({"error": str(error)}) + "\n")
        sys.stdout.flush()


def _wait_for_end(stop: threading.Event) -> None:
    sys.stdin.buffer.read()
    stop.set()


if __name__ == "__main__":
    main()
