"""The first minutes of each real record through the live path: messages, gateway, feed, link, channels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ground import Ground, wait_for
from real_checks import largest_trailing_noise, mapping_of
from real_data import ABSENT, RECORDS, SUITES

from pc2dae.edge.gateway import open_gateway
from pc2dae.edge.load import live_engine
from pc2dae.edge.replay import messages
from pc2dae.flags import NOT_MEASURED, SATURATED
from pc2dae.flight.schema import suite_of
from pc2dae.ingestion import prepare
from pc2dae.suite import load_suite
from pc2dae.web.live.feed import LiveFeed
from pc2dae.web.live.payload_match import Match, Payload
from pc2dae.web.suites import Suites

SAMPLES, CHUNK = 200, 40


def test_the_live_path_shows_nothing_that_could_not_be(opened: Any, tmp_path: Path) -> None:
    """Estimates keep to the samples of the last 255 s by three of their uncertainties, and to the channel's bound."""
    whole = prepare(opened.flight)
    flight = whole.isel(time=slice(0, SAMPLES))
    suite, count = suite_of(flight), flight.sizes["time"]
    file = tmp_path / "suite.json"
    file.write_text(suite.model_dump_json(exclude_defaults=True), encoding="utf-8")
    engine, card = live_engine("adaptive-short", suite=file)
    message, feed = messages(flight, suite, "real", restamp=True), LiveFeed()
    feed.link.rate_hz = suite.rate_hz
    with open_gateway(engine, None, patience_s=0) as gateway:
        for start in range(0, count, CHUNK):
            payloads = [message(n) for n in range(start, min(start + CHUNK, count))]
            answer = gateway.take(payloads)
            assert answer.problems == []
            for payload in payloads:
                feed.add_sample(payload)
            for estimate in gateway.drain():
                feed.add_estimate(estimate, in_order=False)
    counters = feed.counters()
    assert (counters["samples"], counters["estimates"]) == (count, count)
    assert (counters["lost"], counters["duplicates"], counters["refused"]) == (0, 0, 0)
    assert feed.link.gaps == 0
    match = Match(Suites(tmp_path))
    match.read_card(json.dumps(card).encode())  # as of a gateway elsewhere
    channels = match.channels(Payload("", suite), feed.with_data, is_own=False)
    assert [(c.name, c.units) for c in channels] == [(c.name, c.units) for c in suite.channels]
    assert match.judge(Payload("", suite), feed.seen, channels) == (None, None)
    events = [json.loads(text) for _, kind, text in feed.buffer.events if kind == "estimate"]
    assert len(events) == count
    assert outside(events, flight) == {}


def outside(events: list[dict[str, Any]], flight: Any) -> dict[str, int]:
    """Seconds per channel whose estimate could not be."""
    suite, found = suite_of(flight), {}
    for name in suite.names:
        raw, flags = flight[name].values.astype(float), flight[f"qc_{name}"].values
        seen = np.isfinite(raw) & (flags & NOT_MEASURED == 0)
        value, sigma, response = (
            np.array([event[key].get(name) for event in events], dtype=float)
            for key in ("estimate", "uncertainty", "response")
        )
        reading = np.where(np.isfinite(response), response, value)
        bad = (np.isfinite(value) & ~seen.any()) | (value < suite[name].lower_bound)
        if seen.any():
            margin = 3 * np.fmax(sigma, largest_trailing_noise(raw.tobytes(), seen.tobytes()))
            low, high = raw[seen].min() - margin, raw[seen].max() + margin
            bad |= reading < np.fmin(low, high)
            if not (flags & SATURATED).any():  # those are lower limits
                bad |= reading > np.fmax(high, suite[name].lower_bound)
        if bad.any():
            found[name] = int(bad.sum())
    return found


def test_konza_is_replayed_by_the_server(ground: Ground, tmp_path: Path) -> None:
    record = next(record for record in RECORDS if record.id == "konza_uav_burn/kolibri/1D.csv")
    if not record.source.is_file():
        pytest.skip(ABSENT)
    suite = mapping_of(load_suite(SUITES / record.suite))
    assert ground.client.put("/api/suites/konza", json=suite).status_code == 200
    lines = record.write(tmp_path).read_bytes().splitlines(keepends=True)
    shown = ground.drop(("1D.csv", b"".join(lines[: SAMPLES + 1])), suite="konza")
    assert shown["state"] == "ready", shown
    ground.client.post("/api/live/replay", json={"flight": shown["id"], "speed": 1000, "restamp": True})
    wait_for(lambda: ground.get("/api/live")["replay"]["state"] not in ("starting", "running"), 120)
    state = ground.get("/api/live")
    assert state["replay"]["state"] == "done"
    assert (state["mismatch"], state["counters"]["lost"], state["counters"]["duplicates"]) == (None, 0, 0)
    assert {c["name"] for c in state["channels"] if c["has_data"]} >= {"co", "co2"}
