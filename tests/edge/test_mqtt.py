"""Over a real mosquitto on the loopback interface: topics, access, and kills."""

from __future__ import annotations

import importlib.util
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import paho.mqtt.client as paho
import pytest

from pc2dae.edge.broker import Broker
from pc2dae.edge.consumer import Consumer
from pc2dae.edge.gateway import Gateway
from pc2dae.edge.load import live_engine
from pc2dae.edge.messages import Ack, Clean, Health
from pc2dae.edge.mqtt import Service
from pc2dae.edge.outbox import Outbox
from pc2dae.edge.publisher import Publisher
from pc2dae.edge.quarantine import Quarantine
from pc2dae.edge.replay import messages
from pc2dae.errors import Pc2daeError
from pc2dae.flight.schema import new_flight
from pc2dae.suite import load_suite

ROOT = Path(__file__).parents[2]
MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin")
pytestmark = pytest.mark.skipif(MOSQUITTO is None, reason="mosquitto is not installed: make system")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def mosquitto(folder: Path, *lines: str) -> Iterator[int]:
    """A broker on the loopback interface, stopped at the end."""
    port = free_port()
    config = folder / "mosquitto.conf"
    head = [] if any("listener" in line for line in lines) else [f"listener {port} 127.0.0.1"]
    config.write_text("\n".join([*lines, *head, "persistence false", "user root"]) + "\n")
    process = subprocess.Popen(
        [str(MOSQUITTO), "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        if head:
            wait_for(lambda: _answers(port))
        yield port
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_for(fact: Callable[[], Any], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@contextmanager
def thread(run: Callable[[threading.Event], None]) -> Iterator[None]:
    stop = threading.Event()
    worker = threading.Thread(target=run, args=(stop,))
    worker.start()
    try:
        yield
    finally:
        stop.set()
        worker.join(20)
        assert not worker.is_alive()


@contextmanager
def listening(broker: Broker, topic: str) -> Iterator[dict[str, list[bytes]]]:
    """Everything published under a topic, by topic."""
    heard: dict[str, list[bytes]] = {}
    client, ready = broker.client(""), threading.Event()
    client.on_connect = lambda c, *_: c.subscribe(topic, qos=1)
    client.on_subscribe = lambda *_: ready.set()
    client.on_message = lambda c, u, m: heard.setdefault(m.topic, []).append(m.payload)
    broker.connect(client)
    try:
        assert ready.wait(20)
        yield heard
    finally:
        client.disconnect()
        client.loop_stop()


def service(broker: Broker, state: Path, *, confirm: bool = False) -> Service:
    engine, card = live_engine("lean")
    box = Gateway(engine, Outbox(None, identity=""))
    return Service(box, broker, topic_in="smoke/+/raw", topic_out="smoke/clean", card=card, confirm=confirm)


def flight_of(length: int) -> Any:
    """A flight with plumes in every channel that lean knows, and one second in ten missing in one of them."""
    suite, rng = load_suite("black-kite"), np.random.default_rng(5)
    plume = np.maximum(np.sin(np.arange(length) / 15), 0) ** 6
    values = {}
    for family in suite.only(["bc", "gas", "co2"]).family:
        for c in family.channel:
            sigma = c.noise_sigma or 1.0
            values[c.name] = (
                c.lower_bound + 120 * (family.name == "co2") + sigma * (60 * plume + rng.normal(0, 1, length))
            )
    values["co_a"][::10] = np.nan
    values |= {"air_temperature": np.full(length, 22.0), "relative_humidity": np.full(length, 40.0)}
    time_ = np.datetime64("2025-10-01T12:00:00") + np.arange(length).astype("timedelta64[s]")
    return new_flight(time_, values, suite, flight_id="sim")


def test_a_replayed_flight_comes_out_as_denoise_live_gives_it(tmp_path: Path) -> None:
    from pc2dae.denoising import denoise
    from pc2dae.ingestion import prepare

    ready = prepare(flight_of(300))
    clean = denoise(ready, model="lean", profile="live")
    message = messages(ready, load_suite("black-kite"), "sim")
    with mosquitto(tmp_path, "allow_anonymous true") as port:
        broker = Broker("127.0.0.1", port)
        listener = Consumer(broker, "smoke/clean", tmp_path / "out.jsonl")
        with thread(service(broker, tmp_path, confirm=True).run), thread(listener.run), listening(broker, "#") as heard:
            sender = Publisher(broker, topic="smoke/kite/raw", flight="sim", count=300, message=message)
            assert sender.run(rate_hz=1e4) == 300
            wait_for(lambda: listener.receipts.last() == {"sim": 299})
            wait_for(lambda: "smoke/clean/health" in heard)
            wait_for(lambda: Ack.model_validate_json(heard["smoke/kite/raw/ack/sim"][-1]).seq == 299)
        assert json.loads(heard["smoke/clean/model"][0])["model"] == "lean"
        assert heard["smoke/clean/status"][0] == b"online"
        Health.model_validate_json(heard["smoke/clean/health"][-1])
        with listening(broker, "smoke/#") as kept:  # what a newcomer finds
            wait_for(lambda: len(kept) >= 4)
            assert kept["smoke/clean/status"] == [b"offline"]
            assert Health.model_validate_json(kept["smoke/clean/health"][-1]).estimates == 300
    rows = [Clean.model_validate_json(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]
    assert [row.seq for row in rows] == list(range(300))
    assert len(rows[0].estimate) == 15
    for name in rows[0].estimate:
        got, expected = np.array([row.estimate[name] for row in rows], float), clean[name].values
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.ptp(expected))


def test_bad_messages_are_answered_and_the_next_ones_taken(tmp_path: Path) -> None:
    good = [json.dumps({"flight": "f", "seq": n, "time": f"2025-10-01T12:00:0{n}Z", "values": {"co_a": 1.0}}).encode()
            for n in range(4)]  # fmt: skip
    with mosquitto(tmp_path, "allow_anonymous true") as port:
        broker = Broker("127.0.0.1", port)
        with thread(service(broker, tmp_path).run), listening(broker, "smoke/#") as heard:
            wait_for(lambda: "smoke/clean/status" in heard)
            client = broker.client("")
            broker.connect(client)
            wait_for(client.is_connected)
            for payload in (good[0], b"\xff\x00", b"x" * 1_000_000, good[1], b"{}", good[2]):
                client.publish("smoke/kite/raw", payload, qos=1)
            client.publish("smoke/clean/taken", b"no", qos=1)
            wait_for(lambda: len(heard.get("smoke/clean/error", [])) >= 4)
            wait_for(lambda: json.loads(heard["smoke/kite/raw/ack/f"][-1])["seq"] == 2)
            client.disconnect()
            client.loop_stop()
    assert any(b"1,000,000 bytes" in text for text in heard["smoke/clean/error"])


def test_refused_samples_are_in_quarantine_before_they_are_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two drones with one flight name; the second has one wrong time stamp and sends an invalid message."""

    def sample(n: int, second: int) -> bytes:
        time = f"2025-10-01T12:{second // 60:02}:{second % 60:02}Z"
        return json.dumps({"flight": "f", "seq": n, "time": time, "values": {"co_a": float(n)}}).encode()

    path = tmp_path / "q.jsonl"
    wrong = [sample(3, 150), b"no sample"]
    kept_at_ack: list[bool] = []  # whether all that was refused was on the disk when the broker got an answer
    ack = paho.Client.ack

    def watched(client: paho.Client, mid: int, qos: int) -> Any:
        if box.health.refused:
            kept_at_ack.append(box.health.refused == len(path.read_bytes().splitlines()))
        return ack(client, mid, qos)

    monkeypatch.setattr(paho.Client, "ack", watched)
    engine, card = live_engine("lean")
    with closing(Quarantine(path)) as quarantine, mosquitto(tmp_path, "allow_anonymous true") as port:
        broker = Broker("127.0.0.1", port)
        box = Gateway(engine, Outbox(None, identity=""), quarantine=quarantine)
        service = Service(box, broker, topic_in="smoke/+/raw", topic_out="smoke/clean", card=card)
        with thread(service.run), listening(broker, "smoke/#") as heard:
            wait_for(lambda: "smoke/clean/status" in heard)
            client = broker.client("")
            broker.connect(client)
            wait_for(client.is_connected)
            for n in range(6):
                client.publish("smoke/a/raw", sample(n, n), qos=1)
                client.publish("smoke/b/raw", sample(n, 150 if n == 3 else n), qos=1)
            client.publish("smoke/b/raw", wrong[1], qos=1)
            for drone in "ab":
                wait_for(lambda topic=f"smoke/{drone}/raw/ack/f": b'"seq":5' in heard.get(topic, [b""])[-1])
            wait_for(lambda: len(path.read_bytes().splitlines()) == 2)
            wait_for(lambda: kept_at_ack)
            client.disconnect()
            client.loop_stop()
    found = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert sorted(f["payload"].encode() for f in found) == sorted(wrong)
    assert {f["topic"] for f in found} == {"smoke/b/raw"}
    assert kept_at_ack
    assert all(kept_at_ack)
    assert (box.health.samples, box.health.refused, box.health.duplicates) == (12, 2, 0)
    assert set(box.flights.open) == {"f", "f.smoke-b-raw"}
    assert box.health.quarantined == 2
    assert Health.model_validate_json(heard["smoke/clean/health"][-1]).quarantine == str(path)


def test_a_consumer_that_was_away_gets_what_it_missed_once(tmp_path: Path) -> None:
    lines = [json.dumps({"flight": "f", "seq": n, "time": f"2025-10-01T12:{n // 60:02}:{n % 60:02}Z",
                         "values": {"co_a": float(n)}}).encode() for n in range(160)]  # fmt: skip
    with mosquitto(tmp_path, "allow_anonymous true") as port:
        broker = Broker("127.0.0.1", port)

        def send(count: int) -> None:
            Publisher(broker, topic="smoke/kite/raw", flight="f", count=count, message=lines.__getitem__).run(
                rate_hz=1e4
            )

        path = tmp_path / "out.jsonl"
        with thread(service(broker, tmp_path, confirm=True).run):
            first = Consumer(broker, "smoke/clean", path)
            with thread(first.run):
                send(70)  # window 0 is complete after 64 samples
                wait_for(lambda: first.receipts.last() == {"f": 15})
            send(160)
            with path.open("ab") as file:
                file.write(b'{"flight": "f", "se')  # it was killed while writing
            second = Consumer(broker, "smoke/clean", path)
            with thread(second.run):
                wait_for(lambda: second.receipts.last() == {"f": 111})
    assert [json.loads(line)["seq"] for line in path.read_bytes().splitlines()] == list(range(112))


def test_a_killed_gateway_is_told_offline_by_its_last_will(tmp_path: Path) -> None:
    with mosquitto(tmp_path, "allow_anonymous true") as port, listening(Broker("127.0.0.1", port), "#") as heard:
        command = [sys.executable, "-m", "pc2dae", "stream", "--model", "lean", "--state", str(tmp_path / "state")]
        command += ["--mqtt", f"127.0.0.1:{port}", "--in", "smoke/raw", "--out", "smoke/clean"]
        gateway = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: heard.get("smoke/clean/status") == [b"online"], 60)
        finally:
            gateway.kill()
            gateway.wait()
        wait_for(lambda: heard["smoke/clean/status"] == [b"online", b"offline"])


def test_the_example_broker_lets_in_only_those_it_knows_and_encrypts(tmp_path: Path) -> None:
    if shutil.which("openssl") is None or shutil.which("mosquitto_passwd") is None:
        pytest.skip("openssl and mosquitto_passwd are not installed")
    certs, users = tmp_path / "certs", tmp_path / "pc2dae.users"
    certs.mkdir()
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{certs}/server.key",
            "-out", f"{certs}/server.crt"]  # fmt: skip
    subprocess.run(make, check=True, capture_output=True)
    shutil.copy(certs / "server.crt", certs / "ca.crt")
    subprocess.run(["mosquitto_passwd", "-b", "-c", str(users), "pc2dae", "right"], check=True, capture_output=True)
    shutil.copy(ROOT / "deploy" / "mosquitto.acl", tmp_path / "pc2dae.acl")
    port, clear = free_port(), free_port()
    example = (ROOT / "deploy" / "mosquitto.conf").read_text().replace("/etc/mosquitto", str(tmp_path))
    example = example.replace("listener 8883", f"listener {port} 127.0.0.1").replace(
        "listener 1883", f"listener {clear}"
    )
    with mosquitto(tmp_path, example):
        known = Broker("127.0.0.1", port, user="pc2dae", password="right", ca=certs / "ca.crt")
        with thread(service(known, tmp_path).run), listening(known, "smoke/#") as heard:
            wait_for(lambda: heard.get("smoke/clean/status") == [b"online"])
        for stranger in (
            Broker("127.0.0.1", port, user="pc2dae", password="wrong", ca=certs / "ca.crt"),
            Broker("127.0.0.1", clear),
        ):
            assert _refusal(stranger) == "Not authorized"


def _refusal(broker: Broker) -> str:
    refusals: list[str] = []
    client = broker.client("")
    client.on_connect = lambda c, u, flags, code, properties: refusals.append(str(code))
    broker.connect(client)
    wait_for(lambda: refusals)
    client.disconnect()
    client.loop_stop()
    return refusals[0]


def test_where_a_broker_is() -> None:
    assert Broker.parse("10.0.0.1:1999") == Broker("10.0.0.1", 1999)
    assert Broker.parse("kite.example", tls=True).port == 8883
    with pytest.raises(Pc2daeError, match="expected HOST:PORT"):
        Broker.parse("localhost:mqtt")
    assert paho.MQTTv5 == Broker("x").client("").protocol


def test_a_broker_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pc2dae.edge.publisher._FIRST_S", 0.5)
    sender = Publisher(Broker("127.0.0.1", free_port()), topic="t", flight="f", count=1, message=lambda n: b"")
    with pytest.raises(Pc2daeError, match="does not respond; check host and port"):
        sender.run(rate_hz=1.0)


@pytest.mark.slow
def test_nothing_is_lost_when_everything_is_killed_once() -> None:
    """The benchmark with a few kills; `benchmarks/faults.py` has the hundred."""
    spec = importlib.util.spec_from_file_location("faults", ROOT / "benchmarks" / "faults.py")
    assert spec is not None
    assert spec.loader is not None
    faults = importlib.util.module_from_spec(spec)
    sys.modules["faults"] = faults
    spec.loader.exec_module(faults)
    found = faults.run(4, length=600, rate_hz=40.0, roles=["gateway", "broker", "consumer", "sender"], limit_s=200)
    assert (found["lost"], found["duplicated"], found["out_of_order"]) == (0, 0, 0)
    assert found["worst_difference"] < 1e-5
    assert found["kills"] == 4
