"""A recorded flight as the messages it would have sent, and the child process that sends them."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr

Message = Callable[[int], bytes]


def messages(flight: xr.Dataset, name: str) -> Message:
    """A function from number to message: values as compensated, flags as screened, the last one says so."""
    import numpy as np

    from pc2dae.edge.messages import stamp
    from pc2dae.flight.schema import suite_of
    from pc2dae.suite import ENVIRONMENT

    names = suite_of(flight).names
    around = [n for n in ENVIRONMENT if n in flight]
    columns = {n: flight[n].values.astype(np.float64) for n in (*names, *around)}
    flags = {n: flight[f"qc_{n}"].values for n in names}
    times = flight["time"].values.astype("datetime64[us]").astype(np.int64)

    def numbers(which: Any, n: int) -> dict[str, float]:
        return {c: float(columns[c][n]) for c in which if np.isfinite(columns[c][n])}

    def message(n: int) -> bytes:
        sample: dict[str, Any] = {
            "flight": name,
            "seq": n,
            "time": stamp(int(times[n])),
            "values": numbers(names, n),
            "environment": numbers(around, n),
            "qc": {c: int(flags[c][n]) for c in names},
        }
        if n == len(times) - 1:
            sample["end"] = True
        return json.dumps(sample, separators=(",", ":"), allow_nan=False).encode()

    return message


def send(message: Message, count: int, spec: dict[str, Any], rate_hz: float) -> None:
    """Publish over the broker, at the flight's pace times its speed."""
    from pc2dae.edge.broker import Broker
    from pc2dae.edge.publisher import Publisher

    sender = Publisher(
        Broker.parse(spec["broker"]), topic=spec["topic"], flight=spec["name"], count=count, message=message
    )
    told = 0.0

    def progress(sent: int) -> None:
        nonlocal told
        if time.monotonic() - told > 0.5 or sent == count:
            told = time.monotonic()
            _say({"sent": sent, "of": count})

    sender.run(rate_hz=rate_hz, progress=progress)


def play(message: Message, count: int, spec: dict[str, Any], rate_hz: float) -> None:
    """Through a gateway of our own, without a broker."""
    from pc2dae.edge.gateway import Gateway
    from pc2dae.edge.load import live_engine
    from pc2dae.edge.outbox import Outbox

    engine, _ = live_engine(spec["model"], suite=spec["suite"], exclude=spec["exclude"])
    gateway = Gateway(engine, Outbox(None, identity=""), patience_s=0)
    begun = time.monotonic()
    for n in range(count):
        time.sleep(max(0.0, begun + n / rate_hz - time.monotonic()))
        sample = message(n)
        _say({"sample": sample.decode()})
        gateway.take([sample])
        letters = gateway.outbox.letters(0, 100_000)
        for letter in letters:
            _say({"estimate": letter.payload.decode()})
        gateway.delivered(letter.n for letter in letters)
        _say({"sent": n + 1, "of": count})


def main() -> None:
    """Wait for a word what to send, send it, say how far it is."""
    from pc2dae.errors import Pc2daeError
    from pc2dae.flight.schema import suite_of
    from pc2dae.flight.store import read_flight
    from pc2dae.web.limits import confine
    from pc2dae.web.settings import Limits

    spec = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    confine(cpu_s=7 * 86400, memory_bytes=Limits().memory_bytes, file_bytes=0)
    try:
        flight = read_flight(spec["file"])
        count = flight.sizes["time"]
        _say({"sent": 0, "of": count})
        how = play if spec["direct"] else send
        how(messages(flight, spec["name"]), count, spec, spec["speed"] * suite_of(flight).rate_hz)
    except Pc2daeError as error:
        _say({"error": str(error)})


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _end_with_parent() -> None:
    import os

    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main()
