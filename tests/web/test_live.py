"""The live view with a real mosquitto, and without a broker."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ground import Ground, grounded, plain_csv, wait_for

from colocations import doubling
from pc2dae.edge.broker import Broker
from pc2dae.edge.publisher import Publisher
from pc2dae.web.live.payload_match import Match, Payload
from pc2dae.web.suites import Suites
from suites import make_suite


@contextmanager
def listening(ground: Ground) -> Iterator[dict[str, list[Any]]]:
    """All events by kind, as a page receives them."""
    heard: dict[str, list[Any]] = {"estimate": [], "state": [], "id": []}

    def listen() -> None:
        kind = ""
        with ground.client.stream("GET", "/api/live/events") as events:
            for line in events.iter_lines():
                key, _, value = line.partition(": ")
                if key == "event":
                    kind = value
                elif key == "data":
                    heard.setdefault(kind, []).append(json.loads(value))
                elif key == "id":
                    heard["id"].append(int(value))
                if done.is_set():
                    return

    done = threading.Event()
    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield heard
    finally:
        done.set()
        thread.join(30)
        assert not thread.is_alive()


def test_a_calibration_that_does_not_fit_the_live_payload_is_refused(tmp_path: Path) -> None:
    doubling("co_a", "mV").write(tmp_path / "co.json")
    with grounded(tmp_path / "data", calibration=(tmp_path / "co.json",)) as ground:
        answer = ground.client.post("/api/live", json={})
        assert answer.status_code == 422
        assert answer.json()["error"] == "co_a: the calibration is of readings in mV, the flight has ppb"
        assert ground.get("/api/live")["state"] == "off"


def test_a_replay_needs_no_broker(ground: Ground, dropped: dict[str, Any]) -> None:
    with listening(ground) as heard:
        answer = ground.client.post("/api/live/replay", json={"flight": dropped["id"], "speed": 1000})
        assert answer.status_code == 202
        assert answer.json()["direct"] is True
        again = ground.client.post("/api/live/replay", json={"flight": dropped["id"]})
        assert (again.status_code, again.json()["hint"]) == (409, "stop it first")
        wait_for(lambda: ground.get("/api/live")["replay"]["state"] not in ("starting", "running"), 120)
        wait_for(lambda: len(heard["estimate"]) == 120)
    state = ground.get("/api/live")
    assert (state["state"], state["replay"]["state"], state["replay"]["sent"]) == ("off", "done", 120)
    assert {c["name"] for c in state["channels"]} == {c["name"] for c in dropped["channels"]}
    assert (state["counters"]["lost"], state["counters"]["duplicates"]) == (0, 0)
    assert [e["seq"] for e in heard["estimate"]] == list(range(120))
    assert heard["id"] == sorted(heard["id"])
    first = heard["estimate"][0]
    assert first["time"] == dropped["start"]
    assert first["raw"]["co_a"] == -3.0  # 7·11 mod 23 − 11: see plain_csv
    assert min(e["estimate"]["co_a"] for e in heard["estimate"]) >= 0
    assert all(e["uncertainty"]["co_a"] > 0 for e in heard["estimate"])


@pytest.mark.slow
def test_over_a_broker_that_is_killed_and_a_server_that_is_restarted(
    tmp_path: Path, mosquitto: Callable[..., Any], free_port: int
) -> None:
    """Every second arrives once, although the broker forgets everything in the middle."""
    broker = f"127.0.0.1:{free_port}"
    with grounded(tmp_path, broker=broker) as ground:
        flight = ground.drop(("gas.csv", plain_csv(70)))
        assert ground.client.post("/api/live", json={}).json()["state"] == "connecting"
        with listening(ground) as heard:
            with mosquitto(tmp_path, free_port):
                wait_for(lambda: ground.get("/api/live")["gateway"] == "own")
                ground.client.post("/api/live/replay", json={"flight": flight["id"], "speed": 20})
                wait_for(lambda: len(heard["estimate"]) > 20, 120)
            wait_for(lambda: ground.get("/api/live")["state"] == "lost")
            with mosquitto(tmp_path, free_port):
                wait_for(lambda: len(heard["estimate"]) == 70, 120)
                state = ground.get("/api/live")
                assert state["state"] == "connected"
                assert (state["counters"]["estimates"], state["counters"]["lost"]) == (70, 0)
        assert [e["seq"] for e in heard["estimate"]] == list(range(70))
        assert {"lost", "connected"} <= {s["state"] for s in heard["state"]}
    with mosquitto(tmp_path, free_port), grounded(tmp_path, broker=broker) as ground:
        wait_for(lambda: ground.get("/api/live")["state"] == "connected")  # by itself: it was wanted
        assert ground.client.delete("/api/live").json()["state"] == "off"
    assert not (tmp_path / "live.json").exists()


@pytest.mark.slow
def test_restarts_of_the_server_neither_lose_nor_duplicate(
    tmp_path: Path, mosquitto: Callable[..., Any], free_port: int
) -> None:
    """A sender that keeps its samples until they are acknowledged; the server is stopped twice in the middle."""
    broker, count = Broker("127.0.0.1", free_port), 240

    def sample(n: int) -> bytes:
        about = {"flight": "f", "seq": n, "time": f"2025-10-01T12:{n // 60:02}:{n % 60:02}Z", "end": n == count - 1}
        return json.dumps(about | {"values": {"co_a": 800.0 + n % 5}}).encode()

    sender = Publisher(broker, topic="smoke/raw", flight="f", count=count, message=sample)
    sending = threading.Thread(target=sender.run, kwargs={"rate_hz": 20})
    stored = -1  # last estimate that the server had confirmed when it was stopped
    with mosquitto(tmp_path, free_port):
        for part in (60, 90, count):
            with grounded(tmp_path / "data", broker=f"127.0.0.1:{free_port}") as ground, listening(ground) as heard:
                ground.client.post("/api/live", json={"model": "adaptive-causal"})
                if part == 60:
                    wait_for(lambda ground=ground: ground.get("/api/live")["gateway"] == "own")
                    sending.start()
                wait_for(lambda seen=heard["estimate"], stored=stored, part=part:
                         max([stored, *(e["seq"] for e in seen)]) >= part - 1)  # fmt: skip
                time.sleep(0 if part == 60 else 3)  # a resend would be requested now
                counters = ground.get("/api/live")["counters"]
                assert (counters["lost"], counters["duplicates"]) == (0, 0)
            numbers = [e["seq"] for e in heard["estimate"]]
            assert numbers == list(range(stored + 1, stored + 1 + len(numbers)))  # each once, in order, none missing
            (file,) = (tmp_path / "data" / "live").glob("*.taken.json")
            stored = json.loads(file.read_bytes())["taken"].get("f", -1)
    sending.join(30)
    assert stored == count - 1


def test_the_station_calibrates_the_live_payload(tmp_path: Path, mosquitto: Callable[..., Any], free_port: int) -> None:
    doubling("co_a", "ppb").write(tmp_path / "co.json")
    broker = Broker("127.0.0.1", free_port)

    def reading(n: int) -> bytes:
        about = {"flight": "f", "seq": n, "time": f"2025-10-01T12:00:0{n}Z", "end": n == 9}
        return json.dumps(about | {"values": {"co_a": 800.0 + n % 2}}).encode()

    settings = {"broker": f"127.0.0.1:{free_port}", "calibration": (tmp_path / "co.json",)}
    with mosquitto(tmp_path, free_port), grounded(tmp_path, **settings) as ground:
        ground.client.post("/api/live", json={"model": "adaptive-causal"})
        wait_for(lambda: ground.get("/api/live")["gateway"] == "own")
        with listening(ground) as heard:
            assert Publisher(broker, topic="smoke/raw", flight="f", count=10, message=reading).run(rate_hz=50) == 10
            wait_for(lambda: len(heard["estimate"]) == 10, 60)
        state = ground.get("/api/live")
    assert state["calibrated"] == ["co_a"]
    assert heard["estimate"][-1]["estimate"]["co_a"] == pytest.approx(400, abs=2)
    assert heard["estimate"][-1]["raw"] == {}


def test_estimates_of_a_gateway_elsewhere_are_counted(
    tmp_path: Path, mosquitto: Callable[..., Any], free_port: int
) -> None:
    with mosquitto(tmp_path, free_port), grounded(tmp_path, broker=f"127.0.0.1:{free_port}") as ground:
        ground.client.post("/api/live", json={"listen_only": True})
        wait_for(lambda: ground.get("/api/live")["state"] == "connected")
        time.sleep(0.3)
        client = Broker("127.0.0.1", free_port).client("")
        Broker("127.0.0.1", free_port).connect(client)
        wait_for(client.is_connected)
        clean = {"flight": "f", "time": "2025-10-01T12:00:00Z", "estimate": {"co_a": 1.0}, "unbounded": {},
                 "uncertainty": {}, "qc": {}, "latency_s": 5.0}  # fmt: skip
        stated = {"name": "co_a", "units": "ppm", "family": "gas", "lower_bound": 0.0}
        client.publish("smoke/clean/model", json.dumps({"payload": {"channels": [stated]}}), qos=1, retain=True)
        for seq in (3, 4, 4, 7):
            client.publish("smoke/clean", json.dumps(clean | {"seq": seq}), qos=1)
        for noise in (b"\xff", b"{}", b"[" * 10_000, b'{"seq": "x"}'):
            client.publish("smoke/clean", noise, qos=1)
        wait_for(lambda: ground.get("/api/live")["counters"]["refused"] == 4)
        client.disconnect()
        client.loop_stop()
        state = ground.get("/api/live")
    assert state["gateway"] == "unknown"
    assert state["latency_s"] == 5.0
    assert state["channels"] == [
        stated | {"lag_not_corrected": "", "has_data": True}
    ]  # as the gateway states them, not of the suite
    counters = {k: state["counters"][k] for k in ("estimates", "duplicates", "lost")}
    assert counters == {"estimates": 3, "duplicates": 1, "lost": 2}


@pytest.mark.parametrize("settings", [{}, {"host": "0.0.0.0", "token": "long enough"}], ids=["here", "others"])
def test_the_page_cannot_tell_open_ports_from_closed_ones(settings: dict[str, Any], tmp_path: Path) -> None:
    with grounded(tmp_path, **settings) as ground, socket.socket() as opened, socket.socket() as closed:
        opened.bind(("127.0.0.1", 0))
        opened.listen()
        closed.bind(("127.0.0.1", 0))
        answers = []
        for broker in (
            "10.0.0.9:1883",
            "broker.example",
            *(f"127.0.0.1:{s.getsockname()[1]}" for s in (opened, closed)),
        ):
            headers = {"authorization": "Bearer long enough"}
            answers.append(ground.client.post("/api/live", json={"broker": broker}, headers=headers))
        opened.setblocking(False)
        with pytest.raises(BlockingIOError):  # nobody connected
            opened.accept()
    assert {answer.status_code for answer in answers} == {403}
    assert len({answer.text for answer in answers}) == 1
    assert answers[0].json()["error"] == "only brokers named when the server was started may be used"


def test_the_live_view_names_why_a_channels_lag_is_not_corrected(tmp_path: Path) -> None:
    suite = make_suite({"gas": {"co": {"units": "ppm", "t90_s": 8.0}, "no": {"units": "ppb", "t90_limit_s": 12.0}}})
    channels = Match(Suites(tmp_path)).channels(Payload("x", suite), set(), is_own=True)
    assert [c.lag_not_corrected for c in channels] == ["", "t90 unknown: not in the suite, at most 12 s"]
