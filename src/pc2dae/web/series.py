"""Curves for the page: cut to a stretch of time, thinned so that peaks stay, written as JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from pc2dae.arrays import Array
from pc2dae.web.columns import Columns, bucket_times, buckets, cut, extremes, json_numbers
from pc2dae.web.problems import Refused, nothing
from pc2dae.web.schemas import Flight, Run
from pc2dae.web.store import Store

MOST_TRACK = 6000


def series(store: Store, flight: Flight, run: Run | None, *, channels: list[str] | None, start: float | None,
           stop: float | None, points: int) -> str:  # fmt: skip
    """Raw, estimate, band and flags of some channels over the same times."""
    facts = _facts(store, flight)
    names = [c["name"] for c in facts["channels"]]
    for name in channels or []:
        if name not in names:
            raise Refused(422, f"the flight has no channel '{name[:64]}'", hint=f"it has {', '.join(names[:12])}")
    measured = Columns(store.folder(flight.id) / "columns.npz")
    done = Columns(store.folder(flight.id, run.id) / "columns.npz") if run is not None else None
    flags = store.facts(flight.id, name="flags")
    here = cut(measured["time"], start, stop)
    time = measured["time"][here]
    width = buckets(len(time), points)
    shown = {}
    for name in channels or names:
        shown[name] = _channel(name, measured, done, here, width) | {
            "flags": json.dumps(_within(flags.get(name, []), start, stop), separators=(",", ":"))
        }
    body = ",".join(
        f"{json.dumps(name)}:{{{','.join(f'{json.dumps(k)}:{v}' for k, v in parts.items())}}}"
        for name, parts in shown.items()
    )
    return (
        f'{{"time":{json_numbers(bucket_times(time, width))},"step_s":{json.dumps(1 / facts["rate_hz"])},'
        f'"thinned":{json.dumps(width > 1)},"channels":{{{body}}}}}'
    )


def track(store: Store, flight: Flight) -> str:
    """Where the flight went [m], or null."""
    _facts(store, flight)
    columns = Columns(store.folder(flight.id) / "columns.npz")
    if "track east" not in columns:
        return "null"
    step = -(-len(columns["time"]) // MOST_TRACK)
    parts: dict[str, Array | None] = {"time": columns["time"]}
    parts |= {k: columns[f"track {k}"] for k in ("east", "north")}
    parts["altitude"] = columns.get("track altitude")
    lists = ",".join(f'"{k}":{"null" if v is None else json_numbers(v[::step])}' for k, v in parts.items())
    return f"{{{lists}}}"


def _channel(name: str, measured: Columns, done: Columns | None, here: slice, width: int) -> dict[str, str]:
    raw = measured[name][here]
    parts = {"raw": json_numbers(raw[extremes(raw, width)])}
    estimate = done.get(name) if done is not None else None
    keep = extremes(estimate[here], width) if estimate is not None else None
    for key, column in (("estimate", name), ("low", f"{name} low"), ("high", f"{name} high"),
                        ("unbounded", f"{name} unbounded")):  # fmt: skip
        values: Array | None = done.get(column) if done is not None and keep is not None else None
        parts[key] = "null" if values is None or keep is None else json_numbers(values[here][keep])
    truth = measured.get(f"{name} truth")
    parts["truth"] = "null" if truth is None else json_numbers(truth[here][extremes(truth[here], width)])
    return parts


def _within(spans: list[list[Any]], start: float | None, stop: float | None) -> list[list[Any]]:
    low, high = -np.inf if start is None else start, np.inf if stop is None else stop
    return [span for span in spans if span[1] >= low and span[0] <= high]


def _facts(store: Store, flight: Flight) -> dict[str, Any]:
    if flight.state != "ready" or (facts := store.facts(flight.id)) is None:
        raise nothing("flight that is ready") if flight.state != "ready" else nothing("flight")
    return dict(facts)
