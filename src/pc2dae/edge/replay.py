"""Converts a recorded flight to live messages, and plays them through a gateway."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from pc2dae.edge.gateway import Gateway
from pc2dae.edge.messages import stamp
from pc2dae.suite import ENVIRONMENT, Suite

if TYPE_CHECKING:
    import xarray as xr

Message = Callable[[int], bytes]


def messages(flight: xr.Dataset, suite: Suite, name: str) -> Message:
    """A function from sequence number to message: compensated values with their flags; the last one ends the flight."""
    environment = [n for n in ENVIRONMENT if n in flight]
    columns = {n: flight[n].values.astype(np.float64) for n in (*suite.names, *environment)}
    flags = {n: flight[f"qc_{n}"].values for n in suite.names}
    times = flight["time"].values.astype("datetime64[us]").astype(np.int64)

    def numbers(names: Iterable[str], seq: int) -> dict[str, float]:
        return {n: float(columns[n][seq]) for n in names if np.isfinite(columns[n][seq])}

    def message(seq: int) -> bytes:
        sample: dict[str, Any] = {
            "flight": name,
            "seq": seq,
            "time": stamp(int(times[seq])),
            "values": numbers(suite.names, seq),
            "environment": numbers(environment, seq),
            "qc": {n: int(flags[n][seq]) for n in suite.names},
        }
        if seq == len(times) - 1:
            sample["end"] = True
        return json.dumps(sample, separators=(",", ":"), allow_nan=False).encode()

    return message


def play(gateway: Gateway, message: Message, count: int, *, rate_hz: float) -> Iterator[tuple[bytes, list[bytes]]]:
    """Feed `count` messages at their times, and yield the estimates that become ready."""
    start = time.monotonic()
    for seq in range(count):
        time.sleep(max(0.0, start + seq / rate_hz - time.monotonic()))
        sample = message(seq)
        gateway.take([sample])
        yield sample, gateway.drain()
