"""A consumer that receives every estimate exactly once, writes them to a file in order, and confirms them.

python -m pc2dae.edge.consumer localhost:1883 smoke/clean clean.jsonl
"""

from __future__ import annotations

import argparse
import json
import os
import threading
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt

from pc2dae.edge.broker import Broker
from pc2dae.edge.receipts import Receipts
from pc2dae.edge.sample_log import open_lines

_CONFIRM_S = 0.25  # interval of confirmations


class Consumer:
    """Appends the estimates of `topic` to a file of JSON lines, and continues after those that the file holds."""

    def __init__(self, broker: Broker, topic: str, path: Path) -> None:
        self.broker, self.topic = broker, topic
        self.file = open_lines(path)
        self.receipts = Receipts(_resume(path))
        self.lock = threading.Lock()
        self.client = broker.client("")
        self.client.on_connect, self.client.on_message = self._on_connect, self._on_message

    def run(self, stop: threading.Event) -> None:
        """Listen until `stop` is set."""
        self.broker.connect(self.client)
        try:
            while not stop.wait(_CONFIRM_S):
                with self.lock:
                    os.fsync(self.file.fileno())  # sync before confirming
                    confirmation = self.receipts.confirmation() if self.client.is_connected() else None
                if confirmation is not None:
                    self.client.publish(f"{self.topic}/taken", confirmation.model_dump_json(), qos=1)
        finally:
            self.client.disconnect()
            self.client.loop_stop()
            self.file.close()

    def _on_connect(self, client: mqtt.Client, data: Any, flags: Any, code: Any, properties: Any) -> None:
        if not code.is_failure:
            client.subscribe(self.topic, qos=1)
            self.receipts.is_behind = True

    def _on_message(self, client: mqtt.Client, data: Any, message: mqtt.MQTTMessage) -> None:
        estimate = json.loads(message.payload)
        with self.lock:
            if self.receipts.is_new(estimate["flight"], estimate["seq"]):
                self.file.write(message.payload + b"\n")


def _resume(path: Path) -> dict[str, int]:
    """The last seq of each flight in the file."""
    with path.open("rb") as file:
        return {estimate["flight"]: estimate["seq"] for estimate in map(json.loads, file)}


def main() -> None:
    """Listen until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("broker", help="HOST:PORT")
    parser.add_argument("topic")
    parser.add_argument("file", type=Path)
    chosen = parser.parse_args()
    try:
        Consumer(Broker.parse(chosen.broker), chosen.topic, chosen.file).run(threading.Event())
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
