"""From a sample sent over MQTT until the gateway has it, and the estimates it made ready, on disk and says so.

    python benchmarks/latency.py --samples 100000 --rate 100 --load 2

A real mosquitto on the loopback interface, `pc2dae stream` in a process of its own, and processes beside it that do
nothing but compute. The time includes the way to the broker and back, twice.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil
from paho.mqtt.client import MQTTMessage

from pc2dae.edge.broker import Broker

sys.path.insert(0, str(Path(__file__).parent))
from faults import FLIGHT, Stage, flight_lines


def _busy() -> None:
    while True:
        pass


def measured(samples: int, *, rate_hz: float, model: str) -> np.ndarray:
    """Seconds from sending each sample until it is acknowledged."""
    lines, sent, acknowledged = flight_lines(samples, 0), np.full(samples, np.nan), np.full(samples, np.nan)
    ready = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder), model, rate_hz)
        stage.start("broker")
        time.sleep(1.0)
        client = Broker("127.0.0.1", stage.port).client("latency")
        client.on_connect = lambda c, *_: c.subscribe([(f"smoke/raw/ack/{FLIGHT}", 1), ("smoke/clean/status", 1)])

        def heard(_: object, __: object, message: MQTTMessage) -> None:
            now = time.perf_counter()
            if message.topic.startswith("smoke/raw/ack/"):
                upto = acknowledged[: json.loads(message.payload)["seq"] + 1]
                upto[np.isnan(upto)] = now
            ready.set()

        client.on_message = heard
        client.connect("127.0.0.1", stage.port)
        client.loop_start()
        stage.start("gateway")
        try:
            assert ready.wait(60), "the gateway does not answer"
            begun = time.perf_counter()
            for n, line in enumerate(lines):
                time.sleep(max(0.0, begun + n / rate_hz - time.perf_counter()))
                sent[n] = time.perf_counter()
                client.publish("smoke/raw", line, qos=1)
            while np.isnan(acknowledged).any():
                time.sleep(0.05)
        finally:
            client.loop_stop()
            stage.close()
    return acknowledged - sent


def main() -> None:
    """Print percentiles."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=100.0, help="samples per second")
    parser.add_argument("--model", default="lean")
    parser.add_argument("--load", type=int, default=2, help="processes that compute beside it")
    chosen = parser.parse_args()
    neighbours = [multiprocessing.Process(target=_busy, daemon=True) for _ in range(chosen.load)]
    for neighbour in neighbours:
        neighbour.start()
    try:
        taken = 1e3 * measured(chosen.samples, rate_hz=chosen.rate, model=chosen.model)
    finally:
        for neighbour in neighbours:
            neighbour.kill()
    p50, p99, p999 = np.percentile(taken, [50, 99, 99.9])
    print(f"{chosen.model}, {chosen.samples:,} samples at {chosen.rate:g} Hz, {chosen.load} busy neighbours, load "
          f"{psutil.getloadavg()[0]:.1f}: {p50:.1f} ms p50, {p99:.1f} ms p99, {p999:.1f} ms p99.9")  # fmt: skip


if __name__ == "__main__":
    main()
