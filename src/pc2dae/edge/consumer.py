"""A consumer that gets every estimate exactly once: it keeps them in a file, in order, and says how far it is.

python -m pc2dae.edge.consumer localhost:1883 smoke/clean clean.jsonl
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt

from pc2dae.edge.broker import Broker
from pc2dae.edge.messages import Taken

_CONFIRM_S = 0.25  # estimates are confirmed together
_ASK_S = 2.0  # after a gap, ask again for what is missing


class Consumer:
    """Appends the estimates of `topic` to a file of JSON lines; what the file holds is where it goes on."""

    def __init__(self, broker: Broker, topic: str, path: Path) -> None:
        self.broker, self.topic, self.path = broker, topic, path
        self.last = _resume(path)
        self.file = path.open("ab")
        self.lock = threading.Lock()
        self.duplicates = 0
        self.is_behind = True  # ask for what is there already
        self.client = broker.client("")
        self.client.on_connect, self.client.on_message = self._on_connect, self._on_message

    def run(self, stop: threading.Event) -> None:
        """Listen until `stop` is set."""
        self.broker.connect(self.client)
        asked, told = 0.0, dict(self.last)
        try:
            while not stop.wait(_CONFIRM_S):
                with self.lock:
                    self.file.flush()
                    os.fsync(self.file.fileno())  # confirmed only when it is ours for good
                    now = dict(self.last)
                again = self.is_behind and time.monotonic() - asked > _ASK_S
                if self.client.is_connected() and (again or now != told):
                    if again:
                        asked, self.is_behind = time.monotonic(), False
                    self.client.publish(f"{self.topic}/taken", Taken(taken=now, again=again).model_dump_json(), qos=1)
                    told = now
        finally:
            self.client.disconnect()
            self.client.loop_stop()
            self.file.close()

    def _on_connect(self, client: mqtt.Client, data: Any, flags: Any, code: Any, properties: Any) -> None:
        if not code.is_failure:
            client.subscribe(self.topic, qos=1)
            self.is_behind = True

    def _on_message(self, client: mqtt.Client, data: Any, message: mqtt.MQTTMessage) -> None:
        estimate = json.loads(message.payload)
        flight, seq = estimate["flight"], estimate["seq"]
        with self.lock:
            following = self.last.get(flight, -1) + 1
            if seq < following:
                self.duplicates += 1
            elif seq > following:
                self.is_behind = True
            else:
                self.file.write(message.payload + b"\n")
                self.last[flight] = seq


def _resume(path: Path) -> dict[str, int]:
    """The last seq of each flight in the file; a line that was cut short by a crash is taken off."""
    last: dict[str, int] = {}
    if not path.exists():
        return last
    whole = 0
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            estimate = json.loads(line)
            last[estimate["flight"]] = estimate["seq"]
            whole += len(line)
    with path.open("rb+") as file:
        file.truncate(whole)
    return last


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
