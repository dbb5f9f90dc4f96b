"""Converts a recorded flight to live messages, and plays them through a gateway."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from pc2dae.arrays import Array
from pc2dae.edge.gateway import Gateway
from pc2dae.edge.messages import stamp
from pc2dae.suite import ENVIRONMENT, MOTION, Suite

if TYPE_CHECKING:
    import xarray as xr

Message = Callable[[int], bytes]


def messages(
    flight: xr.Dataset,
    suite: Suite,
    name: str,
    *,
    wind: tuple[Array, Array] | None = None,
    speed: float | None = None,
    restamp: bool = False,
) -> Message:
    """A function from sequence number to message: compensated values with their flags; the last one ends the flight.

    `wind` is its vector towards east and towards north [m s-1]. `speed` is stated in the messages. `restamp` shifts
    all times so that the first message asked for is of now.
    """
    environment, motion = ([n for n in names if n in flight] for names in (ENVIRONMENT, MOTION))
    columns = {n: flight[n].values.astype(np.float64) for n in (*suite.names, *environment, *motion)}
    if wind is not None:
        columns |= {"eastward": wind[0], "northward": wind[1]}
    flags = {n: flight[f"qc_{n}"].values for n in suite.names}
    times = flight["time"].values.astype("datetime64[us]").astype(np.int64)
    shift = None if restamp else 0

    def numbers(names: Iterable[str], seq: int) -> dict[str, float]:
        return {n: float(columns[n][seq]) for n in names if np.isfinite(columns[n][seq])}

    def message(seq: int) -> bytes:
        nonlocal shift
        if shift is None:
            shift = round(time.time() * 1e3) * 1000 - int(times[seq]) // 1000 * 1000
        sample: dict[str, Any] = {
            "flight": name,
            "seq": seq,
            "time": stamp(int(times[seq]) + shift),
            "values": numbers(suite.names, seq),
            "environment": numbers(environment, seq),
            "qc": {n: int(flags[n][seq]) for n in suite.names},
        }
        if speed is not None:
            sample["replay"] = speed
        beside = {"motion": numbers(motion, seq), "wind": numbers(("eastward", "northward"), seq) if wind else {}}
        sample |= {key: found for key, found in beside.items() if found}
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
